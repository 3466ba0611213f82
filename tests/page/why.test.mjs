// Why a decision is as it is, and what would change it: in a sentence with its numbers, with buttons that fill in the form,
// the way to the rule, and the command that asks the host.
//
//     cargo build && node --test tests/page/why.test.mjs     TESTS_LONG=1 keeps screenshots in tests/output/

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { promisify } from "node:util";

import { looksRight, still } from "../support/looks.mjs";
import { PROJECT, agrees, decision, dialog, hasFocus, hasValue, onDemo, pick, shown, tabTo, visit } from "../support/page.mjs";
import { DEADLINE_MS } from "../support/wait.mjs";

const HOUSE = "5f0f1a2b-0000-4000-8000-000000002001";

const on = onDemo(async (host) => {
  const restrictions = [
    { type: "WHITELIST", propertyName: "category", allowedValues: Array.from({ length: 100 }, (_, at) => `group-${at}`) },
    { type: "BLACKLIST", propertyName: "brand", deniedValues: ["acme"] },
    { type: "BOOLEAN", propertyName: "organic", value: true },
  ];
  await host.api("PUT", `/api/v1/projects/${HOUSE}`, { name: "House", restrictions });
});

const why = (page) => page.locator(".decision-why");
const offers = (page, name) => page.getByRole("region", { name: /^Decision/ }).getByRole("button", { name, exact: true });

test("“Why can she not buy cigars, and what would she need?”", () => visit(on, "", async (page) => {
  await page.getByLabel("A basket").check();
  await page.getByRole("checkbox", { name: "alcohol" }).last().check();
  await page.getByText("Remove cigars-10. The customer is 17 and must be 18: one year short.").waitFor();
  await offers(page, "Try with age 18").first().click();
  await shown(decision(page), "Ask first");
  await hasValue(page.getByLabel("Customer’s age", { exact: true }), "18");
  await page.getByText("Ask for the license “tobacco”.").first().waitFor();
  await offers(page, "Try with license tobacco").click();
  await shown(decision(page), "Sell the basket");
  await page.getByRole("group", { name: "Licenses the customer has" }).getByRole("checkbox", { name: "tobacco", checked: true }).waitFor();
  await agrees(page);
}));

test("an age says how many years are missing, and a license which ones there are", () => visit(on, "#/preview/condition/alcohol?age=12", async (page) => {
  await shown(why(page), "alcohol forbids it. The customer is 12 and must be 18: 6 years short.");
  await page.getByLabel("Customer’s age", { exact: true }).fill("");
  await shown(why(page), "alcohol does not allow it yet. Ask for the customer’s age, which must be 18 or more.");
  await offers(page, "Try with age 18").click();
  await shown(why(page), "alcohol allows it.");
  await agrees(page);
  await pick(page.getByLabel("Condition", { exact: true }), "tobacco");
  await page.getByLabel("Has these").check();
  await shown(why(page), "tobacco forbids it. The customer does not have the license “tobacco”.");
  await page.getByLabel("Other licenses").fill("fishing, hunting");
  await shown(why(page), "tobacco forbids it. The customer has the licenses “fishing” and “hunting”, but not “tobacco”.");
  await agrees(page);
  await offers(page, "Try with license tobacco").click();
  await shown(why(page), "tobacco allows it.");
  await hasValue(page.getByLabel("Other licenses"), "fishing, hunting");
  await agrees(page);
}));

test("what is wrong with an item is said by property, and each is put right by a button", () => visit(on, `#/preview/project/${HOUSE}`, async (page) => {
  const wanted = Array.from({ length: 10 }, (_, at) => `group-${at}`).join(", ");
  await page.getByText(`The item has no category, which must be ${wanted} and 90 more.`).waitFor();
  await shown(why(page), "House forbids it. The item has no category, which must be group-0, group-1, group-2, group-3 and 96 more. The item has no organic, which must be yes.");
  await page.getByLabel("category", { exact: true }).fill("paint");
  await page.getByText(`The category paint is not ${wanted} and 90 more.`).waitFor();
  await offers(page, "Try with category group-2").click();
  await hasValue(page.getByLabel("category", { exact: true }), "group-2");
  await page.getByLabel("brand", { exact: true }).fill("acme");
  await page.getByText("The brand must not be acme.").first().waitFor();
  await offers(page, "Try without brand").click();
  await hasValue(page.getByLabel("brand", { exact: true }), "");
  await page.getByLabel("organic", { exact: true }).selectOption("no");
  await shown(why(page), "House forbids it. organic is no, and must be yes.");
  await agrees(page);
  await offers(page, "Try with organic yes").click();
  await shown(decision(page), "May be sold");
  await agrees(page);
}));

test("a text that looks like yes is told from it", () => visit(on, `#/preview/project/${HOUSE}?properties=${encodeURIComponent('{"category":"group-1","organic":"true"}')}`, async (page) => {
  await shown(why(page), "House forbids it. organic is “true” (a text), and must be yes.");
  await offers(page, "Try with organic yes").click();
  await shown(decision(page), "May be sold");
  await agrees(page);
}));

test("the way leads to the rule that denies: from a basket to its preview, from there to its line in the form", () => visit(on, `#/preview/basket?project=${HOUSE}&age=17`, async (page) => {
  await page.getByRole("link", { name: "Rule alcohol" }).click();
  await shown(why(page), "alcohol forbids it. The customer is 17 and must be 18: one year short.");
  await offers(page, "See the rule").click();
  await page.getByLabel("Minimum age").waitFor();
  // The address is up to date then.
  await agrees(page);
  await page.goBack();
  await page.getByRole("link", { name: "Rule organic" }).first().click();
  await shown(decision(page), "Must not be sold");
  const line = page.getByRole("region", { name: "Decision", exact: true }).getByRole("listitem").filter({ hasText: "organic" });
  await line.getByRole("button", { name: "See the rule" }).click();
  await dialog(page).waitFor();
  await hasFocus(page, "Type of rule");
  assert.equal(await page.evaluate(() => document.activeElement.value), "BOOLEAN");
}));

test("a draft says why too, beside why not today", () => visit(on, "#/preview/condition/energy-drink?age=17", async (page) => {
  await page.getByText("Try a change", { exact: true }).click();
  await page.getByLabel("Minimum age").fill("21");
  await shown(why(page), "energy-drink forbids it. The customer is 17 and must be 21: 4 years short.");
  await page.getByText("Today: May be sold. energy-drink allows it.", { exact: true }).waitFor();
  await offers(page, "Try with age 21").click();
  await shown(decision(page), "May be sold");
  await page.getByRole("button", { name: "Discard" }).click();
}));

test("developers see what tills send and get, and the command that asks the host why", () => visit(on, "#/preview/condition/alcohol?age=17&item=it's", async (page) => {
  await agrees(page);
  await page.getByText("Request and response, for developers").click();
  assert.doesNotMatch(await page.getByLabel("Response", { exact: true }).innerText(), /explanation/);
  const command = await page.getByLabel("Ask why with curl").innerText();
  const { stdout } = await promisify(execFile)("bash", ["-c", command], { timeout: DEADLINE_MS, env: { ...process.env, TOKEN: await on.host.token() } });
  const { id, results } = JSON.parse(stdout);
  assert.equal(id, "it's");
  assert.deepEqual(results.map(({ explanation }) => explanation), [{ minimumAge: 18, customerAge: 17 }]);
}));

test("by keyboard alone: the button fills in the form, and the focus stays at the decision", () => visit(on, "#/preview/condition/alcohol?age=17", async (page) => {
  await shown(decision(page), "Must not be sold");
  await tabTo(page, "Try with age 18");
  await page.keyboard.press("Enter");
  await shown(decision(page), "May be sold");
  await hasFocus(page, "Decision");
}));

for (const [name, hash] of [["condition", "#/preview/condition/alcohol?age=17"], ["project", `#/preview/project/${HOUSE}`], ["demo", `#/preview/project/${PROJECT}`], ["basket", `#/preview/basket?project=${HOUSE}&age=17`]]) {
  test(`how it looks: ${name}`, () => visit(on, hash, async (page) => {
    await agrees(page);
    await page.getByText("Request and response, for developers").click();
    await still(page);
    await looksRight(page, `why-${name}`);
  }));
}
