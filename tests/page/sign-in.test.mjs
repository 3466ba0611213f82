// People sign in to the page at a real identity provider, and out again; and the demo's link.
//
//     cargo build && node --test tests/page/sign-in.test.mjs     TESTS_LONG=1 keeps screenshots in tests/output/

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";

import { browser, fillIn, open, signIn } from "../support/browser.mjs";
import { PERSON, identityProvider } from "../support/identity-provider.mjs";
import { looksRight, still } from "../support/looks.mjs";
import { agrees, decision, expected, go, hasCount, onDemo, shown } from "../support/page.mjs";
import { clientWith, configuredHost, emptyHost } from "../support/program.mjs";
import { eventually, until } from "../support/wait.mjs";

const CLAIMS = { tenant: "shop", groups: ["rule-owners"] };

/** A provider, a host that trusts it, and a browser: `{ provider, host, context }`. */
function onProvider(options) {
  const on = {};
  before(async () => {
    on.claims = { ...CLAIMS };
    on.provider = await identityProvider({ claims: on.claims, ...options });
    on.host = await configuredHost(on.provider.settings);
    on.provider.register(on.host.url);
    on.context = await browser();
    assert.equal((await on.host.api("PUT", "/v1/tenants/shop", {})).status, 201);
    const adult = { rule: "AGE_RESTRICTION", condition_value: { minimum_age: 18 } };
    for (const id of ["alcohol", "fireworks"]) assert.equal((await on.host.api("PUT", `/api/v1/global-entity-conditions/${id}`, adult)).status, 201);
  });
  after(async () => {
    await on.context?.close();
    await on.host?.end();
    on.provider?.end();
  });
  return on;
}

const atProvider = (page) => page.getByRole("button", { name: /^Sign in at 127\.0\.0\.1:\d+$/ });
const accept = (page) => page.getByRole("button", { name: `I am ${PERSON}` });
const alert = (page, text) => page.getByRole("alert").getByText(text).waitFor();
const live = (page) => page.getByText(`Live · shop · ${PERSON}`).waitFor();
const age = (page) => page.getByLabel("Customer’s age", { exact: true });

/** The page's data in this tab and this browser, apart from the theme. */
const kept = (page) => page.evaluate(() => [...Object.keys(sessionStorage), ...Object.keys(localStorage)].filter((key) => key !== "theme"));

/** The stored data of someone who signed in at the provider: only that fact. */
const AT_PROVIDER = ["tillgate-at-provider"];

/** The address after the path. */
const rest = (page) => {
  const { search, hash } = new URL(page.url());
  return search + hash;
};

/** Opens the page and signs in at the provider, which asks for the name. */
async function signInAt({ context, host }, hash) {
  const page = await open(context, `${host.url}/${hash}`);
  await atProvider(page).click();
  await accept(page).click();
  await live(page);
  return page;
}

/** A separate browser, in which a test signs in and out without others. */
async function inOwnBrowser(on, work) {
  const context = await browser();
  try {
    await work({ ...on, context });
  } finally {
    await context.close();
  }
}

describe("who has signed in at the provider stays so until they sign out", () => {
  const on = onProvider({});
  const title = (page, name) => page.getByRole("heading", { level: 1, name }).waitFor();

  test("a reload, another tab and a bookmark sign in without a question, at their place", () => inOwnBrowser(on, async (own) => {
    const page = await signInAt(own, "#/conditions");
    await page.reload();
    await title(page, "Conditions");
    await live(page);
    assert.equal(rest(page), "#/conditions");
    const entries = await page.evaluate(() => history.length);
    await page.reload();
    await title(page, "Conditions");
    assert.equal(await page.evaluate(() => history.length), entries, "a renewal is no step of the history");
    const other = await open(own.context, `${own.host.url}/#/preview/condition/alcohol`);
    await live(other);
    assert.match(rest(other), /^#\/preview\/condition\/alcohol/);
    for (const each of [page, other]) assert.deepEqual(each.faults, []);
  }));

  test("after signing out, also when the provider’s page for that is left, a reload asks", () => inOwnBrowser(on, async (own) => {
    const page = await signInAt(own, "#/conditions");
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("button", { name: "Sign out here" }).waitFor();
    await page.goto(`${own.host.url}/#/conditions`);
    await atProvider(page).waitFor();
    await page.reload();
    await atProvider(page).waitFor();
    await hasCount(page.getByRole("alert").filter({ hasText: /./ }), 0);
  }));

  test("when the provider does not know them any more, the form comes without an error, once and for all", () => inOwnBrowser(on, async (own) => {
    const page = await signInAt(own, "#/conditions");
    await own.context.clearCookies();
    const refused = page.waitForRequest(/[?&]error=login_required/);
    await page.reload();
    await refused;
    await atProvider(page).waitFor();
    assert.equal(rest(page), "#/conditions");
    await hasCount(page.getByRole("alert").filter({ hasText: /./ }), 0);
    assert.deepEqual(await kept(page), []);
    const asked = [];
    page.on("request", (request) => asked.push(new URL(request.url()).origin));
    await page.reload();
    await atProvider(page).waitFor();
    assert.ok(!asked.includes(new URL(own.provider.issuer).origin), "it is not asked again");
    assert.deepEqual(page.faults, []);
  }));

  test("when the provider cannot be reached, or does not answer, the form comes without an error", () => inOwnBrowser(on, async (own) => {
    const page = await signInAt(own, "#/conditions");
    await page.route(`${own.provider.issuer}/**`, (route) => route.abort());
    await page.reload();
    await atProvider(page).waitFor();
    await hasCount(page.getByRole("alert").filter({ hasText: /./ }), 0);
    expected(page, "Failed to load resource");
    await page.unroute(`${own.provider.issuer}/**`);
    // It leads back to the page, without a message.
    await page.route(`${own.provider.issuer}/auth?*`, (route) => route.fulfill({ status: 302, headers: { Location: `${own.host.url}/` } }));
    await page.reload();
    await atProvider(page).waitFor();
    assert.deepEqual(page.faults, []);
  }));

  test("who has no role sees who they are, and may choose another account there", () => inOwnBrowser(on, async (own) => {
    own.claims.groups = [];
    try {
      const page = await open(own.context, own.host.url);
      await atProvider(page).click();
      await accept(page).click();
      await page.getByText(`You are signed in as ${PERSON} at shop.`).waitFor();
      await page.getByText("To see rules: ecs.viewer", { exact: true }).waitFor();
      await still(page);
      await looksRight(page, "signin-no-role");
      await page.reload();
      await page.getByRole("button", { name: "Use another account" }).click();
      await page.getByRole("button", { name: "Sign out here" }).click();
      await atProvider(page).click();
      await accept(page).waitFor();
      // This provider offers a choice, which the page learns when it is back.
      await page.route(`${own.provider.issuer}/.well-known/openid-configuration`, async (route) => {
        const response = await route.fetch();
        return route.fulfill({ response, json: { ...(await response.json()), prompt_values_supported: ["none", "login", "select_account"] } });
      });
      await accept(page).click();
      const sent = page.waitForRequest(`${own.provider.issuer}/auth?*prompt=select_account*`);
      await page.getByRole("button", { name: "Use another account" }).click();
      await sent;
    } finally {
      own.claims.groups = CLAIMS.groups;
    }
  }));
});

describe("the credentials of a client, or a token, are kept in the tab by choice", () => {
  const on = onDemo();
  const choose = (page) => page.getByLabel("Stay signed in when this tab is reloaded").check();
  const title = (page) => page.getByRole("heading", { level: 1, name: "Conditions" }).waitFor();

  test("a reload then signs in by itself, another tab asks, and signing out forgets them", async () => {
    const page = await open(on.context, `${on.host.url}/#/conditions`);
    await page.getByText("Closing or reloading the page signs you out.").waitFor();
    await signIn(page, on.host);
    await title(page);
    assert.deepEqual(await kept(page), [], "nothing is kept that was not chosen");
    await page.reload();
    await choose(page);
    await page.getByText("The secret is in this tab’s storage until you sign out or close the tab.").waitFor();
    await signIn(page, on.host);
    await title(page);
    await page.reload();
    await title(page);
    const other = await open(on.context, on.host.url);
    await other.getByLabel("Client id").waitFor();
    await other.close();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("Client id").waitFor();
    assert.deepEqual(await kept(page), []);
    await page.reload();
    await page.getByLabel("Client id").waitFor();
    assert.deepEqual(page.faults, []);
    await page.close();
  });

  const refused = {
    "The client id or the secret is wrong, or the client is not authorized.": fillIn,
    "The host does not accept this token. It may have expired.": async (page, client) => {
      await page.getByRole("radio", { name: "Token" }).check();
      await page.getByLabel("Access token").fill(await client.token());
    },
  };
  for (const [reason, enter] of Object.entries(refused)) {
    test(`what is not accepted any more is forgotten: ${reason}`, async () => {
      const client = await clientWith(on.host, ["ecs.viewer"]);
      const page = await open(on.context, `${on.host.url}/#/conditions`);
      await enter(page, client);
      await choose(page);
      await page.getByRole("button", { name: "Sign in" }).click();
      await title(page);
      // The tab is elsewhere when access is withdrawn.
      await page.goto("about:blank");
      await on.host.api("PUT", `/v1/tenants/demo/clients/${client.clientId}/revoke`);
      // Hosts look up a client at most a second later.
      await until(async () => (await client.api("GET", "/api/v1/caller")).status === 401, "the client is refused");
      await page.goto(`${on.host.url}/#/conditions`);
      await alert(page, reason);
      assert.deepEqual(await kept(page), []);
      await page.close();
    });
  }
});

describe("a provider that gives refresh tokens", () => {
  const on = onProvider({ refreshes: true, seconds: 8 });

  test("signs a person in where they were, who decides; the token is renewed; signing out ends it at the provider too", async () => {
    const loaded = [];
    on.context.on("request", (request) => loaded.push(new URL(request.url()).pathname));
    const page = await open(on.context, `${on.host.url}/#/conditions`);
    await atProvider(page).waitFor();
    assert.deepEqual(loaded.filter((path) => path.includes("/vendor/")), [], "the library is loaded when it is needed");
    await atProvider(page).click();
    await accept(page).click();
    await live(page);
    await page.getByRole("heading", { level: 1, name: "Conditions" }).waitFor();
    assert.equal(rest(page), "#/conditions");
    assert.deepEqual(await kept(page), AT_PROVIDER);

    await go(page, "#/preview/condition/alcohol");
    await age(page).fill("17");
    await shown(decision(page), "Must not be sold");
    await agrees(page);

    const isRenewed = () => on.provider.requests.some((request) => request.grant_type === "refresh_token");
    let years = 18;
    await until(async () => {
      await age(page).fill(String((years += 1)));
      return isRenewed();
    }, "the token is renewed");
    await age(page).fill("17");
    await shown(decision(page), "Must not be sold");
    await agrees(page);
    assert.deepEqual(await kept(page), AT_PROVIDER);

    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("button", { name: "Sign out here" }).click();
    await atProvider(page).waitFor();
    assert.equal(rest(page), "");
    assert.deepEqual(await kept(page), []);
    await atProvider(page).click();
    await accept(page).waitFor();
    assert.deepEqual(page.faults, []);
    await page.close();
  });

  test("sends the code with the verifier of its challenge, and asks for the host's audience", () => {
    const [first] = on.provider.requests;
    assert.equal(first.grant_type, "authorization_code");
    assert.match(first.code_verifier, /^[\w-]{43,}$/);
    assert.equal(first.client_secret, undefined);
    assert.equal(first.resource, "https://till.example/api");
    assert.equal(first.redirect_uri, `${on.host.url}/`);
  });
});

describe("a provider that gives none", () => {
  const on = onProvider({});

  test("asks again with one click when the token has ended, and drafts are still there", () => inOwnBrowser(on, async (own) => {
    const page = await signInAt(own, "#/preview/condition/alcohol");
    await page.getByText("Try a change", { exact: true }).click();
    await page.getByLabel("Minimum age").fill("16");
    await page.getByText("If you saved this:").waitFor();
    expected(page, 401);
    const refusal = { statusCode: 401, code: "unauthenticated", error: "Unauthorized", message: "the token has expired" };
    await page.route("**/api/v1/**", (route) => route.fulfill({ status: 401, contentType: "application/problem+json", json: refusal }));
    // The page alone decides a draft, and it is in the address: elsewhere the host is asked, and the draft is in memory only.
    await page.evaluate(() => (location.hash = "#/preview/condition/fireworks"));
    await alert(page, "Your session has expired. Sign in again. Your drafts are kept.");
    await page.unroute("**/api/v1/**");
    await atProvider(page).click();
    await live(page);
    assert.match(rest(page), /^#\/preview\/condition\/fireworks/);
    await page.evaluate(() => (location.hash = "#/preview/condition/alcohol"));
    await page.getByText("If you saved this:").waitFor();
    assert.equal(await page.getByLabel("Minimum age").inputValue(), "16");
    assert.deepEqual(await kept(page), AT_PROVIDER);
    assert.deepEqual(page.faults, []);
  }));

  test("an answer with the wrong state is not used, nor one that this tab has not asked for", async () => {
    const page = await open(on.context, on.host.url);
    const asked = on.provider.requests.length;
    const strange = "does not belong to a sign-in started in this tab, so it was ignored. Sign in again.";
    await page.goto(`${on.host.url}/?code=a&state=b#/conditions`);
    await alert(page, strange);
    assert.equal(rest(page), "");

    let sent;
    await page.route(`${on.provider.issuer}/auth?*`, (route) => {
      sent = new URL(route.request().url()).searchParams;
      return route.fulfill({ body: "on the way" });
    });
    await atProvider(page).click();
    await page.getByText("on the way").waitFor();
    assert.equal(sent.get("code_challenge_method"), "S256");
    assert.equal(sent.get("redirect_uri"), `${on.host.url}/`);
    const issuer = encodeURIComponent(on.provider.issuer);
    await page.goto(`${on.host.url}/?code=a&state=wrong&iss=${issuer}`);
    await alert(page, strange);
    assert.equal(rest(page), "");
    assert.deepEqual(await kept(page), []);
    // The data of that sign-in is gone: its state is no longer of use.
    await page.goto(`${on.host.url}/?code=a&state=${sent.get("state")}&iss=${issuer}`);
    await alert(page, strange);
    assert.equal(on.provider.requests.length, asked, "no code was sent");
    assert.deepEqual(page.faults, []);
    await page.close();
  });

  test("a token that was issued for another sign-in is not used: its nonce is another", async () => {
    const context = await browser();
    const page = await open(context, on.host.url);
    await page.route(`${on.provider.issuer}/auth?*`, (route) => {
      const url = new URL(route.request().url());
      assert.match(url.searchParams.get("nonce"), /^[\w-]{43}$/);
      url.searchParams.set("nonce", "another");
      return route.continue({ url: url.href });
    });
    await atProvider(page).click();
    const asked = on.provider.requests.length;
    await accept(page).click();
    await alert(page, "does not belong to a sign-in started in this tab, so it was ignored. Sign in again.");
    assert.equal(on.provider.requests.length, asked + 1, "the provider has issued a token");
    assert.deepEqual(await kept(page), []);
    await page.unroute(`${on.provider.issuer}/auth?*`);
    await atProvider(page).click();
    await live(page);
    assert.deepEqual(page.faults, []);
    await context.close();
  });

  test("a person who declines is told so, and may try again", async () => {
    const context = await browser();
    const page = await open(context, on.host.url);
    await atProvider(page).click();
    await page.getByRole("button", { name: "Decline" }).click();
    await alert(page, "did not sign you in: you declined, or your account may not use this page.");
    assert.equal(rest(page), "");
    await atProvider(page).click();
    await accept(page).click();
    await live(page);
    await context.close();
  });

  test("when it cannot be reached, the page says so, and the other ways go on", async () => {
    const page = await open(on.context, on.host.url);
    await page.route(`${on.provider.issuer}/**`, (route) => route.abort());
    await atProvider(page).click();
    await alert(page, "cannot be reached. Try again in a moment.");
    expected(page, "Failed to load resource");
    await page.getByText("With a client id or a token").click();
    await fillIn(page, on.host);
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    await page.getByRole("heading", { level: 1, name: "Preview" }).waitFor();
    await hasCount(page.getByText(PERSON), 0);
    assert.deepEqual(page.faults, []);
    await page.close();
  });

  test("a person whose token the host does not accept is told what is wrong", async () => {
    delete on.claims.tenant;
    try {
      const context = await browser();
      const page = await open(context, on.host.url);
      await atProvider(page).click();
      await accept(page).click();
      await alert(page, "You are signed in at the identity provider, but the host does not accept its token");
      on.claims.tenant = "shpo";
      await atProvider(page).click();
      const refusal = page.getByRole("alert").getByText("The tenant “shpo” does not exist on this host, so nobody can sign in to it.");
      await accept(page).or(refusal).first().waitFor();
      if (await accept(page).isVisible()) await accept(page).click();
      await refusal.waitFor();
      await still(page);
      await looksRight(page, "signin-no-tenant");
      await context.close();
    } finally {
      on.claims.tenant = CLAIMS.tenant;
    }
  });

  describe("looks right, and axe finds nothing", () => {
    const states = {
      "first": () => {},
      "other-ways": (page) => page.getByText("With a client id or a token").click(),
      "strange": async (page) => {
        await page.goto(`${on.host.url}/?code=a&state=b`);
        await alert(page, "does not belong to a sign-in started in this tab");
      },
      "signed-in": async (page) => {
        await atProvider(page).click();
        await accept(page).click();
        await live(page);
        await decision(page).filter({ hasText: /./ }).waitFor();
      },
    };
    for (const [name, prepare] of Object.entries(states)) {
      test(name, async () => {
        const page = await open(on.context, on.host.url);
        await prepare(page);
        await still(page);
        await looksRight(page, `signin-provider-${name}`);
        assert.deepEqual(page.faults, []);
        await page.close();
      });
    }
  });
});

describe("the demo's link", () => {
  const on = onDemo();
  const exchange = (url, body) => fetch(`${url}/demo/session`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });

  test("signs in the browser that used it first, in each tab and after a reload, and no other; it is out of the address at once", async () => {
    for (const body of [{ code: "", browser: "a" }, { code: "0".repeat(64), browser: "a" }, { code: "a" }, {}, { code: 7, browser: "a" }]) assert.equal((await exchange(on.host.url, body)).status, 400);
    const loaded = [];
    on.context.on("request", (request) => loaded.push(request.url()));
    const page = await open(on.context, on.host.link);
    await page.getByRole("heading", { level: 1, name: "Preview" }).waitFor();
    assert.doesNotMatch(page.url(), /demo=/);
    await agrees(page);
    await page.reload();
    await agrees(page);
    assert.deepEqual(page.faults, []);
    await page.close();
    assert.ok(!loaded.some((url) => url.includes("/vendor/")));
    const again = await open(on.context, on.host.link);
    await agrees(again);
    await again.close();

    const context = await browser();
    const other = await open(context, on.host.link);
    await alert(other, "This link does not sign in here: another browser used it first");
    await eventually(() => assert.doesNotMatch(other.url(), /demo=/));
    await signIn(other, on.host);
    await other.getByRole("heading", { level: 1, name: "Preview" }).waitFor();
    await context.close();
  });

  test("is of the demo alone", async () => {
    const host = await emptyHost();
    try {
      assert.equal((await exchange(host.url, { code: "0".repeat(64), browser: "a" })).status, 404);
    } finally {
      await host.end();
    }
  });
});

test("the library in the page is the published one, with its licence", () => {
  const read = (path) => readFileSync(new URL(path, import.meta.url), "utf8");
  assert.equal(read("../../www/vendor/oauth4webapi.js"), read("../node_modules/oauth4webapi/build/index.js"));
  assert.equal(read("../../www/vendor/oauth4webapi-LICENSE.txt"), read("../node_modules/oauth4webapi/LICENSE.md"));
});
