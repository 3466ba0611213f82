// How people sign in to the page at their identity provider, a real one, and out again; and the demo's link.
//
//     cargo build && node --test tests/page-sign-in.test.mjs     TESTS_LONG=1 keeps screenshots in tests/output/

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";

import { browser, fillIn, open } from "./support/browser.mjs";
import { PERSON, identityProvider } from "./support/identity-provider.mjs";
import { looksRight, still } from "./support/looks.mjs";
import { agrees, decision, expected, go, hasCount, onDemo, shown } from "./support/page.mjs";
import { configuredHost, emptyHost } from "./support/program.mjs";
import { eventually, until } from "./support/wait.mjs";

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

/** What this tab keeps of the page, apart from the theme. */
const kept = (page) => page.evaluate(() => [...Object.keys(sessionStorage), ...Object.keys(localStorage)].filter((key) => key !== "theme"));

/** What stands in the address after the path. */
const rest = (page) => {
  const { search, hash } = new URL(page.url());
  return search + hash;
};

/** Opens the page and signs in at the provider, which knows the person already or asks who it is. */
async function signInAt({ context, host }, hash) {
  const page = await open(context, `${host.url}/${hash}`);
  await atProvider(page).click();
  const asked = accept(page);
  await asked.or(page.getByText(`Live · shop · ${PERSON}`)).first().waitFor();
  if (await asked.isVisible()) await asked.click();
  await live(page);
  return page;
}

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
    assert.deepEqual(await kept(page), []);

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
    assert.deepEqual(await kept(page), []);

    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("button", { name: "Sign out here" }).click();
    await atProvider(page).waitFor();
    assert.equal(rest(page), "");
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

  test("asks again with one click when the token has ended, and drafts are still there", async () => {
    const page = await signInAt(on, "#/preview/condition/alcohol");
    await page.getByText("Try a change", { exact: true }).click();
    await page.getByLabel("Minimum age").fill("16");
    await page.getByText("If you saved this:").waitFor();
    expected(page, 401);
    const refusal = { statusCode: 401, error: "Unauthorized", message: "the token has expired" };
    await page.route("**/api/v1/**", (route) => route.fulfill({ status: 401, contentType: "application/problem+json", json: refusal }));
    // A draft is decided in the page alone, and is in the address: elsewhere the host is asked, and the draft is in memory only.
    await page.evaluate(() => (location.hash = "#/preview/condition/fireworks"));
    await alert(page, "Your session has expired. Sign in again. Your drafts are kept.");
    await page.unroute("**/api/v1/**");
    await atProvider(page).click();
    await live(page);
    assert.match(rest(page), /^#\/preview\/condition\/fireworks/);
    await page.evaluate(() => (location.hash = "#/preview/condition/alcohol"));
    await page.getByText("If you saved this:").waitFor();
    assert.equal(await page.getByLabel("Minimum age").inputValue(), "16");
    assert.deepEqual(await kept(page), []);
    assert.deepEqual(page.faults, []);
    await page.close();
  });

  test("an answer with the wrong state is not used, nor one that this tab has not asked for", async () => {
    const page = await open(on.context, on.host.url);
    const asked = on.provider.requests.length;
    const strange = "does not fit a sign-in that this tab has begun, so it was not used. Sign in again.";
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
    // What belonged to that sign-in is gone: its own state is of no use any more.
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
    await alert(page, "does not fit a sign-in that this tab has begun, so it was not used. Sign in again.");
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
        await alert(page, "does not fit a sign-in that this tab has begun");
      },
      "signed-in": async (page) => {
        await atProvider(page).click();
        await accept(page).or(page.getByText(`Live · shop · ${PERSON}`)).first().waitFor();
        if (await accept(page).isVisible()) await accept(page).click();
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

  test("signs in once, and is out of the address at once; a wrong code does not use it up", async () => {
    for (const body of [{ code: "" }, { code: "0".repeat(64) }, {}, { code: 7 }]) assert.equal((await exchange(on.host.url, body)).status, 400);
    const loaded = [];
    on.context.on("request", (request) => loaded.push(request.url()));
    const page = await open(on.context, on.host.link);
    await page.getByRole("heading", { level: 1, name: "Preview" }).waitFor();
    assert.doesNotMatch(page.url(), /demo=/);
    await agrees(page);
    assert.deepEqual(page.faults, []);
    await page.close();
    assert.ok(!loaded.some((url) => url.includes("/vendor/")));

    const second = await open(on.context, on.host.link);
    await alert(second, "This link does not sign in any more");
    await eventually(() => assert.doesNotMatch(second.url(), /demo=/));
    await fillIn(second, on.host);
    await second.getByRole("button", { name: "Sign in" }).click();
    await second.getByRole("heading", { level: 1, name: "Preview" }).waitFor();
    await second.close();
  });

  test("is of the demo alone", async () => {
    const host = await emptyHost();
    try {
      assert.equal((await exchange(host.url, { code: "0".repeat(64) })).status, 404);
    } finally {
      await host.end();
    }
  });
});

test("the library in the page is the published one, with its licence", () => {
  const read = (path) => readFileSync(new URL(path, import.meta.url), "utf8");
  assert.equal(read("../www/vendor/oauth4webapi.js"), read("node_modules/oauth4webapi/build/index.js"));
  assert.equal(read("../www/vendor/oauth4webapi-LICENSE.txt"), read("node_modules/oauth4webapi/LICENSE.md"));
});
