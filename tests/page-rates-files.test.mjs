// What comes into the Rates view from elsewhere: tables of business units, and files of the European Central Bank. A real
// Chromium against the real program.
//
//     cargo build && node --test tests/page-rates-files.test.mjs

import assert from "node:assert/strict";
import { test } from "node:test";

import { looksRight } from "./support/looks.mjs";
import { dialog, expected, hasValue, onDemo, pressButton, visit } from "./support/page.mjs";
import { eventually } from "./support/wait.mjs";

const on = onDemo();

const unit = (id) => `/api/v1/business-units/${id}`;
const press = (page, name) => pressButton(dialog(page).last(), name);
const read = async (path) => (await on.host.api("GET", path)).json();

test("a table of units is corrected row by row, created after the units above them, and sent again without doubling", () => visit(on, "#/rates", async (page) => {
  await page.getByRole("button", { name: "Paste units" }).click();
  const rows = dialog(page).getByLabel("Rows", { exact: true });
  const good = ["Kind;Id;Name;Below;Markup", "Shop;PT-001;Lisboa, Baixa;PT;2,5", "group;PT;Portugal;nordic-retail;", "Shop;PT-002;;PT;", "Shop;SE-001;Stockholm City;SE;"];
  const wrong = ["Kiosk;PT-003;;PT;", "Shop;PT 4;;PT;", "Shop;PT-005;;nowhere;", "Shop;PT-006;;SE-001;", "Company;PT-007;;PT;", "Group;PT-008;;PT-009;", "Group;PT-009;;PT-008;", "Shop;PT-001;;PT;", "Shop;PT-010;;PT;100"];
  await rows.fill([...good, ...wrong].join("\r\n"));
  const faults = [
    "“Kiosk” is no kind. Use company, group or shop.",
    "“PT 4” is no id: use 1 to 128 letters, digits and _ . : -",
    "There is no unit “nowhere”, neither here nor in another row.",
    "“SE-001” is a shop, and nothing can be below a shop.",
    "A company is below nothing: leave that cell empty.",
    "Row 2 has the same id.",
    "“100” is no markup. Use a number from 0 to less than 100.",
  ];
  for (const fault of faults) await dialog(page).getByText(fault).waitFor();
  await dialog(page).getByText("The units above it lead back to it.").nth(1).waitFor();
  await press(page, "Review");
  await dialog(page).getByText(/^Correct the \d+ rows that are marked, or remove them\.$/).waitFor();
  await looksRight(page, "rates-paste-units");

  // The shop of the demo is another one: it is named, and nothing is created before that is mended.
  const existing = await read(unit("SE-001"));
  await rows.fill(good.join("\n"));
  await dialog(page).getByText(`Shop “Stockholm City”`).or(dialog(page).getByText("Another business unit has this id.")).waitFor();
  const same = [...good.slice(0, 4), `Shop;SE-001;${existing.name};${existing.parentId};${existing.markupPercentage ?? ""}`].join("\n");
  await rows.fill(same);
  await dialog(page).getByText("4 rows, all readable, 1 there already").waitFor();

  // One of them is refused by the host for a while; the others are created, and the rows say why it was not.
  await page.route(`**${unit("PT-002")}`, (route) => (route.request().method() === "PUT" ? route.fulfill({ status: 409, contentType: "application/problem+json", body: JSON.stringify({ statusCode: 409, message: ["the quota of business units is used up"] }) }) : route.fallback()));
  await press(page, "Review");
  await dialog(page).getByText("New: 1 group, 2 shops").waitFor();
  await dialog(page).getByText("1 unit is there already, and stays as it is.").waitFor();
  await press(page, "Create these units");
  await dialog(page).getByText("1 unit of 3 was not created: the rows say why. The others are there, and stay as they are when you send the rows again.").waitFor();
  await dialog(page).getByText("The quota of business units is used up.").waitFor();
  expected(page, 409);
  await page.unroute(`**${unit("PT-002")}`);
  await press(page, "Review");
  await dialog(page).getByText("New: 1 shop").waitFor();
  await dialog(page).getByText("3 units are there already, and stay as they are.").waitFor();
  await press(page, "Create these units");
  await page.locator("#notices").getByText("The business units were created.").waitFor();

  const lisboa = await read(unit("PT-001"));
  assert.deepEqual([lisboa.type, lisboa.name, lisboa.parentId, lisboa.markupPercentage], ["STORE", "Lisboa, Baixa", "PT", 2.5]);
  assert.deepEqual(await read(unit("SE-001")), existing);
  await page.getByLabel("Search business units").fill("PT-002");
  await page.getByText("1 match").waitFor();

  // All of it once more changes nothing.
  await page.getByRole("button", { name: "Paste units" }).click();
  await hasValue(rows, "");
  await rows.fill(same);
  await press(page, "Review");
  await dialog(page).getByText("All of these units are there already.").waitFor();
  await press(page, "Cancel");
  await press(page, "Discard");
  for (const id of ["PT-001", "PT-002", "PT"]) assert.equal((await on.host.api("DELETE", unit(id))).status, 204);
  await eventually(async () => assert.equal(await page.getByRole("dialog").count(), 0));
}));
