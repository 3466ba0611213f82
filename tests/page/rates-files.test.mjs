// Imports into the Rates view: tables of business units, and files of the European Central Bank. A real Chromium against the
// real program.
//
//     cargo build && node --test tests/page/rates-files.test.mjs

import assert from "node:assert/strict";
import { test } from "node:test";

import { looksRight } from "../support/looks.mjs";
import { dialog, expected, hasCount, hasFocus, hasValue, onDemo, pressButton, tabTo, visit } from "../support/page.mjs";
import { eventually } from "../support/wait.mjs";

const unit = (id) => `/api/v1/business-units/${id}`;

/** Two groups with shops, one of which has its own rate. */
const on = onDemo(async (host) => {
  const put = async (path, body) => assert.equal((await host.api("PUT", path, body)).status, 201, path);
  const set = (id, currencyIdFrom, rateValue) => put(`${unit(id)}/exchange-rates/SALES/${currencyIdFrom}/EUR`, { rateValue });
  await put(unit("PL"), { type: "GROUP", name: "Poland", parentId: "nordic-retail" });
  for (const id of ["PL-001", "PL-002"]) await put(unit(id), { type: "STORE", parentId: "PL" });
  await set("PL", "PLN", 4.25);
  await set("PL", "CZK", 24.1);
  await set("PL-002", "PLN", 4.4);
  await put(unit("EE"), { type: "GROUP", name: "Estonia", parentId: "nordic-retail" });
  await put(unit("EE-001"), { type: "STORE", parentId: "EE", name: "Tallinn" });
  await put(unit("EE-002"), { type: "STORE", parentId: "EE", name: "متجر تارتو" });
  await set("EE", "SEK", 11);
  await set("EE-002", "SEK", 11.3);
});

const press = (page, name) => pressButton(dialog(page).last(), name);
/** The daily rates as the bank publishes them. */
const daily = (date, quotes) => {
  const cubes = Object.entries(quotes).map(([currency, rate]) => `<Cube currency='${currency}' rate='${rate}'/>`);
  return `<?xml version="1.0" encoding="UTF-8"?>\n<Envelope><Cube>\n<Cube time='${date}'>\n${cubes.join("\n")}\n</Cube></Cube></Envelope>`;
};
const named = (name, text) => ({ name, mimeType: "", buffer: Buffer.from(text, "latin1") });
const read = async (path) => (await on.host.api("GET", path)).json();

test("a table of units is corrected row by row, created after the units above them, and sent again without doubling", () => visit(on, "#/rates", async (page) => {
  await page.getByRole("button", { name: "Paste units" }).click();
  const rows = dialog(page).getByLabel("Rows", { exact: true });
  const good = ["Kind;Id;Name;Below;Markup", "Shop;PT-001;Lisboa, Baixa;PT;2,5", "group;PT;Portugal;nordic-retail;", "Shop;PT-002;;PT;", "Shop;SE-001;Stockholm City;SE;"];
  const wrong = ["Kiosk;PT-003;;PT;", "Shop;PT 4;;PT;", "Shop;PT-005;;nowhere;", "Shop;PT-006;;SE-001;", "Company;PT-007;;PT;", "Group;PT-008;;PT-009;", "Group;PT-009;;PT-008;", "Shop;PT-001;;PT;", "Shop;PT-010;;PT;100"];
  await rows.fill([...good, ...wrong].join("\r\n"));
  const faults = [
    "“Kiosk” is not a kind. Use company, group or shop.",
    "“PT 4” is not an id: use 1 to 128 letters, digits and _ . : -",
    "There is no unit “nowhere”, neither here nor in another row.",
    "“SE-001” is a shop, and nothing can be below a shop.",
    "A company has no unit above it: leave that cell empty.",
    "Row 2 has the same id.",
    "“100” is not a markup. Use a number from 0 to less than 100.",
  ];
  for (const fault of faults) await dialog(page).getByText(fault).waitFor();
  await dialog(page).getByText("The units above it lead back to it.").nth(1).waitFor();
  await press(page, "Review");
  await dialog(page).getByText(/^Correct the \d+ rows that are marked, or remove them\.$/).waitFor();
  await looksRight(page, "rates-paste-units");

  // The demo's shop is a different one: the table names it, and nothing is created until that is corrected.
  const existing = await read(unit("SE-001"));
  await rows.fill(good.join("\n"));
  await dialog(page).getByText(`Shop “Stockholm City”`).or(dialog(page).getByText("Another business unit has this id.")).waitFor();
  const same = [...good.slice(0, 4), `Shop;SE-001;${existing.name};${existing.parentId};${existing.markupPercentage ?? ""}`].join("\n");
  await rows.fill(same);
  await dialog(page).getByText("4 rows, all readable, 1 already there").waitFor();

  // The host refuses one of them for a while; the others are created, and the rows say why it was not.
  await page.route(`**${unit("PT-002")}`, (route) => (route.request().method() === "PUT" ? route.fulfill({ status: 409, contentType: "application/problem+json", body: JSON.stringify({ statusCode: 409, message: ["the quota of business units is used up"] }) }) : route.fallback()));
  await press(page, "Review");
  await dialog(page).getByText("New: 1 group, 2 shops").waitFor();
  await dialog(page).getByText("1 unit already exists and stays unchanged.").waitFor();
  await press(page, "Create these units");
  await dialog(page).getByText("1 unit of 3 was not created: the rows say why. The others now exist and stay unchanged when you send the rows again.").waitFor();
  await dialog(page).getByText("The quota of business units is used up.").waitFor();
  expected(page, 409);
  await page.unroute(`**${unit("PT-002")}`);
  await press(page, "Review");
  await dialog(page).getByText("New: 1 shop").waitFor();
  await dialog(page).getByText("3 units already exist and stay unchanged.").waitFor();
  let release;
  const held = new Promise((resolve) => (release = resolve));
  await page.route(`**${unit("PT-002")}`, async (route) => {
    await held;
    await route.continue();
  });
  await press(page, "Create these units");
  await dialog(page).getByText("0 of 1 unit").waitFor();
  await press(page, "Cancel");
  await hasCount(dialog(page), 1, "it is neither left nor asked about while units are created");
  await page.keyboard.press("Escape");
  await hasCount(dialog(page), 1);
  release();
  await page.locator("#notices").getByText("The business units were created.").waitFor();

  const lisboa = await read(unit("PT-001"));
  assert.deepEqual([lisboa.type, lisboa.name, lisboa.parentId, lisboa.markupPercentage], ["STORE", "Lisboa, Baixa", "PT", 2.5]);
  assert.deepEqual(await read(unit("SE-001")), existing);
  await page.getByLabel("Search business units").fill("PT-002");
  await page.getByText("1 match").waitFor();

  // Pasting everything again changes nothing.
  await page.getByRole("button", { name: "Paste units" }).click();
  await hasValue(rows, "");
  await rows.fill(same);
  await press(page, "Review");
  await dialog(page).getByText("All of these units already exist.").waitFor();
  await press(page, "Cancel");
  await press(page, "Discard");
  for (const id of ["PT-001", "PT-002", "PT"]) assert.equal((await on.host.api("DELETE", unit(id))).status, 204);
  await eventually(async () => assert.equal(await page.getByRole("dialog").count(), 0));
}));

test("“Load today’s ECB file and say what it changes first”", () => visit(on, "#/rates/PL", async (page) => {
  const [date] = new Date().toISOString().split("T");
  await page.getByRole("button", { name: "Load an ECB file" }).click();
  const file = dialog(page).getByLabel("File", { exact: true });
  await press(page, "Review");
  await dialog(page).getByText("Choose a file first.").waitFor();
  const wrong = [
    [named("rates.xlsx", "PK\x03\x04 [Content_Types].xml"), "This is an Excel workbook. Save it as CSV."],
    [named("page.xml", "<!doctype html><html></html>"), "The file is a web page, not a document of rates."],
    [named("daily.xml", daily(date, { PLN: "x" })), /^Day \S+, PLN: /],
    [named("daily.xml", daily("2099-01-01", { PLN: "4.3" })), "The file is dated 2099-01-01, a day in the future."],
  ];
  for (const [chosen, told] of wrong) {
    await file.setInputFiles(chosen);
    await press(page, "Review");
    await dialog(page).getByText(told).waitFor();
  }
  expected(page, 400);
  await looksRight(page, "rates-file-fault");

  await file.setInputFiles(named("daily.xml", daily(date, { PLN: "4.3125", CZK: "241", USD: "1.15" })));
  await press(page, "Review");
  await dialog(page).getByRole("heading", { name: /^Reference rates of / }).waitFor();
  await dialog(page).getByText("Changes 2 of 2 shops.").waitFor();
  const change = (pair) => dialog(page).locator(".effect-changes li").filter({ hasText: pair });
  await change("Sales: 1 EUR in USD").getByText("after: 1.15 USD").waitFor();
  await change("Sales: 1 EUR in PLN").getByText("before: 4.25 PLN").waitFor();
  // The demo lets rates move by at most 20 %.
  const leftOut = dialog(page).getByRole("region", { name: "Left out" });
  await leftOut.getByText(/^Sales: 1 EUR = 241 CZK instead of 24\.1 \(900(\.0+)? %\)$/).waitFor();
  await looksRight(page, "rates-file-review");
  const before = await read(`${unit("PL")}/exchange-rates`);
  assert.deepEqual(before.map(({ rateValue }) => rateValue), [24.1, 4.25], "nothing is set before it was reviewed");

  // The omitted rates are loaded on demand, after another question.
  await press(page, "Back");
  await dialog(page).getByLabel("Also rates that move further than allowed").check();
  await press(page, "Review");
  await change("1 EUR in CZK").getByText(/^Looks like a slipped decimal point/).waitFor();
  await press(page, "Load these rates");
  await dialog(page).last().getByRole("heading", { name: "Set 1 EUR = 241 CZK?" }).waitFor();
  await press(page, "Cancel");
  await press(page, "Back");
  await dialog(page).getByLabel("Also rates that move further than allowed").uncheck();
  await press(page, "Review");
  await leftOut.waitFor();
  await press(page, "Load these rates");
  await page.locator("#notices").getByText("Loaded. The rates are in force.").waitFor();
  const after = await read(`${unit("PL")}/exchange-rates`);
  assert.deepEqual(after.map(({ currencyIdFrom, rateValue, reference }) => [currencyIdFrom, rateValue, reference?.date]), [["CZK", 24.1, undefined], ["PLN", 4.3125, date], ["USD", 1.15, date]]);

  // Loading the same file again changes nothing, and an earlier one only fills the history.
  await page.getByRole("button", { name: "Load an ECB file" }).click();
  await file.setInputFiles(named("daily.csv", "Date, PLN, USD, \n2 January 2026, 4.2, 1.1, \n"));
  await press(page, "Review");
  await dialog(page).getByText("A newer file was already loaded: its rates stay, and this file only adds history.").waitFor();
  await press(page, "Load these rates");
  await page.getByRole("dialog").waitFor({ state: "detached" });
}));

test("a change of a group’s rate names the shops that keep their own, with the new rate beside it", () => visit(on, "#/rates/EE", async (page) => {
  await page.getByRole("button", { name: "Change Sales, 1 EUR in SEK" }).click();
  await dialog(page).getByLabel("is worth").fill("11.1");
  await press(page, "Review");
  await dialog(page).getByText("Changes 1 of 2 shops; 1 keeps its own rate.").waitFor();
  const keeping = dialog(page).getByRole("region", { name: "The shop that keeps its own rate" });
  await keeping.getByText("Sales: 1 EUR = 11.3 SEK; here 11.1 SEK").waitFor();
  await keeping.getByRole("heading", { name: "متجر تارتو EE-002" }).waitFor();
  await looksRight(page, "rates-keeping");
  await press(page, "Cancel");
  await press(page, "Discard");
}));

test("units are pasted and a file is loaded with the keyboard alone, each with its reason", () => visit(on, "#/rates/EE", async (page) => {
  const enter = async (name) => {
    await tabTo(page, name);
    await page.keyboard.press("Enter");
  };
  const because = async (reason) => {
    await tabTo(page, "Reason (optional)");
    await page.keyboard.type(reason);
  };
  await page.getByRole("button", { name: "Change Sales, 1 EUR in SEK" }).waitFor();
  await enter("Paste units");
  await tabTo(page, "Rows");
  await page.keyboard.type("EE-003;Narva;Shop;EE");
  await enter("Review");
  await dialog(page).getByText("New: 1 shop").waitFor();
  await because("It opens in May");
  const [created] = await Promise.all([page.waitForRequest("**/business-units/EE-003?*"), enter("Create these units")]);
  assert.equal(new URL(created.url()).searchParams.get("note"), "It opens in May");
  await page.locator("#notices").getByText("The business units were created.").waitFor();
  await hasFocus(page, "Paste units");

  await enter("Load an ECB file");
  await tabTo(page, "File");
  const [yesterday] = new Date(Date.now() - 86_400_000).toISOString().split("T");
  // The browser's own dialog chooses a file.
  await dialog(page).getByLabel("File", { exact: true }).setInputFiles(named("daily.xml", daily(yesterday, { SEK: "11.2" })));
  await enter("Review");
  await dialog(page).getByText("Changes 2 of 3 shops; 1 keeps its own rate.").waitFor();
  await because("As the bank has it");
  await enter("Load these rates");
  await page.locator("#notices").getByText("Loaded. The rates are in force.").waitFor();
  await hasFocus(page, "Load an ECB file");
  const history = "/api/v1/exchange-rates/history?businessUnit=EE-003&exchangeRateType=SALES&currencyIdFrom=SEK&currencyIdTo=EUR&limit=1000";
  const reasons = (await read(history)).items.map(({ note }) => note).filter(Boolean);
  assert.deepEqual(reasons, ["As the bank has it"]);
}));
