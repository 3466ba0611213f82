// Five tasks as people say them, each done by the labels and words that they see.
//
//     cargo build && node --test tests/page-tasks.test.mjs

import assert from "node:assert/strict";
import { test } from "node:test";

import { expected, onDemo, pressButton, visit } from "./support/page.mjs";

const on = onDemo();

const stored = async (path) => (await on.host.api("GET", path)).json();

test("“From tomorrow energy drinks need 16 instead of 15.”", () => visit(on, "", async (page) => {
  await page.getByRole("link", { name: "Conditions" }).click();
  await page.getByRole("button", { name: "Edit energy-drink" }).click();
  await page.getByLabel("Minimum age").fill("16");
  await page.getByText("Up to 15: do not sell, from 16: sell.").waitFor();
  await pressButton(page, "Review");
  await page.getByText("removed: 15").waitFor();
  await page.getByText("added: 16").waitFor();
  await pressButton(page, "Save");
  await page.getByText("Saved. The change is in force.").waitFor();
  assert.deepEqual((await stored("/api/v1/entity-conditions/energy-drink")).condition_value, { minimum_age: 16 });
}));

test("“Which rule stops this customer from buying cigars?”", () => visit(on, "", async (page) => {
  await page.getByLabel("A basket").check();
  await page.getByLabel("Customer’s age", { exact: true }).fill("45");
  await page.getByLabel("Has these").check();
  await page.getByRole("region", { name: "Decision about the basket" }).getByText("Remove cigars-10. The customer does not have the license “tobacco”.").waitFor();
  await page.getByRole("link", { name: "Conditions" }).click();
  await page.getByLabel("Filter conditions").fill("tobacco");
  await page.getByText("Customers need the license “tobacco”").waitFor();
  await page.getByText("Global", { exact: true }).waitFor();
}));

test("“The school may buy glass from now on, but no more insulation.”", () => visit(on, "", async (page) => {
  await page.getByRole("link", { name: "Projects" }).click();
  await page.getByRole("button", { name: "Edit School, new building" }).click();
  await page.getByLabel("Values, one per line").first().fill("timber\nfasteners\nglass");
  await pressButton(page, "Review");
  await page.getByText("removed: insulation").waitFor();
  await page.getByText("added: glass").waitFor();
  await pressButton(page, "Save");
  await page.getByText("productGroup must be timber or fasteners or glass").waitFor();
  await page.getByRole("link", { name: "Preview School, new building" }).click();
  await page.getByRole("button", { name: "glass", exact: true }).click();
  await page.getByRole("region", { name: "Decision", exact: true }).getByText("May be sold").waitFor();
}));

test("“Would a 17-year-old still get beer if we asked for 16? Do not change anything yet.”", () => visit(on, "", async (page) => {
  await page.getByRole("region", { name: "Decision", exact: true }).getByText("Must not be sold").waitFor();
  await page.getByText("Try a change", { exact: true }).click();
  await page.getByLabel("Minimum age").fill("16");
  await page.getByText("If you saved this:").waitFor();
  await page.getByText("May be sold", { exact: true }).waitFor();
  await page.getByText("Today: Must not be sold.").waitFor();
  await page.getByRole("button", { name: "Discard" }).click();
  assert.deepEqual((await stored("/api/v1/entity-conditions/alcohol")).condition_value, { minimum_age: 18 });
}));

test("“Stop asking for the pesticide license over the winter.”", () => visit(on, "", async (page) => {
  await page.getByRole("link", { name: "Conditions" }).click();
  await page.getByRole("button", { name: "Edit pesticide" }).click();
  await page.getByLabel("In force").uncheck();
  await pressButton(page, "Review");
  await page.getByText("Customers need the license “pesticide”, but it is switched off.").waitFor();
  await pressButton(page, "Save");
  await page.getByText("Off", { exact: true }).waitFor();
  await page.getByRole("link", { name: "Preview pesticide" }).click();
  await page.getByText("Switched off", { exact: true }).first().waitFor();
  assert.equal((await stored("/api/v1/entity-conditions/pesticide")).enabled, false);
  expected(page, 404);
}));
