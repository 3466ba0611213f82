// The page as people use it: a real Chromium against the real program.
//
//     cargo build && node --test tests/page/page.test.mjs     TESTS_LONG=1 keeps screenshots in tests/output/

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, test } from "node:test";

import { OUTPUT, open, signIn, signedIn } from "../support/browser.mjs";
import { PROJECT, UNREACHABLE, agrees, decision, expected, go, hasCount, hasFocus, hasValue, onDemo, pick, pressButton, save, shown, tabTo, visit } from "../support/page.mjs";
import { AUDIENCE, clientWith, demo } from "../support/program.mjs";
import { eventually, within } from "../support/wait.mjs";

const on = onDemo();

describe("what is served", () => {
  test("the page has a policy that allows only its own scripts and WebAssembly", async () => {
    const answer = await fetch(on.host.url);
    assert.equal(answer.headers.get("content-type"), "text/html; charset=utf-8");
    assert.equal(
      answer.headers.get("content-security-policy"),
      "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' data:; " +
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    );
    assert.equal(answer.headers.get("x-content-type-options"), "nosniff");
    assert.match(await answer.text(), /<meta name="tillgate-audience" content="https:\/\/api\.tillgate\.example" \/>/);
  });

  test("the module is the one that decides, and is not sent again to a browser that has it", async () => {
    const answer = await fetch(`${on.host.url}/js/engine/tillgate_bg.wasm`);
    assert.equal(answer.headers.get("content-type"), "application/wasm");
    const digest = createHash("sha256").update(new Uint8Array(await answer.arrayBuffer())).digest("hex");
    const evaluated = await on.host.api("POST", "/api/v1/conditions/alcohol/evaluate", { item: { id: "a" }, context: {} });
    assert.equal(digest, evaluated.headers.get("tillgate-engine"));
    const again = await fetch(`${on.host.url}/js/engine/tillgate_bg.wasm`, { headers: { "If-None-Match": answer.headers.get("etag") } });
    assert.equal(again.status, 304);
  });

  test("every file that a module imports exists", async () => {
    const seen = new Set();
    const walk = async (url) => {
      if (seen.has(url)) return;
      seen.add(url);
      const answer = await fetch(url);
      assert.equal(answer.status, 200, url);
      for (const [, to] of (await answer.text()).matchAll(/(?:^(?:import|export) [^;(]*?|\bimport\()"(\.[^"]+)"\)?/gms)) await walk(new URL(to, url).href);
    };
    await walk(`${on.host.url}/www/main.js`);
    assert.ok(seen.size > 20, `${seen.size}`);
  });
});

describe("signing in", () => {
  test("a wrong secret is refused with a sentence, and the right one signs in", async () => {
    const page = await open(on.context, on.host.url);
    await page.getByLabel("Client id").fill(on.host.clientId);
    await page.getByLabel("Secret", { exact: true }).fill("wrong");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("alert").getByText("The client id or the secret is wrong").waitFor();
    await page.getByLabel("Secret", { exact: true }).fill(on.host.clientSecret);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Preview" }).waitFor();
    await page.getByText("Live · demo").waitFor();
    await page.close();
  });

  test("a pasted token signs in, and neither it nor a secret is stored", async () => {
    const page = await open(on.context, on.host.url);
    await page.getByRole("radio", { name: "Token" }).check();
    await page.getByLabel("Access token").fill(`Bearer ${await on.host.token()}`);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { name: "Preview" }).waitFor();
    await agrees(page);
    const kept = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie]));
    assert.doesNotMatch(kept, /ey[A-Za-z0-9_-]{10}/);
    await page.reload();
    await page.getByLabel("Client id").waitFor();
    assert.deepEqual(page.faults, []);
    await page.close();
  });

  test("signing out clears the page", () => visit(on, "", async (page) => {
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("Client id").waitFor();
    assert.equal(await page.locator("body").getByText("alcohol").count(), 0, "nor is it said to a screen reader");
  }));
});

describe("permissions", () => {
  /** A page signed in as a client of the demo's tenant with these roles. */
  const as = async (...roles) => {
    const client = await clientWith(on.host, roles);
    return { client, page: await signedIn(on.context, client) };
  };

  test("a viewer sees everything, and is told what is missing to change it", async () => {
    const { page } = await as("ecs.viewer");
    await shown(decision(page), "Must not be sold");
    await page.getByText("Not checked with the host: it needs the permission ecs.condition.evaluate").waitFor();
    await page.getByRole("link", { name: "Conditions" }).click();
    await page.getByText("You may view conditions, but not change them. That needs the permission ecs.condition.write.").waitFor();
    assert.equal(await page.getByRole("button", { name: /^(New|Edit|Delete|Copy)/ }).count(), 0);
    assert.deepEqual(page.faults, []);
    await page.close();
  });

  test("who may see nothing is told who they are and which role they need, and may use another account", async () => {
    const client = await clientWith(on.host, ["ecs.evaluator"]);
    const page = await open(on.context, `${on.host.url}/#/conditions`);
    await signIn(page, client);
    await page.getByRole("heading", { level: 1, name: "You may not see anything here yet" }).waitFor();
    await page.getByText(`You are signed in as client ${client.clientId} at demo.`).waitFor();
    await page.getByText("To change rules: ecs.editor", { exact: true }).waitFor();
    await page.getByText("To manage clients: iam.admin", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Use another account" }).click();
    await signIn(page, on.host);
    await page.getByRole("heading", { level: 1, name: "Conditions" }).waitFor();
    assert.deepEqual(page.faults, []);
    await page.close();
  });

  test("a caller is told its tenant and what it may do, and no other caller is", async () => {
    const { clientId, clientSecret, url } = await clientWith(on.host, ["exr.viewer", "ecs.viewer"]);
    const credentials = { method: "POST", headers: { Authorization: `Basic ${btoa(`${clientId}:${clientSecret}`)}` } };
    const body = new URLSearchParams({ grant_type: "client_credentials", audience: AUDIENCE });
    const { access_token } = await (await fetch(`${url}/oauth2/token`, { ...credentials, body })).json();
    const answer = await fetch(`${url}/api/v1/caller`, { headers: { Authorization: `Bearer ${access_token}` } });
    assert.deepEqual(await answer.json(), { tenantId: "demo", permissions: ["ecs.condition.read", "crs.project.read", "exr.rate.read"] });
    assert.equal((await fetch(`${url}/api/v1/caller`)).status, 401);
  });

  test("a client that is revoked is signed out and told", async () => {
    const { client, page } = await as("ecs.viewer", "ecs.evaluator");
    await agrees(page);
    await on.host.api("PUT", `/v1/tenants/demo/clients/${client.clientId}/revoke`);
    await page.getByText("Your session has expired. Sign in again.").waitFor();
    assert.equal(await page.locator("body").getByText("alcohol").count(), 0, "nor is it said to a screen reader");
    await page.close();
  });
});

describe("previewing a condition", () => {
  test("the decision changes after each keystroke, in the page, and the host agrees", () => visit(on, "", async (page) => {
    await shown(decision(page), "Must not be sold");
    await agrees(page);
    // The page decides even if the host cannot be reached.
    await page.route("**/evaluate", (route) => route.abort());
    const age = page.getByLabel("Customer’s age", { exact: true });
    await age.fill("18");
    await shown(decision(page), "May be sold");
    await age.fill("");
    await shown(decision(page), "Ask first");
    await page.getByText("Ask for the customer’s age, which must be 18 or more.").first().waitFor();
    await age.fill("151");
    await page.getByText("Cannot be decided yet").waitFor();
    await page.getByText("The host cannot be reached. Decided in this page only").waitFor();
    await page.unroute("**/evaluate");
    await age.fill("17");
    await agrees(page);
    const { sha256 } = await import("../../js/engine/engine.js");
    const digest = () => page.locator(".host-check code").getAttribute("title");
    await eventually(async () => assert.equal(await digest(), `SHA-256 of the program that decides: ${sha256}`));
    await page.getByText(`by version ${sha256.slice(0, 8)} of the rule program`).waitFor();
    expected(page, UNREACHABLE);
  }));

  test("page and host report the same faults of a request", () => visit(on, `#/preview/project/${PROJECT}`, async (page) => {
    await page.getByLabel("Item id").fill("");
    await page.getByText("Enter an item id of at most 256 characters.").first().waitFor();
    await agrees(page);
    expected(page, 400);
  }));

  test("faults are named without JSON paths", () => visit(on, "#/preview/basket", async (page) => {
    const hasPath = async () => (await page.locator("main").innerText()).includes("$.");
    await page.getByLabel("Item id").first().fill("");
    await page.getByText("Enter the item id of line 1, at most 256 characters.").first().waitFor();
    assert.equal(await hasPath(), false);
    await page.getByRole("radio", { name: "A condition" }).check();
    await pick(page.getByLabel("Condition", { exact: true }), "A new condition…");
    await page.getByLabel("Id", { exact: true }).fill("not an id");
    await page.getByLabel("Minimum age").fill("200");
    await page.getByText("The id may hold letters, digits, . _ : and -, at most 64 of them.").first().waitFor();
    await page.getByText("Enter the minimum age: a whole number from 0 to 150.").first().waitFor();
    assert.equal(await hasPath(), false);
    expected(page, 400);
  }));

  test("the chart shows where the decision changes, and its slider sets the age", () => visit(on, "", async (page) => {
    await page.getByText("Up to 17: do not sell, from 18: sell.").waitFor();
    const slider = page.getByLabel("Customer’s age, slider");
    await slider.focus();
    await page.keyboard.press("ArrowRight");
    await hasValue(page.getByLabel("Customer’s age", { exact: true }), "18");
    await shown(decision(page), "May be sold");
    await agrees(page);
  }));

  test("licenses can be chosen, and change the decision", () => visit(on, "#/preview/condition/tobacco", async (page) => {
    await shown(decision(page), "Ask first");
    await page.getByRole("radio", { name: "Has these" }).check();
    await shown(decision(page), "Must not be sold");
    await page.getByRole("checkbox", { name: "tobacco" }).check();
    await shown(decision(page), "May be sold");
    await agrees(page);
  }));

  test("a change to a rule is tried out before it is saved, and changes nothing that is stored", () => visit(on, "", async (page) => {
    await page.getByText("Try a change").click();
    await page.getByLabel("Minimum age").fill("16");
    await shown(decision(page), "May be sold");
    await page.getByText("Draft, decided in this page").waitFor();
    await page.getByText("Up to 15: do not sell, from 16: sell.").waitFor();
    const stored = await (await on.host.api("GET", "/api/v1/entity-conditions/alcohol")).json();
    assert.deepEqual(stored.condition_value, { minimum_age: 18 });
    await page.getByLabel("Minimum age").fill("18");
    await agrees(page);
  }));

  test("a new rule can be tried out and then saved", () => visit(on, "", async (page) => {
    await pick(page.getByLabel("Condition", { exact: true }), "A new condition…");
    await page.getByLabel("Id", { exact: true }).fill("fireworks");
    await page.getByLabel("Minimum age").fill("21");
    await shown(decision(page), "Must not be sold");
    await page.getByRole("button", { name: "Save this rule…" }).click();
    await save(page);
    await page.getByText("Saved. The change is in force.").waitFor();
    await hasValue(page.getByLabel("Condition", { exact: true }), "fireworks", "it is the one that is shown");
    await agrees(page);
    const stored = await (await on.host.api("GET", "/api/v1/entity-conditions/fireworks")).json();
    assert.deepEqual(stored.condition_value, { minimum_age: 21 });
    await on.host.api("DELETE", "/api/v1/entity-conditions/fireworks");
  }));
});

test("who follows a link right after a change gets there, and the address stays that of the link", () => visit(on, "", async (page) => {
  await shown(decision(page), "Must not be sold");
  await page.getByLabel("Customer’s age", { exact: true }).evaluate((age) => {
    // The page is busy until shortly before it puts the change into the address.
    new MutationObserver((_, observer) => {
      if (!document.querySelector("main").innerText.includes("May be sold")) return;
      observer.disconnect();
      const begin = performance.now();
      while (performance.now() - begin < 500);
      location.hash = "#/conditions";
    }).observe(document.querySelector("main"), { subtree: true, childList: true, characterData: true });
    age.value = "30";
    age.dispatchEvent(new Event("input", { bubbles: true }));
  });
  await page.getByRole("button", { name: "Edit energy-drink" }).waitFor();
  assert.equal(new URL(page.url()).hash, "#/conditions");
}));

test("a view that is chosen again while another one is loaded stays", () => visit(on, "#/projects", async (page) => {
  let release;
  const released = new Promise((resolve) => (release = resolve));
  await page.route("**/rules/conditions.js", (route) => released.then(() => route.continue()));
  const asked = page.waitForRequest("**/rules/conditions.js");
  await page.getByRole("link", { name: "Conditions" }).click();
  const url = (await asked).url();
  await page.getByRole("link", { name: "Projects" }).click();
  release();
  await page.evaluate((url) => import(url).then(() => new Promise(requestAnimationFrame)), url);
  await page.getByRole("heading", { name: "Projects", level: 1 }).waitFor();
  assert.equal(await page.locator("nav [aria-current]").textContent(), "Projects");
}));

test("an address that names no way to decide shows what was shown last", () => visit(on, "#/preview/constructor", async (page) => {
  await shown(decision(page), "Must not be sold");
  for (const name of ["__proto__", "toString"]) {
    await go(page, `#/preview/${name}`);
    await shown(decision(page), "Must not be sold");
  }
  await go(page, "#/constructor");
  await shown(decision(page), "Must not be sold");
}));

test("a rule or project that is not there decides nothing, from an address or once another user has deleted it", () => visit(on, "#/preview/condition/beeer?age=30", async (page) => {
  const decided = decision(page).or(page.getByText("The host made the same decision"));
  await page.getByRole("heading", { name: "There is no condition “beeer”" }).waitFor();
  await page.getByText("It was deleted, or the address is wrong. Nothing is decided here.").waitFor();
  await hasCount(decided, 0);
  await go(page, "#/preview/project/00000000-0000-4000-8000-000000000000");
  await page.getByRole("heading", { name: "There is no project “00000000-0000-4000-8000-000000000000”" }).waitFor();
  await hasCount(decided, 0);
  await page.getByRole("button", { name: "Show another project" }).click();
  await shown(decision(page), "Must not be sold");

  // The page may ask the host about the rule after its deletion, before it learns of it.
  expected(page, 404);
  const own = "/api/v1/entity-conditions/cider";
  const rule = { rule: "AGE_RESTRICTION", condition_value: { minimum_age: 16 } };
  await on.host.api("PUT", own, rule);
  await page.getByRole("radio", { name: "A condition" }).check();
  await go(page, "#/preview/condition/cider?age=30");
  await shown(decision(page), "May be sold");
  await on.host.api("DELETE", own);
  await page.getByRole("heading", { name: "There is no condition “cider”" }).waitFor();
  await hasCount(decided, 0);
  await on.host.api("PUT", own, rule);
  await shown(decision(page), "May be sold");
  await on.host.api("DELETE", own);
  // The draft in an address becomes that of a new rule, because no other rule owns it.
  const draft = { id: "cider", rule: "AGE_RESTRICTION", enabled: true, condition_value: { minimum_age: 21 } };
  await go(page, `#/preview/condition/cider?age=30&draft=${encodeURIComponent(JSON.stringify(draft))}`);
  await page.getByText("Tills that ask for it get an error.").waitFor();
  await hasCount(page.getByText("(draft)"), 0);
  await page.getByRole("button", { name: "Discard" }).click();
  await go(page, "#/preview/condition/cider");
  await page.getByRole("link", { name: "See its history" }).click();
  await page.getByRole("dialog").getByText("It is deleted. Restoring a version creates it again.").waitFor();
}));

test("an id that browsers take for a step of the path is refused at its field", () => visit(on, "#/conditions", async (page) => {
  await page.getByRole("button", { name: "New condition" }).click();
  const form = page.getByRole("dialog");
  await form.getByLabel("Id", { exact: true }).fill("..");
  await pressButton(form, "Review");
  await form.getByText("The id must be more than one or two dots.").waitFor();
}));

describe("previewing a project and a basket", () => {
  test("the properties that a project checks are offered, and change the decision", () => visit(on, `#/preview/project/${PROJECT}`, async (page) => {
    await shown(decision(page), "Must not be sold");
    await page.getByLabel("productGroup", { exact: true }).fill("fasteners");
    await shown(decision(page), "May be sold");
    await shown(page.locator(".decision-why"), "School, new building allows it.");
    await agrees(page);
    await page.getByLabel("Item id").fill("foam-0815");
    await shown(decision(page), "Must not be sold");
    await page.locator(".decision-why").getByText(/^School, new building forbids it\. /).waitFor();
    await page.getByText("The item foam-0815 must never be bought.").first().waitFor();
    await page.getByRole("button", { name: "Add a property" }).click();
    await page.getByLabel("Property", { exact: true }).fill("brand");
    await page.getByLabel("Value", { exact: true }).fill("acme");
    await agrees(page);
    await page.getByText("Request and response, for developers").click();
    await page.getByText('"brand": "acme"').waitFor();
  }));

  test("a basket shows what to ask and what to remove", () => visit(on, "#/preview/basket", async (page) => {
    await shown(decision(page), "Remove 1 item");
    await page.getByText("Remove beer-0.5l. The customer is 17 and must be 18: one year short.").waitFor();
    await page.getByText("Ask for the license “tobacco”.").first().waitFor();
    await agrees(page);
    await page.getByLabel("Customer’s age", { exact: true }).fill("40");
    await shown(decision(page), "Ask first");
    await page.getByRole("radio", { name: "Has these" }).check();
    await page.getByRole("group", { name: "Licenses the customer has" }).getByRole("checkbox", { name: "tobacco" }).check();
    await shown(decision(page), "Sell the basket");
    await pick(page.getByLabel("Project", { exact: true }), "School, new building");
    await shown(decision(page), "Remove 3 items");
    await agrees(page);
    for (const _ of [1, 2, 3]) await page.getByRole("button", { name: "Remove this line" }).first().click();
    await page.getByText("The basket is empty").waitFor();
    await page.getByText("Request and response").waitFor({ state: "hidden" });
  }));
});

describe("conditions", () => {
  test("global conditions can be viewed but not changed", () => visit(on, "#/conditions", async (page) => {
    await page.getByRole("link", { name: "Preview alcohol" }).waitFor();
    assert.equal(await page.getByRole("button", { name: "Edit alcohol" }).count(), 0);
    assert.equal(await page.getByRole("button", { name: "Delete alcohol" }).count(), 0);
  }));

  test("the list is filtered as you type", () => visit(on, "#/conditions", async (page) => {
    await page.getByLabel("Filter conditions").fill("license");
    await page.getByText("2 of 4 conditions").waitFor();
    await page.getByLabel("Filter conditions").fill("nothing like it");
    await page.getByText("No condition matches").waitFor();
  }));

  test("a condition is created, changed, switched off and deleted", () => visit(on, "#/conditions", async (page) => {
    await page.getByRole("button", { name: "New condition" }).first().click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Id", { exact: true }).fill("not an id");
    await pressButton(dialog, "Review");
    await dialog.getByText("The id may hold letters, digits, . _ : and -").waitFor();
    await dialog.getByLabel("Id", { exact: true }).fill("knives");
    await dialog.getByLabel("Minimum age").fill("200");
    await pressButton(dialog, "Review");
    await dialog.getByText("Enter a whole number from 0 to 150.").waitFor();
    await dialog.getByLabel("Minimum age").fill("18");
    await save(page);
    await page.getByRole("heading", { name: "knives" }).waitFor();
    await page.getByRole("button", { name: "Edit knives" }).click();
    const atTills = "Tills that ask for it get an error, and in a basket the items that need it may not be sold. If a global rule with the same id is in force, that one decides instead.";
    await dialog.getByText(atTills).waitFor({ state: "hidden" });
    await dialog.getByRole("switch", { name: "In force" }).uncheck();
    await dialog.getByText(`Switched off, it does not decide. ${atTills}`).waitFor();
    await pressButton(dialog, "Review");
    await dialog.locator(".review").getByText(atTills).waitFor();
    await pressButton(dialog, "Save");
    await page.locator(".row.off").getByText("Off").waitFor();
    await page.getByRole("button", { name: "Delete knives" }).click();
    await dialog.getByText(`${atTills} Switching it off has the same effect on tills, and keeps the rule for later.`).waitFor();
    await dialog.getByRole("button", { name: "Delete" }).click();
    await page.getByRole("heading", { name: "knives" }).waitFor({ state: "detached" });
  }));

  test("when another user has saved first, both versions are shown", () => visit(on, "#/conditions", async (page) => {
    await page.getByRole("button", { name: "Edit energy-drink" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Minimum age").fill("14");
    const put = (age) => on.host.api("PUT", "/api/v1/entity-conditions/energy-drink", { rule: "AGE_RESTRICTION", condition_value: { minimum_age: age } });
    await put(13);
    await save(page);
    await dialog.getByText("tillgate-demo 1 changed this while you were editing").waitFor();
    await dialog.getByText("added: 13").waitFor();
    await dialog.getByText("added: 14").waitFor();
    await page.screenshot({ path: `${OUTPUT}conflict.png` });
    await dialog.getByRole("button", { name: "Save mine instead" }).click();
    await page.getByText("Customers must be 14 or older").waitFor();
    await put(15);
    expected(page, 412);
  }));

  test("a change on one page changes the decision on another", async () => {
    const [one, other] = [await signedIn(on.context, on.host, "#/conditions"), await signedIn(on.context, on.host, "#/preview/condition/energy-drink")];
    await other.getByLabel("Customer’s age", { exact: true }).fill("16");
    await shown(decision(other), "May be sold");
    await one.getByRole("button", { name: "Edit energy-drink" }).click();
    await one.getByRole("dialog").getByLabel("Minimum age").fill("17");
    await other.evaluate(() => {
      const title = document.querySelector(".decision-title");
      window.changed = new Promise((resolve) => {
        const observer = new MutationObserver(() => title.textContent === "Must not be sold" && resolve(Date.now()));
        observer.observe(title, { childList: true, characterData: true, subtree: true });
      });
    });
    await one.evaluate(() => {
      document.querySelector("dialog form").addEventListener("submit", () => (window.saved = Date.now()), { capture: true });
    });
    await save(one);
    const changed = await within(other.evaluate(() => window.changed), "the decision on the other page");
    const took = changed - (await one.evaluate(() => window.saved));
    console.log(`# from the click on one page to the decision on the other: ${took} ms`);
    await agrees(other);
    await one.locator(".row").getByText("Customers must be 17 or older").waitFor();
    await on.host.api("PUT", "/api/v1/entity-conditions/energy-drink", { rule: "AGE_RESTRICTION", condition_value: { minimum_age: 15 } });
    await one.getByText("Customers must be 15 or older").waitFor();
    await one.close();
    await other.close();
  });
});

describe("projects", () => {
  test("a project is created with rules, changed and deleted", () => visit(on, "#/projects", async (page) => {
    await page.getByRole("button", { name: "New project" }).first().click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Name").fill("Kindergarten");
    await pressButton(dialog, "Add a rule");
    await pressButton(dialog, "Review");
    await dialog.getByText("Enter the name of the property.").waitFor();
    await dialog.getByLabel("Property").fill("organic");
    await dialog.getByLabel("Values, one per line").fill("certified");
    await dialog.getByLabel("yes").check();
    await pressButton(dialog, "Add a rule");
    await dialog.getByLabel("Type of rule").nth(1).selectOption("Never these items");
    await dialog.getByLabel("Item ids, one per line").fill("lead-paint\nasbestos");
    await save(page);
    await page.getByRole("heading", { name: "Kindergarten" }).waitFor();
    await page.getByText("organic must be certified or yes").waitFor();
    const all = await (await on.host.api("GET", "/api/v1/projects")).json();
    const made = all.find(({ name }) => name === "Kindergarten");
    assert.deepEqual(made.restrictions, [
      { type: "WHITELIST", propertyName: "organic", allowedValues: ["certified", true], exclusive: false },
      { type: "BLACKLISTEDITEMS", itemIds: ["lead-paint", "asbestos"], exclusive: false },
    ]);
    await page.getByRole("button", { name: "Edit Kindergarten" }).click();
    await dialog.getByRole("button", { name: "Remove this rule" }).first().click();
    await save(page);
    await page.getByText("organic must be certified or yes").waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Delete Kindergarten" }).click();
    await dialog.getByRole("button", { name: "Delete" }).click();
    await page.getByRole("heading", { name: "Kindergarten" }).waitFor({ state: "detached" });
  }));
});

describe("accessibility", () => {
  test("signing in, previewing and changing a rule work with the keyboard alone", async () => {
    const page = await open(on.context, on.host.url);
    await page.getByLabel("Client id").waitFor();
    await tabTo(page, "Client id");
    await page.keyboard.insertText(on.host.clientId);
    await page.keyboard.press("Tab");
    await page.keyboard.insertText(on.host.clientSecret);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Preview" }).waitFor();
    await tabTo(page, "Customer’s age");
    await page.keyboard.press("Control+A");
    await page.keyboard.type("19");
    await shown(decision(page), "May be sold");
    await page.keyboard.press("Home");
    for (let press = 0; press < 30; press += 1) await page.keyboard.press("Shift+Tab");
    await tabTo(page, "Conditions");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Conditions", level: 1 }).waitFor();
    await tabTo(page, "Edit energy-drink");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor();
    await tabTo(page, "Minimum age");
    await page.keyboard.press("Control+A");
    await page.keyboard.type("16");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").getByText("added: 16").waitFor();
    await tabTo(page, "Save");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await on.host.api("PUT", "/api/v1/entity-conditions/energy-drink", { rule: "AGE_RESTRICTION", condition_value: { minimum_age: 15 } });
    await hasFocus(page, "Edit energy-drink", "the focus is back where it was");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    // A dialog is gone for others before it tells the page that it was closed.
    await hasFocus(page, "Edit energy-drink", "the focus goes back to where it was");
    assert.deepEqual(page.faults, []);
    await page.close();
  });

  test("a screen reader announces the decision when typing pauses, and which rule made it", () => visit(on, "#/preview/condition/alcohol", async (page) => {
    const status = page.locator(".decision [role=status]");
    await shown(status, "Must not be sold. alcohol forbids it. The customer is 17 and must be 18: one year short.");
    await page.getByLabel("Customer’s age", { exact: true }).fill("44");
    await shown(status, "May be sold. alcohol allows it.");
    await page.getByLabel("Customer’s age", { exact: true }).fill("");
    await shown(status, "Ask first. alcohol does not allow it yet. Ask for the customer’s age, which must be 18 or more.");
  }));

  test("a theme can be chosen, and is kept", () => visit(on, "", async (page) => {
    await page.emulateMedia({ colorScheme: "light" });
    const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const light = await background();
    const isDark = () => eventually(async () => assert.notEqual(await background(), light));
    await page.getByRole("button", { name: "Use dark colours" }).click();
    await isDark();
    await page.reload();
    await page.getByRole("heading", { level: 1, name: "Preview" }).waitFor();
    await isDark();
    await page.getByRole("button", { name: "Use light colours" }).click();
    await page.evaluate(() => localStorage.clear());
  }));
});

test("a hidden page receives no changes, and catches up when it is visible again", () => visit(on, "#/conditions", async (page) => {
  const setHidden = (hidden) =>
    page.evaluate((hidden) => {
      Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
      document.dispatchEvent(new Event("visibilitychange"));
    }, hidden);
  await setHidden(true);
  await page.getByText("Not connected. Showing the last known rules").waitFor();
  await on.host.api("PUT", "/api/v1/entity-conditions/glue", { rule: "AGE_RESTRICTION", condition_value: { minimum_age: 18 } });
  await setHidden(false);
  await page.getByRole("heading", { name: "glue" }).waitFor();
  await page.getByText("Live · demo").waitFor();
  await on.host.api("DELETE", "/api/v1/entity-conditions/glue");
}));

test("a page whose host has stopped says so, and goes on deciding", async () => {
  const own = await demo();
  const page = await signedIn(on.context, own);
  await agrees(page);
  await own.end();
  await page.getByText("Not connected. Showing the last known rules").waitFor();
  await page.getByLabel("Customer’s age", { exact: true }).fill("30");
  await shown(decision(page), "May be sold");
  await page.close();
});
