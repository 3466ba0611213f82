// Drafts: what Preview shows of a rule that is not saved, and what becomes of what was typed.
//
//     cargo build && node --test tests/page-drafts.test.mjs     screenshots are kept in tests/output/

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";

import { OUTPUT, browser } from "./support/browser.mjs";
import { agrees, decision, dialog, save, shown, visit } from "./support/page.mjs";
import { demo } from "./support/program.mjs";

let on;

before(async () => {
  on = { host: await demo(), context: await browser() };
});

after(async () => {
  await on?.context.close();
  await on?.host.end();
});

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
      await page.getByText("Today: May be sold. No rule forbids it.", { exact: true }).waitFor();
      const card = await page.getByRole("region", { name: "Decision", exact: true }).boundingBox();
      assert.ok(card.y >= 0 && card.y + card.height <= 740, "the decision is in view while the rule is changed");
      await page.screenshot({ path: `${OUTPUT}draft-${width}.png` });
      await page.getByText("Request and response of your draft, for developers").click();
      await page.getByText("No till gets this response").waitFor();
      await page.getByRole("heading", { name: "Response, if you saved this" }).waitFor();
      await page.getByRole("heading", { name: "Decision by the customer’s age, if you saved this" }).waitFor();
      await page.locator(".decision [role=status]").getByText("If you saved this: Must not be sold. The customer is too young for this item. Today: May be sold. No rule forbids it.").waitFor({ state: "attached" });
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
    await page.getByLabel("Condition", { exact: true }).selectOption("A new condition…");
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
  assert.equal(await dialog(page).getByLabel("Id", { exact: true }).inputValue(), "own-alcohol");
  await save(page);
  await page.getByText("Saved. The change is in force.").waitFor();
  const stored = await (await on.host.api("GET", "/api/v1/entity-conditions/own-alcohol")).json();
  assert.deepEqual([stored.scope, stored.condition_value], ["TENANT", { minimum_age: 20 }]);
  const global = await (await on.host.api("GET", "/api/v1/entity-conditions/alcohol")).json();
  assert.deepEqual([global.scope, global.condition_value], ["GLOBAL", { minimum_age: 18 }]);
  await on.host.api("DELETE", "/api/v1/entity-conditions/own-alcohol");
}));
