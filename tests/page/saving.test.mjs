// Saving rules: what a save changes, two people who change the same thing, existing ids, and faults at their fields.
//
//     cargo build && node --test tests/page/saving.test.mjs     TESTS_LONG=1 keeps screenshots in tests/output/

import assert from "node:assert/strict";
import { before, describe, test } from "node:test";

import { OUTPUT, signedIn } from "../support/browser.mjs";
import { decision, dialog, expected, hasCount, hasValue, onDemo, pick, pressButton, save, shown, visit } from "../support/page.mjs";
import { clientWith, emptyHost } from "../support/program.mjs";
import { eventually } from "../support/wait.mjs";

const ODD = "5f0f1a2b-0000-4000-8000-000000000001";

const on = onDemo();

/** Puts something new, 201, or replaces something, 200. */
const put = async (status, path, body) => assert.equal((await on.host.api("PUT", path, body)).status, status, path);
const project = (id) => `/api/v1/projects/${id}`;
const condition = (id) => `/api/v1/entity-conditions/${id}`;
const stored = async (path) => (await on.host.api("GET", path)).json();
const review = (page) => pressButton(dialog(page), "Review");

/** Counts the writing requests of a page. */
const writes = (page) => {
  const seen = [];
  page.on("request", (request) => ["PUT", "DELETE"].includes(request.method()) && seen.push(request.url()));
  return seen;
};

describe("values stay as they are", () => {
  const body = {
    name: " Two  spaces ",
    restrictions: [
      { type: "WHITELIST", propertyName: " grade ", allowedValues: [true, " padded ", "two\nlines", "plain", "", "plain"], exclusive: true },
      { type: "BLACKLISTEDITEMS", itemIds: ["b ", "a"], exclusive: false },
    ],
  };
  before(() => put(201, project(ODD), body));

  test("reviewing an unchanged project finds nothing to save", () => visit(on, "#/projects", async (page) => {
    const sent = writes(page);
    await page.getByText("and 2 more (checked separately)").waitFor();
    await page.getByRole("button", { name: "Edit Two spaces" }).click();
    await review(page);
    await dialog(page).getByText("You have not changed anything.").waitFor();
    assert.deepEqual(sent, []);
  }));

  test("changing one thing keeps spaces and line breaks everywhere else", () => visit(on, "#/projects", async (page) => {
    await page.getByRole("button", { name: "Edit Two spaces" }).click();
    await dialog(page).getByText("2 values with a space").or(dialog(page).getByText("1 value with a space at the beginning or end: “ padded ”.")).first().waitFor();
    await dialog(page).getByText("“two↵lines”").first().waitFor();
    await dialog(page).getByLabel("Values, one per line").first().press("Control+End");
    await page.keyboard.insertText("\nnew");
    await review(page);
    await dialog(page).getByText("added: new").waitFor();
    await hasCount(dialog(page).getByText(/removed: /), 0, "nothing is removed");
    await pressButton(dialog(page), "Save");
    await page.getByText("Saved. The change is in force.").waitFor();
    const { name, restrictions } = await stored(project(ODD));
    assert.equal(name, body.name);
    assert.equal(restrictions[0].propertyName, " grade ");
    assert.deepEqual(new Set(restrictions[0].allowedValues), new Set([true, " padded ", "two\nlines", "plain", "", "new"]));
    assert.equal(restrictions[0].exclusive, true);
    assert.deepEqual(restrictions[1], body.restrictions[1]);
    await on.host.api("DELETE", project(ODD));
  }));

  test("a rule without values warns, and one that is checked separately is reviewed as such", () => visit(on, "#/projects", async (page) => {
    await page.getByRole("button", { name: "New project" }).click();
    await dialog(page).getByRole("button", { name: "Add a rule" }).click();
    await dialog(page).getByText("This rule has no values: with it alone, nothing may be bought.").waitFor();
    await dialog(page).getByLabel("Type of rule").selectOption("A property must not be one of");
    await dialog(page).getByText("This rule has no values: it forbids nothing.").waitFor();
    await dialog(page).getByLabel("Values, one per line").fill("x");
    await dialog(page).getByText("This rule has no values").waitFor({ state: "detached" });
    await dialog(page).getByLabel("Property").fill("size");
    await dialog(page).getByLabel("Check this rule separately from others of the same kind").check();
    await review(page);
    await dialog(page).getByText("Rule, checked separately: size must not be one of").waitFor();
  }));
});

describe("two people change the same thing", () => {
  const id = "5f0f1a2b-0000-4000-8000-000000000002";
  const rule = (values) => ({ name: "Shared", restrictions: [{ type: "WHITELIST", propertyName: "group", allowedValues: values, exclusive: false }] });

  test("what was added and removed on each side is shown, and what is shown is what is saved", () => visit(on, "#/projects", async (page) => {
    await put(201, project(id), rule(["timber", "glass"]));
    await page.getByRole("button", { name: "Edit Shared" }).click();
    await dialog(page).getByLabel("Values, one per line").fill("timber\nglass\nsteel");
    await put(200, project(id), rule(["timber", "paint"]));
    await save(page);
    const theirs = dialog(page).locator(".side").filter({ hasText: "Their changes" });
    const mine = dialog(page).locator(".side").filter({ hasText: "Changes if you save yours now" });
    await theirs.waitFor();
    const has = (side, changes) => eventually(async () => assert.deepEqual(await side.locator("ins, del").allTextContents(), changes));
    await has(theirs, ["−removed: glass", "+added: paint"]);
    await has(mine, ["−removed: paint", "+added: glass", "+added: steel"]);
    // The form cannot deviate from what is shown.
    await dialog(page).getByLabel("Values, one per line").waitFor({ state: "hidden" });
    await page.screenshot({ path: `${OUTPUT}collision.png` });
    await dialog(page).getByRole("button", { name: "Save mine instead" }).click();
    await page.getByText("Saved. The change is in force.").waitFor();
    assert.deepEqual((await stored(project(id))).restrictions[0].allowedValues, ["timber", "glass", "steel"]);
    expected(page, 412);
  }));

  test("the form says at once that another user has saved or deleted it, and shows the difference", () => visit(on, "#/projects", async (page) => {
    const watched = "5f0f1a2b-0000-4000-8000-000000000003";
    const values = dialog(page).getByLabel("Values, one per line");
    await put(201, project(watched), { ...rule(["timber"]), name: "Watched" });
    await page.getByRole("button", { name: "Edit Watched" }).click();
    await values.fill("timber\nsteel");
    await put(200, project(watched), { ...rule(["timber", "paint"]), name: "Watched" });
    await dialog(page).getByRole("status").getByText("tillgate-demo 1 has just saved this. What you entered is still here.").waitFor();
    await hasValue(values, "timber\nsteel", "what was typed stays");
    await page.screenshot({ path: `${OUTPUT}collision-at-once.png` });
    await dialog(page).getByRole("button", { name: "See the difference" }).click();
    await dialog(page).locator(".side").filter({ hasText: "Their changes" }).getByText("added: paint").waitFor();
    await dialog(page).locator(".side").filter({ hasText: "Changes if you save yours now" }).getByText("removed: paint").waitFor();
    await hasCount(dialog(page).getByRole("button", { name: "See the difference" }), 0);
    await dialog(page).getByRole("button", { name: "Change mine" }).click();
    await hasValue(values, "timber\nsteel");
    await on.host.api("DELETE", project(watched));
    await dialog(page).getByText("tillgate-demo 1 has just deleted this. What you entered is still here.").waitFor();
    await dialog(page).getByRole("button", { name: "See the difference" }).click();
    await dialog(page).getByRole("button", { name: "Leave it deleted" }).click();
    await dialog(page).waitFor({ state: "detached" });
    expected(page, 404);
  }));

  test("mine can be changed again, against theirs", () => visit(on, "#/conditions", async (page) => {
    await put(200, condition("energy-drink"), { rule: "AGE_RESTRICTION", condition_value: { minimum_age: 15 } });
    await page.getByRole("button", { name: "Edit energy-drink" }).click();
    await dialog(page).getByLabel("Minimum age").fill("14");
    await put(200, condition("energy-drink"), { rule: "AGE_RESTRICTION", condition_value: { minimum_age: 13 } });
    await save(page);
    await dialog(page).getByRole("button", { name: "Change mine" }).click();
    await dialog(page).getByLabel("Minimum age").fill("16");
    await review(page);
    await dialog(page).getByText("removed: 13").waitFor();
    await dialog(page).getByText("added: 16").waitFor();
    await pressButton(dialog(page), "Save");
    await page.locator(".row").getByText("Customers must be 16 or older").waitFor();
    await put(200, condition("energy-drink"), { rule: "AGE_RESTRICTION", condition_value: { minimum_age: 15 } });
    expected(page, 412);
  }));
});

test("every save is preceded by its difference", () => visit(on, "#/conditions", async (page) => {
  const sent = writes(page);
  await page.getByRole("button", { name: "Edit pesticide" }).click();
  await dialog(page).getByRole("switch", { name: "In force" }).uncheck();
  assert.equal(await dialog(page).getByRole("button", { name: "Save", exact: true }).count(), 0);
  await review(page);
  await dialog(page).getByText("What changes", { exact: true }).waitFor();
  await dialog(page).getByText("removed: yes").waitFor();
  await dialog(page).getByText("added: no").waitFor();
  assert.deepEqual(sent, []);
  await dialog(page).getByRole("button", { name: "Back" }).click();
  await dialog(page).getByRole("switch", { name: "In force" }).waitFor();
}));

describe("an id that exists", () => {
  test("is opened, not overwritten", () => visit(on, "#/conditions", async (page) => {
    const sent = writes(page);
    await page.getByRole("button", { name: "New condition" }).click();
    await dialog(page).getByLabel("Id", { exact: true }).fill("energy-drink");
    await review(page);
    await dialog(page).getByText("This id exists: open it").waitFor();
    await pressButton(dialog(page), "open it");
    await dialog(page).getByRole("heading", { name: "Edit energy-drink" }).waitFor();
    await hasValue(dialog(page).getByLabel("Minimum age"), "15");
    assert.deepEqual(sent, []);
  }));

  test("is found out by the host too, when somebody was faster", () => visit(on, "#/conditions", async (page) => {
    await page.getByRole("button", { name: "New condition" }).click();
    await dialog(page).getByLabel("Id", { exact: true }).fill("faster");
    await review(page);
    // A hidden page receives no changes.
    await page.evaluate(() => {
      Object.defineProperty(document, "hidden", { value: true, configurable: true });
      document.dispatchEvent(new Event("visibilitychange"));
    });
    await put(201, condition("faster"), { rule: "AGE_RESTRICTION", condition_value: { minimum_age: 30 } });
    await pressButton(dialog(page), "Save");
    await dialog(page).getByText("This id exists: open it").waitFor();
    assert.equal(await dialog(page).getByText("Save mine").count(), 0);
    assert.deepEqual((await stored(condition("faster"))).condition_value, { minimum_age: 30 });
    await on.host.api("DELETE", condition("faster"));
    expected(page, 412);
  }));

  test("that is global is shown in Preview", () => visit(on, "#/conditions", async (page) => {
    await page.getByRole("button", { name: "New condition" }).click();
    await dialog(page).getByLabel("Id", { exact: true }).fill("alcohol");
    await review(page);
    await pressButton(dialog(page), "open it");
    await page.getByText("A global rule.").waitFor();
    await hasValue(page.getByLabel("Condition", { exact: true }), "alcohol");
  }));
});

describe("faults stand at their fields, in words of a shop", () => {
  const NOT_SAID = /\$\.|null|byte|JSON|restrictions\[|string/;

  test("of a condition that is tried out", () => visit(on, "", async (page) => {
    await pick(page.getByLabel("Condition", { exact: true }), "A new condition…");
    await page.getByLabel("Id", { exact: true }).fill("no spaces");
    const says = (label, fault) =>
      eventually(async () => {
        const ids = await page.getByLabel(label, { exact: true }).getAttribute("aria-describedby");
        assert.equal(await page.locator(`#${ids.split(" ").at(-1)}`).innerText(), fault);
      });
    await says("Id", "The id may hold letters, digits, . _ : and -");
    await page.getByLabel("Id", { exact: true }).fill("x".repeat(65));
    await says("Id", "The id may have at most 64 characters.");
    await page.getByLabel("Id", { exact: true }).fill("knives");
    await page.getByLabel("Minimum age").fill("");
    await says("Minimum age", "Enter a whole number from 0 to 150.");
    await shown(decision(page), "Cannot be decided yet");
    assert.doesNotMatch(await page.locator("main").innerText(), NOT_SAID);
    await page.getByLabel("Minimum age").fill("18");
    await page.getByLabel("Customer’s age", { exact: true }).fill("200");
    await says("Customer’s age", "Enter a whole number from 0 to 150.");
    await page.getByRole("radio", { name: "A project" }).check();
    await page.getByLabel("Item id").fill("");
    await says("Item id", "Enter an item id of at most 256 characters.");
    assert.doesNotMatch(await page.locator("main").innerText(), NOT_SAID);
  }));

  test("of a project", () => visit(on, "#/projects", async (page) => {
    await page.getByRole("button", { name: "New project" }).click();
    await dialog(page).getByLabel("Name").fill("n".repeat(300));
    await pressButton(dialog(page), "Add a rule");
    await dialog(page).getByLabel("Values, one per line").fill("v".repeat(300));
    await review(page);
    for (const text of ["The name may have at most 256 characters.", "Enter the name of the property.", "A value is too long."]) await dialog(page).getByText(text).waitFor();
    await dialog(page).getByLabel("Property").fill("p".repeat(300));
    await review(page);
    await dialog(page).getByText("The name of the property is too long.").waitFor();
    assert.doesNotMatch(await dialog(page).innerText(), NOT_SAID);
  }));
});

describe("a tenant without rules", () => {
  test("is guided: three templates, each of which saves", async () => {
    const host = await emptyHost();
    const editor = await clientWith(host, ["ecs.editor", "ecs.evaluator"], "newcomer");
    const page = await signedIn(on.context, editor);
    await page.getByText("There are no rules yet").waitFor();
    await page.screenshot({ path: `${OUTPUT}guide.png` });
    assert.equal(await page.getByText("Cannot be decided yet").count(), 0);
    await page.getByRole("button", { name: "Alcohol at 18" }).click();
    await save(page);
    await shown(decision(page), "Must not be sold");
    await page.getByRole("link", { name: "Conditions" }).click();
    await page.getByRole("heading", { name: "alcohol" }).waitFor();
    await page.getByRole("link", { name: "Projects" }).click();
    await page.getByText("No projects yet").waitFor();
    await page.getByRole("button", { name: "A project with product groups" }).click();
    await save(page);
    await page.getByText("productGroup must be timber or fasteners or insulation").waitFor();
    await editor.api("DELETE", condition("alcohol"));
    await page.getByRole("link", { name: "Conditions" }).click();
    await page.getByRole("button", { name: "Tobacco license" }).click();
    await save(page);
    await page.locator(".row").getByText("Customers need the license “tobacco”").waitFor();
    assert.deepEqual(page.faults, []);
    await page.close();
    await host.end();
  });

  test("can try a rule without saving it", async () => {
    const host = await emptyHost();
    const page = await signedIn(on.context, host);
    await page.getByRole("button", { name: "Try a rule without saving it" }).click();
    await page.locator("summary").getByText("New rule").waitFor();
    await shown(decision(page), "Must not be sold");
    await page.getByRole("radio", { name: "A project" }).check();
    await page.getByText("There are no projects yet.").waitFor();
    await page.getByRole("radio", { name: "A basket" }).check();
    await shown(decision(page), "Sell the basket");
    assert.deepEqual(page.faults, []);
    await page.close();
    await host.end();
  });
});
