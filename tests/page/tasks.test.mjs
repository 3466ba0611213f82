// Tasks in people's words, each done by the labels and words that they see.
//
//     cargo build && node --test tests/page/tasks.test.mjs

import assert from "node:assert/strict";
import { test } from "node:test";

import { expected, onDemo, pressButton, visit } from "../support/page.mjs";
import { clientWith, emptyHost } from "../support/program.mjs";

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
  await page.getByRole("region", { name: "Decision", exact: true }).getByText("May be sold", { exact: true }).waitFor();
}));

test("“Would a 17-year-old still get beer if we asked for 16? Do not change anything yet.”", () => visit(on, "", async (page) => {
  await page.getByRole("region", { name: "Decision", exact: true }).getByText("Must not be sold", { exact: true }).waitFor();
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

test("“Shop SE-003 pays another rate: why, and since when?”", async () => {
  const rates = "/api/v1/business-units/SE-003/exchange-rates";
  const pair = { exchangeRateType: "SALES", currencyIdFrom: "SEK", currencyIdTo: "EUR" };
  const { status } = await on.host.api("POST", `${rates}?acceptDeviation=true&note=The%20station%20is%20dear`, { set: [{ ...pair, rateValue: 11.987 }] });
  assert.equal(status, 200);
  await visit(on, "", async (page) => {
    await page.getByRole("link", { name: "Rates" }).click();
    await page.getByLabel("Search business units").fill("SE-003");
    await page.getByRole("treeitem", { name: /SE-003/ }).click();
    const row = page.getByRole("row").filter({ hasText: "1 EUR = 11.987 SEK" });
    await row.getByText("Set here", { exact: true }).waitFor();
    await row.getByRole("link", { name: /^History of/ }).click();
    const values = page.getByRole("region", { name: "Values, newest first" }).getByRole("row");
    // The reference values below it depend on the day, and one may begin with the same digits.
    const newest = values.filter({ hasText: "The station is dear" });
    await newest.getByText("11.987", { exact: true }).first().waitFor();
    await newest.getByText("tillgate-demo 1", { exact: true }).waitFor();
    await newest.getByText(/^\d{1,2} \w+ \d{4}, \d\d:\d\d:\d\d$/).waitFor();
  });
  await on.host.api("DELETE", `${rates}/SALES/SEK/EUR`);
});

test("“The alcohol rule of the platform changed: when?”", async () => {
  const host = await emptyHost();
  try {
    for (const minimum_age of [18, 20]) await host.api("PUT", "/api/v1/global-entity-conditions/alcohol", { rule: "AGE_RESTRICTION", condition_value: { minimum_age } });
    const shop = await clientWith(host, ["ecs.viewer"], "shop");
    await visit({ host: shop, context: on.context }, "", async (page) => {
      await page.getByRole("link", { name: "Conditions" }).click();
      await page.getByRole("link", { name: "History of alcohol" }).click();
      const change = page.getByRole("dialog").getByRole("listitem").filter({ has: page.getByRole("heading", { name: "The platform changed it" }) });
      await change.getByText(/^\d{1,2} \w+ \d{4}, \d\d:\d\d:\d\d$/).waitFor();
      await change.getByText("removed: 18").waitFor();
      await change.getByText("added: 20").waitFor();
    });
  } finally {
    await host.end();
  }
});

test("“Put back what was changed by mistake this morning.”", async () => {
  const path = "/api/v1/entity-conditions/energy-drink";
  const { condition_value: right } = await stored(path);
  await on.host.api("PUT", path, { rule: "AGE_RESTRICTION", condition_value: { minimum_age: 61 } });
  await visit(on, "", async (page) => {
    await page.getByRole("link", { name: "Conditions" }).click();
    await page.getByText("Customers must be 61 or older").waitFor();
    await page.getByRole("link", { name: "History of energy-drink" }).click();
    await page.getByRole("button", { name: `Restore this: Customers must be ${right.minimum_age} or older` }).click();
    await page.getByText("removed: 61").waitFor();
    await pressButton(page, "Save");
    await page.getByText("Saved. The change is in force.").waitFor();
  });
  assert.deepEqual((await stored(path)).condition_value, right);
});
