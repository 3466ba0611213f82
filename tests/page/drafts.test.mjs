// Drafts: Preview of an unsaved rule, and what becomes of unsaved input.
//
//     cargo build && node --test tests/page/drafts.test.mjs     TESTS_LONG=1 keeps screenshots in tests/output/

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { OUTPUT, signIn, signedIn } from "../support/browser.mjs";
import { expected, agrees, decision, dialog, downloaded, hasCount, hasValue, onDemo, pick, pressButton, save, shown, tabTo, visit } from "../support/page.mjs";
import { clientWith } from "../support/program.mjs";
import { eventually, until } from "../support/wait.mjs";

const on = onDemo();

const draft = async (page, age) => {
  await page.getByText("Try a change").click();
  await page.getByLabel("Minimum age").fill(age);
};

describe("a draft is unmistakable", () => {
  for (const width of [360, 1280]) {
    test(`its decision stands beside today's, at ${width} px`, () => visit(on, "#/preview/condition/energy-drink", async (page) => {
      await page.setViewportSize({ width, height: 740 });
      await shown(decision(page), "May be sold");
      await draft(page, "18");
      await shown(decision(page), "Must not be sold");
      await page.getByText("If you saved this:", { exact: true }).waitFor();
      await page.getByText("Today: May be sold. energy-drink allows it.", { exact: true }).waitFor();
      await eventually(async () => {
        const card = await page.getByRole("region", { name: "Decision", exact: true }).boundingBox();
        assert.ok(card.y >= 0 && card.y + card.height <= 740, "the decision is in view while the rule is changed");
      });
      await page.screenshot({ path: `${OUTPUT}draft-${width}.png` });
      await page.getByText("Request and response of your draft, for developers").click();
      await page.getByText("No till gets this response").waitFor();
      await page.getByRole("heading", { name: "Response, if you saved this" }).waitFor();
      await page.getByRole("heading", { name: "Decision by the customer’s age, if you saved this" }).waitFor();
      await page.locator(".decision [role=status]").getByText("If you saved this: Must not be sold. energy-drink forbids it. The customer is 17 and must be 18: one year short. Today: May be sold. energy-drink allows it.").waitFor({ state: "attached" });
      await page.getByRole("button", { name: "Discard" }).click();
      await agrees(page);
      await page.getByText("If you saved this").waitFor({ state: "detached" });
      await page.getByText("Request and response, for developers").waitFor();
    }));
  }

  test("what is in force stays in sight while it is changed", () => visit(on, "#/preview/condition/energy-drink", async (page) => {
    await draft(page, "18");
    await page.getByText("Customers must be 15 or older.", { exact: true }).waitFor();
    await page.getByRole("switch", { name: "In force" }).uncheck();
    await shown(decision(page), "Switched off");
    await page.getByText("Today: May be sold.").waitFor();
  }));

  test("a new rule says that tills do not know it yet", () => visit(on, "", async (page) => {
    await pick(page.getByLabel("Condition", { exact: true }), "A new condition…");
    await shown(decision(page), "Must not be sold");
    await page.getByText("Today: No such condition. Tills that ask for it get an error.").waitFor();
    assert.doesNotMatch(await page.locator("main").innerText(), /new-rule\s+The customer/, "no id is invented");
  }));
});

test("a global rule says that it is global, and can be copied as an own one", () => visit(on, "#/preview/condition/alcohol", async (page) => {
  await page.getByText("A global rule.").waitFor();
  await draft(page, "20");
  assert.equal(await page.getByRole("button", { name: "Save this rule…" }).count(), 0);
  await page.getByRole("button", { name: "Copy as my own rule" }).click();
  await hasValue(dialog(page).getByLabel("Id", { exact: true }), "own-alcohol");
  await dialog(page).getByText("Your rule decides where tills ask for “own-alcohol”. Where they ask for “alcohol”, the global rule still decides").waitFor();
  await dialog(page).getByLabel("Id", { exact: true }).fill("");
  await dialog(page).getByText("Your rule decides where tills ask for its own id.").waitFor();
  await dialog(page).getByLabel("Id", { exact: true }).fill("alcohol");
  await pressButton(dialog(page), "Review");
  await dialog(page).getByText("The global rule has the id “alcohol”, so your rule needs another one.").waitFor();
  assert.equal(await dialog(page).getByText(/still decides|This id exists/).count(), 0, "nothing else is said of it");
  await dialog(page).getByLabel("Id", { exact: true }).fill("own-alcohol");
  await save(page);
  await page.getByText("Saved. The change is in force.").waitFor();
  const stored = await (await on.host.api("GET", "/api/v1/entity-conditions/own-alcohol")).json();
  assert.deepEqual([stored.scope, stored.condition_value], ["TENANT", { minimum_age: 20 }]);
  const global = await (await on.host.api("GET", "/api/v1/entity-conditions/alcohol")).json();
  assert.deepEqual([global.scope, global.condition_value], ["GLOBAL", { minimum_age: 18 }]);
  await on.host.api("DELETE", "/api/v1/entity-conditions/own-alcohol");
}));

describe("nothing that was typed is lost silently", () => {
  const age = (page) => page.getByLabel("Minimum age");

  test("a draft survives other conditions and other views", () => visit(on, "#/preview/condition/energy-drink", async (page) => {
    await draft(page, "17");
    await pick(page.getByLabel("Condition", { exact: true }), "alcohol");
    await agrees(page);
    await pick(page.getByLabel("Condition", { exact: true }), "energy-drink (draft)");
    await page.getByText("If you saved this:").waitFor();
    await hasValue(age(page), "17");
    await page.getByRole("link", { name: "Conditions" }).click();
    await page.getByText("Draft", { exact: true }).waitFor();
    await page.getByRole("link", { name: "Rates" }).click();
    await page.getByRole("heading", { name: "Rates", level: 1 }).waitFor();
    await page.getByRole("link", { name: "Preview", exact: true }).click();
    await page.getByText("If you saved this:").waitFor();
    await hasValue(age(page), "17");
    await page.getByRole("button", { name: "Discard" }).click();
  }));

  test("Escape keeps what was typed in a dialog, and Cancel asks", () => visit(on, "#/projects", async (page) => {
    await page.getByRole("button", { name: "New project" }).click();
    await dialog(page).getByLabel("Name").fill("Half a project");
    await page.keyboard.press("Escape");
    await page.getByText("What you entered is kept as a draft.").waitFor();
    await page.getByRole("button", { name: "New project (draft)", exact: true }).waitFor();
    await page.getByRole("link", { name: "Conditions" }).click();
    await page.getByRole("link", { name: "Projects" }).click();
    await page.getByRole("button", { name: "New project" }).click();
    await dialog(page).getByText("This is your unsaved draft.").waitFor();
    await hasValue(dialog(page).getByLabel("Name"), "Half a project");
    await dialog(page).getByRole("button", { name: "Cancel" }).click();
    await dialog(page).getByRole("button", { name: "Discard" }).click();
    await dialog(page).first().waitFor({ state: "detached" });
    await page.getByRole("button", { name: "New project" }).click();
    await hasValue(dialog(page).getByLabel("Name"), "");
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "New project", exact: true }).waitFor();
  }));

  test("a basket survives switching, and other views", () => visit(on, "#/preview/basket", async (page) => {
    // The host is also asked about a line without an id.
    expected(page, 400);
    await page.getByLabel("Item id").first().fill("salt");
    await pressButton(page, "Add a line");
    await page.getByLabel("Item id").last().fill("pepper");
    await page.getByRole("radio", { name: "A condition" }).check();
    await page.getByRole("radio", { name: "A basket" }).check();
    const ids = () => page.getByLabel("Item id").evaluateAll((inputs) => inputs.map(({ value }) => value));
    const kept = () => eventually(async () => assert.deepEqual(await ids(), ["salt", "beer-0.5l", "cigars-10", "pepper"]));
    await kept();
    await page.getByRole("link", { name: "Projects" }).click();
    await page.getByRole("heading", { name: "Projects", level: 1 }).waitFor();
    await page.getByRole("link", { name: "Preview", exact: true }).click();
    await page.getByText("Lines").waitFor();
    await kept();
  }));

  test("the session's end keeps a form that was open, and nothing of it is stored", async () => {
    const client = await clientWith(on.host, ["ecs.editor", "ecs.evaluator"]);
    const page = await signedIn(on.context, client, "#/conditions");
    await page.getByRole("button", { name: "Edit energy-drink" }).click();
    await dialog(page).getByLabel("Minimum age").fill("19");
    await on.host.api("PUT", `/v1/tenants/demo/clients/${client.clientId}/revoke`);
    await page.getByText("Your session has expired. Sign in again. Your drafts are kept.").waitFor();
    await hasCount(page.locator("body").getByText("energy-drink"), 0, "nor is it said to a screen reader");
    assert.equal(await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])), '[{},{},""]');
    await page.evaluate(() => (location.hash = "#/projects"));
    await signIn(page, on.host);
    await page.getByRole("heading", { level: 1, name: "Projects" }).waitFor();
    await page.getByText("Your drafts are still here: energy-drink.").getByRole("link").click();
    await page.locator(".rows > li").first().filter({ hasText: "energy-drink" }).getByText("Draft", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Edit energy-drink" }).click();
    await hasValue(dialog(page).getByLabel("Minimum age"), "19");
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Sign out" }).click();
    await dialog(page).getByText("Sign out and discard 1 draft?").waitFor();
    await dialog(page).getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("Client id").waitFor();
    await page.close();
  });

  test("leaving the page asks while there is a draft", () => visit(on, "#/preview/condition/energy-drink", async (page) => {
    await draft(page, "17");
    const asked = page.waitForEvent("dialog");
    const left = page.close({ runBeforeUnload: true });
    const question = await asked;
    assert.equal(question.type(), "beforeunload");
    await question.dismiss();
    await left;
    await hasValue(age(page), "17");
  }));
});

describe("a change of a project is tried in Preview", () => {
  const ID = "5f0f1a2b-0000-4000-8000-000000000043";
  const stored = { name: "Kiosk", restrictions: [{ type: "WHITELIST", propertyName: "group", allowedValues: ["paper", "drinks"], exclusive: false }] };
  const put = async (body) => assert.ok((await on.host.api("PUT", `/api/v1/projects/${ID}`, body)).status < 300);
  const tried = async (page, values) => {
    await page.getByText("Try a change", { exact: true }).click();
    await page.getByLabel("Values, one per line").first().fill(values);
    await page.getByText("If you saved this:", { exact: true }).waitFor();
  };
  const addressOf = (properties) => `#/preview/project/${ID}?properties=${encodeURIComponent(JSON.stringify(properties))}`;

  test("decides beside today's rule, says what it would change for a list of items, and is saved after its review", async () => {
    await put(stored);
    await visit(on, addressOf({ group: "toys" }), async (page) => {
      await agrees(page);
      await page.getByRole("textbox", { name: "Item id" }).waitFor({ state: "hidden" });
      await tried(page, "paper\ntoys");
      await shown(decision(page), "May be sold");
      await page.getByText("Today: Must not be sold.").waitFor();
      await page.getByText("Draft, decided in this page").waitFor();
      await hasCount(page.getByRole("button", { name: "Keep this as a test" }), 0);
      await hasValue(page.getByLabel("Project", { exact: true }), "Kiosk (draft)");
      await page.getByText("What would change?").click();
      await page.getByText("An item with group", { exact: false }).first().waitFor();
      await page.getByLabel("Paste a list").fill("id\tgroup\nnotepad\tpaper\ncola\tdrinks\nball\ttoys");
      await page.getByText("The decision changes for 2 of 3 lines.").waitFor();
      const { name, text } = await downloaded(page, () => page.getByRole("button", { name: "Download as CSV" }).click());
      assert.equal(name, "list-what-changes.tsv");
      assert.equal(text, "\ufeffid\tgroup\ttoday\tthen\r\ncola\tdrinks\tsold\trefused\r\nball\ttoys\trefused\tsold\r\n");
      await page.getByRole("button", { name: "Add a rule" }).click();
      await shown(decision(page), "Cannot be decided yet");
      await page.getByLabel("Type of rule").last().selectOption("BLACKLISTEDITEMS");
      await page.getByLabel("Item ids, one per line").fill("ball");
      await page.getByRole("textbox", { name: "Item id", exact: true }).fill("ball");
      await shown(decision(page), "Must not be sold");
      await page.getByRole("button", { name: "See the rule" }).click();
      assert.equal(await page.evaluate(() => document.activeElement.value), "BLACKLISTEDITEMS");
      await page.getByRole("button", { name: "Save this project…" }).click();
      await dialog(page).getByRole("button", { name: "Cancel" }).click();
      await page.getByText("If you saved this:", { exact: true }).waitFor();
      await page.getByRole("button", { name: "Save this project…" }).click();
      await save(page);
      await agrees(page);
      await hasValue(page.getByLabel("Project", { exact: true }), "Kiosk");
    });
    const { restrictions } = await (await on.host.api("GET", `/api/v1/projects/${ID}/restrictions`)).json();
    assert.deepEqual(restrictions, [
      { type: "WHITELIST", propertyName: "group", allowedValues: ["paper", "toys"], exclusive: false },
      { type: "BLACKLISTEDITEMS", itemIds: ["ball"], exclusive: false },
    ]);
  });

  test("is in the address, to share, and is discarded, by the keyboard alone", async () => {
    await put(stored);
    await visit(on, addressOf({ group: "toys" }), async (page) => {
      await agrees(page);
      await tabTo(page, "Try a change");
      await page.keyboard.press("Enter");
      await tabTo(page, "Values, one per line");
      await page.keyboard.press("Control+A");
      await page.keyboard.type("toys");
      await page.getByText("If you saved this:", { exact: true }).waitFor();
      const hash = () => page.evaluate(() => location.hash);
      await until(async () => (await hash()).includes("projectDraft"), "the address has the draft");
      const other = await signedIn(on.context, on.host, await hash());
      await other.getByText("If you saved this:", { exact: true }).waitFor();
      await shown(decision(other), "May be sold");
      await hasValue(other.getByLabel("Values, one per line"), "toys");
      await other.close();
      await tabTo(page, "Discard");
      await page.keyboard.press("Enter");
      await hasValue(page.getByLabel("Values, one per line"), "paper\ndrinks");
      await shown(decision(page), "Must not be sold");
      await agrees(page);
    });
    const odd = { restrictions: [{ type: "WHITELIST", propertyName: { a: 1 } }] };
    for (const [of, given] of [[`/${ID}`, odd], ["", { restrictions: [] }]]) {
      await visit(on, `#/preview/project${of}?projectDraft=${encodeURIComponent(JSON.stringify(given))}`, agrees);
    }
  });

  test("and a condition's draft says there what it would change", () => visit(on, "#/preview/condition/energy-drink", async (page) => {
    await draft(page, "16");
    await page.getByText("What would change?").click();
    await page.getByText("A 15-year-old may buy it today, but no longer could.").waitFor();
    await page.getByText("For a list of items or customers").waitFor();
    await page.getByRole("button", { name: "Discard" }).click();
    await page.getByText("What would change?").waitFor({ state: "hidden" });
  }));
});

test("what Preview shows is in its address, to share", () => visit(on, "#/preview/condition/tobacco", async (page) => {
  await hasCount(page.getByLabel("Item id"), 0, "no condition asks which item it is");
  await page.getByRole("radio", { name: "Has these" }).check();
  await page.getByRole("checkbox", { name: "pesticide" }).check();
  await shown(decision(page), "Must not be sold");
  const address = async (part) => {
    const hash = () => page.evaluate(() => location.hash);
    await until(async () => (await hash()).includes(part), `the address has ${part}`);
    return hash();
  };
  const other = await signedIn(on.context, on.host, await address("pesticide"));
  await shown(decision(other), "Must not be sold");
  await other.getByRole("checkbox", { name: "pesticide", checked: true }).waitFor();
  await other.close();

  await page.getByRole("radio", { name: "A basket" }).check();
  await hasValue(page.getByLabel("Item id").first(), "bread", "the basket is shown");
  await page.getByLabel("Item id").first().fill("rye");
  await page.getByLabel("Customer’s age", { exact: true }).fill("77");
  const basket = await signedIn(on.context, on.host, await address("age=77"));
  await hasValue(basket.getByLabel("Item id").first(), "rye", "the basket is as in the address");
  await hasValue(basket.getByLabel("Customer’s age", { exact: true }), "77");
  await basket.close();

  const shared = await signedIn(on.context, on.host, `#/preview/condition/energy-drink?age=16&draft=${encodeURIComponent(JSON.stringify({ id: "energy-drink", rule: "AGE_RESTRICTION", enabled: true, condition_value: { minimum_age: 18 } }))}`);
  await shared.getByText("If you saved this:").waitFor();
  await shown(decision(shared), "Must not be sold");
  await shared.close();

  for (const hash of ["#/preview/basket?lines=[{\"id\":7}]&licenses={}", "#/preview/condition/%E0%A4%A?draft={\"rule\":1}&age=x", "#/preview/project/x?properties={\"a\":{}}"]) {
    const odd = await signedIn(on.context, on.host, hash);
    await decision(odd).or(odd.getByText("Nothing is decided here.")).waitFor();
    assert.deepEqual(odd.faults, [], hash);
    await odd.close();
  }
}));
