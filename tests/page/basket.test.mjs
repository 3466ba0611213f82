// Items and baskets on a project: typed properties, and which questions are asked.
//
//     cargo build && node --test tests/page/basket.test.mjs

import assert from "node:assert/strict";
import { test } from "node:test";

import { agrees, decision, hasCount, hasValue, onDemo, pick, shown, visit } from "../support/page.mjs";
import { eventually } from "../support/wait.mjs";

const ID = "5f0f1a2b-0000-4000-8000-000000000003";

const on = onDemo(async (host) => {
  const restrictions = [
    { type: "WHITELIST", propertyName: "certified", allowedValues: ["FSC", true] },
    { type: "BOOLEAN", propertyName: "organic", value: true },
  ];
  await host.api("PUT", `/api/v1/projects/${ID}`, { name: "Green house", restrictions });
});

const property = (scope, name) => scope.getByRole("group", { name: `Property ${name}` });

/** Waits until the request to the host fits a pattern. */
const asks = async (page, pattern) => {
  const request = page.getByLabel("Request", { exact: true });
  if (!(await request.isVisible())) await page.getByText("Request and response, for developers").click();
  await eventually(async () => assert.match(await request.innerText(), pattern));
};

test("a property offers the rule's own values, and yes is sent as yes and not as a text", () => visit(on, `#/preview/project/${ID}`, async (page) => {
  await shown(decision(page), "Must not be sold");
  const offered = property(page, "certified").getByRole("group", { name: "Values in the rules" }).getByRole("button");
  await eventually(async () => assert.deepEqual(await offered.allInnerTexts(), ["FSC", "yes"]));
  await offered.getByText("yes").click();
  await property(page, "organic").getByLabel("organic", { exact: true }).selectOption("yes");
  await shown(decision(page), "May be sold");
  await agrees(page);
  await asks(page, /"certified": true,\s+"organic": true/);
  await offered.getByText("FSC").click();
  await shown(decision(page), "May be sold");
  await asks(page, /"certified": "FSC"/);
  // The text that looks like the value is another value.
  await property(page, "certified").getByLabel("certified", { exact: true }).fill("true");
  await shown(decision(page), "Must not be sold");
  await agrees(page);
}));

test("the lines of a basket carry texts, booleans and numbers, and the project decides them", () => visit(on, "#/preview/basket", async (page) => {
  await pick(page.getByLabel("Project", { exact: true }), "Green house");
  const lines = page.getByRole("list").filter({ has: page.getByLabel("Item id") }).getByRole("listitem").filter({ has: page.getByLabel("Item id") });
  await hasCount(lines, 3);
  const [bread, beer, cigars] = await lines.all();
  await shown(decision(page), "Remove 3 items");
  for (const line of [bread, beer, cigars]) {
    await property(line, "certified").getByRole("button", { name: "yes" }).click();
    await property(line, "organic").getByLabel("organic", { exact: true }).selectOption("yes");
  }
  await shown(decision(page), "Remove 1 item");
  await bread.getByRole("button", { name: "Add a property" }).click();
  await bread.getByLabel("Property", { exact: true }).fill("weight");
  await bread.getByLabel("Kind of value").last().selectOption("number");
  await bread.getByLabel("Value", { exact: true }).fill("2.5");
  await agrees(page);
  await asks(page, /"weight": 2.5/);
  await property(bread, "organic").getByLabel("organic", { exact: true }).selectOption("no");
  await shown(decision(page), "Remove 2 items");
  await page.getByText(/^Remove bread\./).waitFor();
  await agrees(page);
}));

test("the license to ask for is named, and nothing is asked for an item that is out", () => visit(on, "#/preview/basket", async (page) => {
  const license = page.locator(".results").getByText("Ask for the license “tobacco”.");
  await license.waitFor();
  await page.getByRole("checkbox", { name: "alcohol" }).last().check();
  await page.getByText("Remove cigars-10. The customer is 17 and must be 18: one year short.").waitFor();
  await hasCount(license, 0);
  await page.getByLabel("Customer’s age", { exact: true }).fill("30");
  await license.waitFor();
  await agrees(page);
}));

test("a basket whose project is deleted decides nothing, until another one is chosen", async () => {
  const path = "/api/v1/projects/5f0f1a2b-0000-4000-8000-000000000004";
  await on.host.api("PUT", path, { name: "Old house", restrictions: [{ type: "WHITELISTEDITEMS", itemIds: ["door"] }] });
  await visit(on, "#/preview/basket", async (page) => {
    await pick(page.getByLabel("Project", { exact: true }), "Old house");
    await shown(decision(page), "Remove 3 items");
    await on.host.api("DELETE", path);
    await shown(decision(page), "The project does not exist");
    await hasCount(page.getByText("The host made the same decision").filter({ visible: true }), 0);
    await pick(page.getByLabel("Project", { exact: true }), "none");
    await shown(decision(page), "Remove 1 item");
    await agrees(page);
  });
});

test("the demo's cigars need the license for tobacco", () => visit(on, "#/preview/basket", async (page) => {
  const cigars = page.getByRole("listitem").filter({ has: page.locator("input[aria-label='Item id']") }).last();
  await hasValue(cigars.getByLabel("Item id"), "cigars-10");
  await cigars.getByRole("checkbox", { name: "tobacco", checked: true }).waitFor();
  await cigars.getByRole("checkbox", { name: "pesticide", checked: false }).waitFor();
}));
