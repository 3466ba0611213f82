// The Rates view as price managers use it: a real Chromium against the real program.
//
//     cargo build && node --test tests/page/rates.test.mjs     TESTS_LONG=1 keeps screenshots in tests/output/

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { OUTPUT, open, signIn, signedIn } from "../support/browser.mjs";
import { looksRight, still } from "../support/looks.mjs";
import { alterAnswers, dialog, downloaded, expected, flashes, hasCount, hasFocus, hasValue, onDemo, pick, pressButton, tabTo, visit } from "../support/page.mjs";
import { clientWith, emptyHost } from "../support/program.mjs";
import { eventually, until } from "../support/wait.mjs";
import { RatesClient } from "../../js/src/runtime/rates.node.js";
import { growthText, readDecimal } from "../../www/rates/decimal.js";
import { doneText } from "../../www/rates/wording.js";

const SEK = "SALES/SEK/EUR";

const on = onDemo();

const unit = (id) => `/api/v1/business-units/${id}`;
const set = (id, key, rateValue, query = "") => {
  const [exchangeRateType, currencyIdFrom, currencyIdTo] = key.split("/");
  return on.host.api("POST", `${unit(id)}/exchange-rates${query}`, { set: [{ exchangeRateType, currencyIdFrom, currencyIdTo, rateValue }] });
};
const unset = (id, key) => on.host.api("DELETE", `${unit(id)}/exchange-rates/${key}`);
const stored = async (id) => (await on.host.api("GET", `${unit(id)}/exchange-rates`)).text();
const used = async (id, key) => {
  const all = await (await on.host.api("GET", `/api/v1/exchange-rates?businessUnit=${id}`)).json();
  return all.find(({ exchangeRateType, currencyIdFrom, currencyIdTo }) => `${exchangeRateType}/${currencyIdFrom}/${currencyIdTo}` === key);
};

const title = (page, name) => page.locator(".unit-title").getByText(name, { exact: true }).waitFor();
/** The row of a pair in the table of a type. */
const row = (page, pair, type = "Sales") => page.getByRole("table", { name: type }).getByRole("row", { name: pair });
const item = (page, name) => page.getByRole("treeitem", { name });
const press = (page, name) => pressButton(dialog(page), name);

/** Fills in the form of a rate and shows its effect. */
async function enter(page, { rate, to }) {
  await dialog(page).getByLabel("is worth").fill(rate);
  if (to) await dialog(page).getByLabel("in", { exact: true }).fill(to);
  await press(page, "Review");
}

describe("decimals", () => {
  test("a comma and a dot both separate decimals, and thousands are recognised only where both occur", () => {
    const typed = { "11,05": "11.05", "11.05": "11.05", "1.234,50": "1234.50", "1,234.5": "1234.5", "1 234,5": "1234.5", "1.105": "1.105", ",5": "0.5", "007": "7", "5.": "5" };
    for (const [text, decimal] of Object.entries(typed)) assert.equal(readDecimal(text), decimal, text);
    for (const text of ["", ",", "eleven", "1.2.3", "12,34.5", "1,234,567", "-1", "1e3", "11.05 SEK"]) assert.equal(readDecimal(text), undefined, text);
  });

  test("a change is told without a float", () => {
    assert.equal(growthText("11", "11.55"), "+5.00 %");
    assert.equal(growthText("11.55", "11"), "−4.76 %");
    assert.equal(growthText("0.1", "0.10"), "unchanged");
    assert.equal(growthText("123456789.123456", "123456789.123457"), "less than 0.01 %");
  });
});

test("what a change has come to is said about shops", () => {
  assert.equal(doneText(12, 0), "Done: 12 shops keep their rates: nothing changed for them.");
  assert.equal(doneText(1, 0), "Done: 1 shop keeps its rates: nothing changed for it.");
  assert.equal(doneText(0, 0), "Done: no shops are affected.");
  assert.equal(doneText(40, 40), "Done: sent to all 40 shops.");
  assert.equal(doneText(1, 1), "Done: sent to the shop.");
  assert.equal(doneText(1040, 1028), "Done: sent to 1,028 of 1,040 shops. The other 12 keep their rates: nothing changed for them.");
  assert.equal(doneText(3, 1, ["SE-2"]), "Done: sent to 1 of 3 shops. The other 1 keeps its rates: nothing changed for it. It failed for 1 shop: SE-2.");
  assert.equal(doneText(5, 0, ["a", "b", "c", "d", "e"]), "Done: it failed for 5 shops: a, b, c and others.");
});

describe("the tree of business units", () => {
  test("a unit is found by its name or id, and its address holds it and the tab", () => visit(on, "#/rates", async (page) => {
    await page.getByText("Choose a business unit").waitFor();
    await page.getByLabel("Search business units").fill("SE-001");
    await page.getByText("1 match").waitFor();
    await page.keyboard.press("Enter");
    await page.waitForURL("**/#/rates/SE-001");
    await page.getByRole("link", { name: "History", exact: true }).click();
    await page.waitForURL("**/#/rates/SE-001/history");
    await page.reload();
    await page.getByRole("slider").waitFor();
    assert.match(page.url(), /#\/rates\/SE-001\/history$/);
  }));

  test("the arrow keys and letters move through the tree, and Enter chooses", () => visit(on, "#/rates", async (page) => {
    await item(page, /^Nordic Retail/).waitFor();
    await page.getByLabel("Search business units").focus();
    await page.keyboard.press("ArrowDown");
    await hasFocus(page, /^Nordic Retail/);
    await page.keyboard.press("s");
    await hasFocus(page, /^Sweden/);
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowRight");
    await hasFocus(page, /^(?!Sweden)/);
    await page.keyboard.press("ArrowLeft");
    await hasFocus(page, /^Sweden/);
    await page.keyboard.press("Enter");
    await title(page, "Sweden SE");
    await hasFocus(page, /^Sweden/, "the focus stays in the tree");
    await page.keyboard.press("ArrowLeft");
    await item(page, /^Sweden/).and(page.locator("[aria-expanded=false]")).waitFor();
  }));

  test("another shop is shown with the same tab, pair and filter, and so is the one before after going back", () => visit(on, "#/rates/SE-001", async (page) => {
    const shop = (id) => item(page, id).click();
    await page.getByLabel("Search business units").fill("SE-00");
    await page.getByLabel("Filter rates").fill("NOK");
    await shop(/SE-002/);
    await page.waitForURL("**/#/rates/SE-002?filter=NOK");
    await hasValue(page.getByLabel("Filter rates"), "NOK");
    await page.getByRole("link", { name: "History", exact: true }).click();
    await page.getByLabel("Rate", { exact: true }).selectOption("SALES/NOK/EUR");
    await shop(/SE-003/);
    await page.waitForURL("**/#/rates/SE-003/history/SALES/NOK/EUR?filter=NOK");
    await hasValue(page.getByLabel("Rate", { exact: true }), "SALES/NOK/EUR");
    await page.getByRole("link", { name: "Convert", exact: true }).click();
    await hasValue(page.getByLabel("From", { exact: true }), "EUR");
    await hasValue(page.getByLabel("To", { exact: true }), "NOK");
    await pick(page.getByLabel("To", { exact: true }), "USD");
    await page.waitForURL("**/#/rates/SE-003/convert/SALES/USD/EUR?filter=NOK");
    await shop(/SE-001/);
    await title(page, /SE-001$/);
    await hasValue(page.getByLabel("To", { exact: true }), "USD");
    await page.getByRole("link", { name: "Preview" }).click();
    await page.getByRole("heading", { name: "Preview", level: 1 }).waitFor();
    await page.goBack();
    await hasValue(page.getByLabel("To", { exact: true }), "USD");
    await page.getByRole("link", { name: "Rates", exact: true }).last().click();
    await hasValue(page.getByLabel("Filter rates"), "NOK");
  }));

  test("on a narrow screen the list leads back to the unit that it was opened from", () => visit(on, "#/rates/SE-002", async (page) => {
    await page.setViewportSize({ width: 768, height: 1024 });
    await page.getByRole("button", { name: "All units" }).click();
    await page.locator(".unit-title").waitFor({ state: "hidden" });
    await page.getByRole("treeitem", { selected: true }).click();
    await page.locator(".unit-title").waitFor();
    await page.getByRole("tree").waitFor({ state: "hidden" });
  }));

  test("a unit that does not exist is named", () => visit(on, "#/rates/SE-999", async (page) => {
    await page.getByText("There is no such business unit").waitFor();
    await page.getByText("There is no unit with the id “SE-999”.").waitFor();
    expected(page, 404);
  }));
});

describe("the rates of a unit", () => {
  test("both directions, the markup and where each comes from are shown as the host has them", () => visit(on, "#/rates/NO-001", async (page) => {
    const [main, back] = [await used("NO-001", "SALES/NOK/EUR"), await used("NO-001", "SALES/EUR/NOK")];
    const line = row(page, `1 EUR = ${main.rateValue} NOK`);
    await line.getByText(`so 1 NOK = ${back.rateValue} EUR`).waitFor();
    await line.getByText(`${main.rateValueWithMarkup} NOK`, { exact: true }).waitFor();
    const { markupPercentage } = await (await on.host.api("GET", unit("NO"))).json();
    await line.getByText(`${markupPercentage} %, from Norway`).waitFor();
    await line.getByText(/^from Nordic Retail, \d levels up$/).waitFor();
    await page.getByLabel("Filter rates").fill("nok");
    await page.getByText(/^\d+ of \d+ pairs$/).waitFor();
    assert.equal(await page.getByText("1 EUR = ").and(page.getByText("USD")).count(), 0);
  }));

  test("a reference rate that its source no longer has is marked", async () => {
    const page = await open(on.context, on.host.url);
    await alterAnswers(page, "**/business-units/nordic-retail/exchange-rates", (rates) => {
      for (const rate of rates) if (rate.reference && rate.currencyIdFrom === "USD") rate.reference = { source: "ECB", date: "2026-01-30", stale: true };
    });
    await page.goto(`${on.host.url}/#/rates/SE-002`);
    await signIn(page, on.host);
    await row(page, /^1 EUR = [\d.]+ USD/).getByText("ECB has had none since 30 Jan 2026").waitFor();
    await page.close();
  });

  test("a reference rate that was not renewed for two business days is marked with its age", async () => {
    const page = await open(on.context, on.host.url);
    await alterAnswers(page, "**/exchange-rates?businessUnit=SE-002", (rates) => {
      for (const rate of rates) if (rate.asOf && rate.currencyIdFrom === "USD") Object.assign(rate, { ageInBusinessDays: 3, stale: true });
    });
    await page.goto(`${on.host.url}/#/rates/SE-002`);
    await signIn(page, on.host);
    await row(page, /^1 EUR = [\d.]+ USD/).getByText(/^ECB, \d+ \w+ \d{4}: 3 business days old$/).waitFor();
    await page.close();
  });

  test("a rate keeps every digit", () => visit(on, "#/rates/FI-001", async (page) => {
    await page.getByRole("button", { name: "Set a rate" }).click();
    await enter(page, { rate: "1234567,123456", to: "IDR" });
    await dialog(page).locator(".effect-values").getByText("1234567.123456 IDR").waitFor();
    await press(page, "Save");
    await row(page, "1 EUR = 1234567.123456 IDR").waitFor();
    assert.match(await stored("FI-001"), /"rateValue":1234567\.123456[,}]/);
    await unset("FI-001", "SALES/IDR/EUR");
    await row(page, "IDR").waitFor({ state: "detached" });
  }));

  test("a rate is converted with and without its markup", () => visit(on, "#/rates/NO-001/convert", async (page) => {
    const rate = await used("NO-001", "SALES/NOK/EUR");
    await page.getByLabel("Amount").fill("1.000,50");
    await pick(page.getByLabel("From"), "EUR");
    await pick(page.getByLabel("To", { exact: true }), "NOK");
    await page.getByText(`At 1 EUR = ${rate.rateValueWithMarkup} NOK with markup`).waitFor();
    const asked = await on.host.api("POST", "/api/v1/exchange-rates/convert", { businessUnitId: "NO-001", exchangeRateType: "SALES", from: "EUR", to: "NOK", amount: 1000.5, withMarkup: true });
    const [, amount] = /"amount":([\d.]+)/.exec(await asked.text());
    await eventually(async () => {
      const shown = await page.locator(".converted b").textContent();
      assert.equal(Number(shown.replace(" NOK", "")), Number(amount), "as the host converts it");
    });
    await page.getByRole("switch", { name: "With markup" }).uncheck();
    await page.getByText(`At 1 EUR = ${rate.rateValue} NOK. Set at`).waitFor();
    await page.getByText(/Computed by version [0-9a-f]{8} of the rate math\.$/).waitFor();
    await page.getByRole("button", { name: "Swap the currencies" }).click();
    await page.getByText(/^1000\.50 NOK = /).waitFor();
    await page.getByLabel("Amount").fill("ten");
    await page.getByText("Enter an amount such as 100 or 99.50.").waitFor();
  }));
});

describe("changing rates", () => {
  test("a country’s rate is set after reading the dry run, arrives in a second page and in a till, and is taken back by the history", async () => {
    const before = await used("SE-002", SEK);
    const till = new RatesClient({ url: on.host.url, token: on.host.token, businessUnitId: "SE-002" });
    const atTheTill = () => till.rate({ exchangeRateType: "SALES", currencyIdFrom: "SEK", currencyIdTo: "EUR" })?.rateValue;
    await till.ready();
    assert.equal(atTheTill(), String(before.rateValue));
    const one = await signedIn(on.context, on.host, "#/rates/SE");
    const other = await signedIn(on.context, on.host, "#/rates/SE-002");
    await row(other, `1 EUR = ${before.rateValue} SEK`).waitFor();
    // A page in the background is drawn once a second, and waits as long for a click.
    await one.bringToFront();
    await row(one, `1 EUR = ${before.rateValue} SEK`).getByRole("button", { name: "Set Sales, 1 EUR in SEK here" }).click();
    const value = String(Number(before.rateValue) + 0.25);
    await enter(one, { rate: value.replace(".", ",") });
    const dryRun = await (await on.host.api("POST", `${unit("SE")}/exchange-rates?dryRun=true`, { set: [{ exchangeRateType: "SALES", currencyIdFrom: "SEK", currencyIdTo: "EUR", rateValue: Number(value) }] })).json();
    const { total, affected, shielded } = dryRun.businessUnits;
    assert.ok(shielded > 0, "the demo has shops with their own rate");
    const kept = shielded === 1 ? "1 keeps its own rate" : `${shielded} keep their own rate`;
    await dialog(one).getByText(`Changes ${affected} of ${total} shops; ${kept}.`).waitFor();
    await dialog(one).getByText("Sweden then keeps its own rate: changes at Nordic Retail no longer reach it.").waitFor();
    await dialog(one).getByText("What the shops get").click();
    await one.screenshot({ path: `${OUTPUT}rates-dry-run.png` });
    assert.equal((await used("SE", SEK)).rateValue, before.rateValue, "nothing is changed yet");
    const hasFlashed = await flashes(other);
    await press(one, "Save");
    const arrived = row(other, `1 EUR = ${value} SEK`);
    await arrived.waitFor();
    await hasFlashed(`1 EUR = ${value} SEK`);
    await arrived.getByText(/^from Sweden, \d/).waitFor();
    await other.getByText(/rates? changed at \d\d:\d\d:\d\d/).waitFor();
    await until(() => atTheTill() === value, "the till has the rate");
    await one.getByText(`Done: sent to ${affected} of ${total} shops. The other `).first().waitFor();
    await row(one, `1 EUR = ${value} SEK`).getByText("Set here", { exact: true }).waitFor();

    await one.getByRole("link", { name: "History of Sales, 1 EUR in SEK" }).click();
    await one.getByText("In force").waitFor();
    await one.getByRole("button", { name: new RegExp(`^Go back to this: ${before.rateValue} of`) }).first().click();
    await dialog(one).getByRole("radio", { name: `Follow Nordic Retail again, now ${before.rateValue}` }).and(one.locator(":checked")).waitFor({ state: "attached" });
    await dialog(one).getByText(`Changes ${affected} of ${total} shops`).waitFor();
    await press(one, "Save");
    await row(other, `1 EUR = ${before.rateValue} SEK`).getByText("from Nordic Retail").waitFor();
    assert.equal((await used("SE", SEK)).setAt, "nordic-retail");
    await until(() => atTheTill() === String(before.rateValue), "the till has the former rate");
    till.close();
    for (const page of [one, other]) {
      assert.deepEqual(page.faults, []);
      await page.close();
    }
  });

  test("what goes back to an earlier value is in sight at every width", () => visit(on, "#/rates/nordic-retail/history/SALES/USD/EUR", async (page) => {
    const back = page.getByRole("button", { name: /^Go back to this/ }).first();
    await back.waitFor();
    for (const size of [360, 768, 1024, 1440]) {
      await page.setViewportSize({ width: size, height: 900 });
      await eventually(async () => {
        const [button, table] = [await back.boundingBox(), await page.locator(".history-table").boundingBox()];
        assert.ok(button.x >= table.x && button.x + button.width <= table.x + table.width, `at ${size} px`);
        assert.equal(await page.locator(".history-table").evaluate((element) => element.scrollLeft), 0);
      });
    }
  }));

  test("an earlier value of a shop’s own rate is set again from the history, and going back is not called a slip", () => visit(on, "#/rates/FI-002/history/SALES/SEK/EUR", async (page) => {
    await set("FI-002", SEK, 11.5);
    await set("FI-002", SEK, 115, "?acceptDeviation=true");
    await page.getByRole("button", { name: /^Go back to this: 11\.5 of/ }).click();
    await dialog(page).getByText("115 SEK").waitFor();
    assert.equal(await dialog(page).locator(".effect-warning").count(), 0);
    await press(page, "Save");
    await until(async () => (await used("FI-002", SEK)).rateValue === 11.5, "the earlier rate is in force");
    await page.getByRole("row", { name: /11\.5 .*In force/ }).waitFor();
    await unset("FI-002", SEK);
  }));

  test("a large step is questioned, and what is wrong is said at its field", () => visit(on, "#/rates/FI-003", async (page) => {
    await page.getByRole("button", { name: "Set a rate" }).click();
    await enter(page, { rate: "eleven", to: "XYZ" });
    await dialog(page).getByText("The rate must be a decimal such as 11.05.").waitFor();
    await dialog(page).getByText("The currency must be a three-letter code, such as EUR.").waitFor();
    await enter(page, { rate: "1,1234567", to: "EUR" });
    await dialog(page).getByText("The currency must differ from the other currency.").waitFor();
    await dialog(page).getByText("The rate must have at most six decimals.").waitFor();
    assert.doesNotMatch(await dialog(page).innerText(), /\$\./);
    const { rateValue } = await used("FI-003", SEK);
    await enter(page, { rate: String(rateValue * 1.15).slice(0, 7), to: "sek" });
    await dialog(page).getByText("A large step. Is the decimal point right?").waitFor();
    await dialog(page).getByRole("button", { name: "Save", exact: true }).waitFor();
    await press(page, "Back");
    await dialog(page).getByText(/^Now 1 EUR = [\d.]+ SEK, from Nordic Retail: \+\d+\.\d\d %\.$/).waitFor();
  }));

  test("a slip is said in money, and set only when that is meant; beyond twice, that is asked once more", () => visit(on, "#/rates/FI-008", async (page) => {
    await page.getByRole("button", { name: "Set a rate" }).click();
    const { rateValue } = await used("FI-008", SEK);
    const money = (rate) => (100 * rate).toLocaleString("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
    const slipped = String(Math.round(rateValue * 1e5) / 1e4);
    await enter(page, { rate: slipped, to: "sek" });
    const said = `Looks like a slipped decimal point. 100 EUR would be ${money(slipped)} SEK instead of ${money(rateValue)} SEK.`;
    await dialog(page).getByText(said).waitFor();
    await dialog(page).getByRole("button", { name: "Set it anyway", exact: true }).waitFor();
    assert.equal(await dialog(page).getByRole("button", { name: "Save", exact: true }).count(), 0);
    await press(page, "Back");
    await enter(page, { rate: String(1 / rateValue).slice(0, 8) });
    await dialog(page).getByText(/^Looks inverted\. 100 EUR would be \d\.\d\d SEK instead of /).waitFor();
    await press(page, "Back");
    await enter(page, { rate: String((rateValue * 1.5).toFixed(4)) });
    await dialog(page).locator("button.primary", { hasText: "Set it anyway" }).waitFor();
    await press(page, "Back");
    await enter(page, { rate: slipped });
    await dialog(page).locator("button.danger", { hasText: "Set it anyway" }).waitFor();
    await press(page, "Set it anyway");
    await dialog(page).getByRole("heading", { name: `Set 1 EUR = ${slipped} SEK?` }).waitFor();
    await dialog(page).getByText(`That is more than twice what it is now, ${rateValue} SEK. ${said}`).waitFor();
    await dialog(page).last().getByRole("button", { name: "Cancel" }).click();
    await hasCount(dialog(page), 1);
    assert.doesNotMatch(await stored("FI-008"), /SEK/, "nothing is set yet");
    await press(page, "Set it anyway");
    await press(page, "Set");
    await row(page, `1 EUR = ${slipped} SEK`).getByText("Set here", { exact: true }).waitFor();
    await unset("FI-008", SEK);
  }));

  test("a step that the host does not take is shown again before it is set", () => visit(on, "#/rates/NO-003", async (page) => {
    const { rateValue } = await used("NO-003", SEK);
    const step = String(Number((rateValue * 1.05).toFixed(4)));
    await page.getByRole("button", { name: "Set a rate" }).click();
    await enter(page, { rate: step, to: "SEK" });
    await dialog(page).getByRole("button", { name: "Save", exact: true }).waitFor();
    // Meanwhile at most 3 % are allowed here.
    const { id, ...before } = await (await on.host.api("GET", unit("NO-003"))).json();
    await on.host.api("PUT", unit("NO-003"), { ...before, tolerancePercentage: 3 });
    await press(page, "Save");
    await dialog(page).getByText(/^A large step\. 100 EUR would be /).waitFor();
    assert.doesNotMatch(await stored("NO-003"), /SEK/, "nothing is set yet");
    await press(page, "Set it anyway");
    await row(page, `1 EUR = ${step} SEK`).getByText("Set here", { exact: true }).waitFor();
    await unset("NO-003", SEK);
    await on.host.api("PUT", unit("NO-003"), before);
    expected(page, 409);
  }));

  test("of many pasted rates those that look like slips come first", () => visit(on, "#/rates/FI-010", async (page) => {
    await set("FI-010", "PURCHASE/USD/EUR", 1.15);
    await page.getByRole("button", { name: "Paste rates" }).click();
    const rows = dialog(page).getByLabel("Rows", { exact: true });
    await rows.fill("Purchase\tUSD\tEUR\t1.16\nPurchase\tSEK\tEUR\t1,2\nPurchase\tIDR\tEUR\t20000");
    await press(page, "Review");
    await dialog(page).locator(".effect-changes > li").first().getByText(/^Looks like a slipped decimal point\./).waitFor();
    await press(page, "Set it anyway");
    await press(page, "Set");
    await row(page, "1 EUR = 1.2 SEK", "Purchase").waitFor();
    for (const key of ["PURCHASE/USD/EUR", "PURCHASE/SEK/EUR", "PURCHASE/IDR/EUR"]) await unset("FI-010", key);
  }));

  test("how far the rates of a unit may move is set with it, and kept when something else of it changes", () => visit(on, "#/rates/FI-010/details", async (page) => {
    const { id, ...before } = await (await on.host.api("GET", unit("FI-010"))).json();
    await page.getByRole("button", { name: "Edit or move" }).click();
    await dialog(page).getByLabel("Largest step of a rate in percent").fill("100");
    await press(page, "Review");
    await dialog(page).getByText("The largest step must be a number from 0 to less than 100, such as 2.5.").waitFor();
    await dialog(page).getByLabel("Largest step of a rate in percent").fill("7,5");
    await dialog(page).getByRole("button", { name: "Add a largest step for a pair" }).click();
    await dialog(page).getByLabel("The other currency").fill("sek");
    await dialog(page).getByLabel("Largest step in percent", { exact: true }).fill("50");
    await press(page, "Review");
    await dialog(page).getByText("added: 7.5 %").waitFor();
    await press(page, "Save");
    await page.getByText("7.5 %, set here").waitFor();
    await page.getByText("Sales, 1 EUR in SEK and back: 50 %").waitFor();
    await page.getByRole("button", { name: "Edit or move" }).click();
    await dialog(page).getByLabel("Name").fill("Tampere, harbour");
    await press(page, "Review");
    await press(page, "Save");
    await title(page, "Tampere, harbour FI-010");
    const now = await (await on.host.api("GET", unit("FI-010"))).json();
    const tolerances = [{ exchangeRateType: "SALES", currencyIdFrom: "SEK", currencyIdTo: "EUR", tolerancePercentage: 50 }];
    assert.deepEqual([now.tolerancePercentage, now.tolerances], [7.5, tolerances]);
    await on.host.api("PUT", unit("FI-010"), before);
  }));

  test("rows from a spreadsheet are read back, corrected and saved together", () => visit(on, "#/rates/FI-004", async (page) => {
    await set("FI-004", "PURCHASE/USD/EUR", 1.2);
    await page.getByRole("button", { name: "Paste rates" }).click();
    const rows = dialog(page).getByLabel("Rows", { exact: true });
    const good = "Type\tFrom\tTo\tRate\r\nSales\tSEK\tEUR\t11,25\r\nSALES\tNOK\tEUR\t11.9\r\npurchase\tusd\teur\tdelete";
    await rows.fill(`${good}\r\nSales\tDKK\tEUR\t7.4x\r\nSales\tSEK\tEUR\t12`);
    await dialog(page).getByText("5 rows, 2 with a fault").waitFor();
    await dialog(page).getByText("“7.4x” is not a rate.").waitFor();
    await dialog(page).getByText("Row 2 has the same rate.").waitFor();
    await press(page, "Review");
    await dialog(page).getByText("Correct the 2 rows that are marked, or remove them.").waitFor();
    await rows.fill("constructor\tSEK\tEUR\t11");
    await dialog(page).getByText("“constructor” is not a type.").waitFor();
    await rows.fill(good);
    await dialog(page).getByText("Sales: 1 EUR = 11.25 SEK").waitFor();
    await press(page, "Review");
    await dialog(page).getByText("Changes the rates of this shop.").waitFor();
    await press(page, "Save");
    await row(page, "1 EUR = 11.9 NOK").getByText("Set here", { exact: true }).waitFor();
    const now = await stored("FI-004");
    assert.match(now, /"rateValue":11\.25[,}]/);
    assert.doesNotMatch(now, /USD/);
    await unset("FI-004", SEK);
    await unset("FI-004", "SALES/NOK/EUR");
  }));

  test("a shop’s own rate is deleted, and it follows the units above again; without one above, it can no longer convert", () => visit(on, "#/rates/FI-005", async (page) => {
    await set("FI-005", "SALES/MDL/EUR", 140);
    await row(page, "1 EUR = 140 MDL").getByRole("button", { name: "Delete Sales, 1 EUR in MDL" }).click();
    await dialog(page).getByText("This shop can then no longer convert between EUR and MDL (Sales).").waitFor();
    assert.equal(await dialog(page).getByText("follows the units above").count(), 0);
    await press(page, "Save");
    await row(page, /MDL/).waitFor({ state: "detached" });
    await set("FI-005", SEK, 13);
    await row(page, "1 EUR = 13 SEK").getByRole("button", { name: "Delete Sales, 1 EUR in SEK" }).click();
    await dialog(page).getByText("then follows the units above it again").waitFor();
    assert.equal(await dialog(page).getByText("no longer convert").count(), 0);
    await press(page, "Save");
    await row(page, /SEK/).getByText("from Nordic Retail").first().waitFor();
    assert.doesNotMatch(await stored("FI-005"), /SEK/);
  }));

  test("when another user has changed the rate since the dry run, both are shown", () => visit(on, "#/rates/FI-006", async (page) => {
    await page.getByRole("button", { name: "Set a rate" }).click();
    await enter(page, { rate: "11.7", to: "SEK" });
    await dialog(page).getByText("Changes the rates of this shop.").waitFor();
    await set("FI-006", SEK, 11.6);
    await press(page, "Save");
    await dialog(page).getByText("tillgate-demo 1 changed this while you were editing").waitFor();
    await dialog(page).getByText("Sales: 1 EUR = 11.6 SEK.").waitFor();
    await press(page, "Review mine again");
    await dialog(page).getByText("11.6 SEK").waitFor();
    await press(page, "Save");
    await row(page, "1 EUR = 11.7 SEK").waitFor();
    await unset("FI-006", SEK);
  }));

  test("the form says at once that another user has changed the rate", () => visit(on, "#/rates/FI-006", async (page) => {
    await page.getByRole("button", { name: "Set a rate" }).click();
    await dialog(page).getByLabel("is worth").fill("11.7");
    await dialog(page).getByLabel("in", { exact: true }).fill("SEK");
    await set("FI-006", SEK, 11.6);
    await dialog(page).getByText("tillgate-demo 1 has just saved this. What you entered is still here.").waitFor();
    await press(page, "See the difference");
    await dialog(page).getByText("Sales: 1 EUR = 11.6 SEK.").waitFor();
    await press(page, "Keep theirs");
    await row(page, "1 EUR = 11.6 SEK").waitFor();
    await unset("FI-006", SEK);
  }));

  test("what was typed is not discarded without asking", () => visit(on, "#/rates/FI-007", async (page) => {
    await page.getByRole("button", { name: "Paste rates" }).click();
    await page.keyboard.press("Escape");
    await dialog(page).waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Paste rates" }).click();
    await dialog(page).getByLabel("Rows", { exact: true }).fill("Sales\tSEK");
    await press(page, "Cancel");
    await page.getByText("Discard what you entered?").waitFor();
    await page.getByRole("dialog").last().getByRole("button", { name: "Cancel" }).click();
    await hasValue(dialog(page).getByLabel("Rows", { exact: true }), "Sales\tSEK");
    await page.keyboard.press("Escape");
    await page.getByText("What you entered is kept as a draft.").waitFor();
    await page.getByRole("button", { name: "Paste rates (draft)" }).click();
    await hasValue(dialog(page).getByLabel("Rows", { exact: true }), "Sales\tSEK");
    await press(page, "Start over");
    await dialog(page).getByText("This is your unsaved draft").waitFor({ state: "detached" });
    await hasValue(dialog(page).getByLabel("Rows", { exact: true }), "");
    await page.keyboard.press("Escape");
    await dialog(page).waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Paste rates", exact: true }).waitFor();
    await hasFocus(page, "Paste rates", "the focus goes back to where it was");
  }));

  test("drafts survive other units and the session’s end", async () => {
    const editor = await clientWith(on.host, ["exr.editor"]);
    const page = await signedIn(on.context, editor, "#/rates/FI-010");
    await row(page, /SEK/).getByRole("button", { name: /^Set Sales/ }).click();
    await dialog(page).getByLabel("is worth").fill("11,23");
    await page.keyboard.press("Escape");
    await row(page, /SEK/).getByText("Draft", { exact: true }).waitFor();
    await page.getByRole("link", { name: "Details" }).click();
    await page.getByRole("button", { name: "Edit or move" }).click();
    await dialog(page).getByLabel("Name").fill("Half a name");
    await on.host.api("PUT", `/v1/tenants/demo/clients/${editor.clientId}/revoke`);
    // The page's next request is refused.
    await press(page, "Review");
    await page.getByText("Your session has expired. Sign in again. Your drafts are kept.").waitFor();
    assert.equal(await page.getByText("FI-010").count(), 0);
    await signIn(page, on.host);
    await page.getByRole("button", { name: "Edit or move (draft)" }).click();
    await dialog(page).getByText("This is your unsaved draft.").waitFor();
    await hasValue(dialog(page).getByLabel("Name"), "Half a name");
    await press(page, "Cancel");
    await page.getByRole("button", { name: "Discard", exact: true }).click();
    await page.getByRole("button", { name: "Edit or move", exact: true }).waitFor();
    await page.getByRole("navigation", { name: "About this unit" }).getByRole("link", { name: "Rates" }).click();
    await row(page, /SEK/).getByRole("button", { name: /^Set Sales/ }).click();
    await hasValue(dialog(page).getByLabel("is worth"), "11.23");
    await press(page, "Cancel");
    await page.getByRole("button", { name: "Discard", exact: true }).click();
    await row(page, /SEK/).getByText("Draft", { exact: true }).waitFor({ state: "detached" });
    await page.close();
  });
});

describe("history", () => {
  test("the chart is read with the keyboard, and the table has the same values", () => visit(on, "#/rates/nordic-retail/history/SALES/USD/EUR", async (page) => {
    const slider = page.getByRole("slider", { name: "1 EUR in USD over time" });
    await slider.focus();
    const reading = () => slider.getAttribute("aria-valuetext");
    const now = await used("nordic-retail", "SALES/USD/EUR");
    await eventually(async () => assert.match(await reading(), new RegExp(`1 EUR = ${now.rateValue} USD`)));
    const latest = await reading();
    await page.keyboard.press("ArrowLeft");
    await eventually(async () => assert.notEqual(await reading(), latest));
    const [, value] = /= ([\d.]+) USD/.exec(await reading());
    const second = page.getByRole("region", { name: "Values, newest first" }).getByRole("row").nth(2);
    await eventually(async () => assert.equal(await second.locator("b").textContent(), value));
    await page.keyboard.press("Home");
    await eventually(async () => assert.match(await page.locator(".readout").textContent(), /1 EUR = [\d.]+ USD/));
    await page.getByRole("radio", { name: "Everything" }).check();
    await until(async () => Number(await slider.getAttribute("max")) > 200, "a year of days");
    const { name, text } = await downloaded(page, () => page.getByRole("button", { name: "Download as CSV" }).click());
    assert.match(name, /, 1 EUR in USD\.csv$/);
    assert.ok(text.split("\r\n").length > 200, "with what is not in sight");
    assert.match(text, new RegExp(`^\\ufeffSince,Type,One,In,Rate,With markup,Set at,Id,Who,Reason\r\n[^,]+,Sales,EUR,USD,${now.rateValue},`));
    await page.getByRole("button", { name: "Other direction" }).click();
    await page.waitForURL("**/history/SALES/EUR/USD");
    await page.getByRole("slider", { name: "1 USD in EUR over time" }).waitFor();
  }));

  test("each value says who has changed it, and why where that was said: of a rate, and of a unit", () => visit(on, "#/rates/FI-010", async (page) => {
    const { id, ...before } = await (await on.host.api("GET", unit("FI-010"))).json();
    const reason = dialog(page).getByLabel("Reason (optional)");
    const values = page.getByRole("region", { name: "Values, newest first" }).getByRole("row");
    await page.getByRole("button", { name: "Set a rate" }).click();
    await enter(page, { rate: "11.7", to: "SEK" });
    await reason.fill("The airport is dear");
    await press(page, "Save");
    await row(page, "1 EUR = 11.7 SEK").waitFor();
    await page.evaluate((hash) => (location.hash = hash), `#/rates/FI-010/history/${SEK}`);
    await values.filter({ hasText: "The airport is dear" }).filter({ hasText: "tillgate-demo 1" }).getByText(/^\d{1,2} \w+ \d{4}, \d\d:\d\d:\d\d$/).waitFor();
    await page.getByRole("link", { name: "Details" }).click();
    await page.getByRole("button", { name: "Edit or move" }).click();
    await dialog(page).getByLabel("General markup in percent").fill("3");
    await press(page, "Review");
    await reason.fill("The rent has risen");
    await press(page, "Save");
    await page.getByText("3 %, set here").waitFor();
    await page.evaluate((hash) => (location.hash = hash), `#/rates/FI-010/history/${SEK}`);
    await values.filter({ hasText: "The rent has risen" }).filter({ hasText: "tillgate-demo 1" }).waitFor();
    await still(page);
    await looksRight(page, "rates-history-reasons");
    await on.host.api("PUT", unit("FI-010"), before);
    await unset("FI-010", SEK);
  }));

  test("an address with a type that there is not shows the unit’s first rate", () => visit(on, "#/rates/NO-001/history/constructor/SEK/EUR", async (page) => {
    await page.getByRole("table", { name: "over time, newest first" }).waitFor();
  }));

  test("the pointer reads values, and the axes have marks", () => visit(on, "#/rates/nordic-retail/history/SALES/USD/EUR", async (page) => {
    await page.locator(".plot svg .line").first().waitFor();
    const box = await page.locator(".plot").boundingBox();
    const readout = page.locator(".readout");
    const before = await readout.textContent();
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    await eventually(async () => assert.notEqual(await readout.textContent(), before));
    await eventually(async () => assert.ok((await page.locator(".plot text").count()) >= 6));
  }));
});

describe("business units", () => {
  test("a shop is created, moved after reading the dry run, and deleted", () => visit(on, "#/rates/SE-R1/details", async (page) => {
    await page.getByRole("button", { name: "New unit below" }).click();
    await dialog(page).getByLabel("Id", { exact: true }).fill("SE-001");
    await dialog(page).getByLabel("Name").fill("Arlanda Airport");
    await press(page, "Review");
    await dialog(page).getByText("The id is taken: another business unit has it.").waitFor();
    await dialog(page).getByLabel("Id", { exact: true }).fill("SE-900");
    await press(page, "Review");
    await press(page, "Save");
    await title(page, "Arlanda Airport SE-900");
    await item(page, /^Arlanda Airport/).waitFor();

    await page.getByRole("button", { name: "Edit or move" }).click();
    const below = dialog(page).getByLabel("Below");
    await below.fill("SE-900");
    await dialog(page).getByText("Nothing matches.", { exact: true }).first().waitFor();
    await pick(below, "Norway (NO)");
    await press(page, "Review");
    await dialog(page).getByText("What changes", { exact: true }).waitFor();
    await dialog(page).getByText("added: Norway").waitFor();
    await dialog(page).getByText("Changes the rates of this shop.").waitFor();
    await press(page, "Save");
    await page.getByRole("navigation", { name: "Units above" }).getByText("Norway").waitFor();

    await page.getByRole("button", { name: "Delete" }).click();
    await press(page, "Delete");
    await title(page, "Norway NO");
    await item(page, /^Arlanda Airport/).waitFor({ state: "detached" });
    assert.equal((await on.host.api("GET", unit("SE-900"))).status, 404);
  }));

  test("while a unit is read, nothing of the one before it can be pressed", () => visit(on, "#/rates/SE/details", async (page) => {
    const edit = page.getByRole("button", { name: "Edit or move" });
    await edit.waitFor();
    let answer;
    const answers = new Promise((resolve) => (answer = resolve));
    await page.route("**/api/v1/exchange-rates?*", async (route) => {
      await answers;
      await route.continue();
    });
    await page.evaluate(() => (location.hash = "#/rates/NO/details"));
    await title(page, "Norway NO");
    const isInert = () => page.locator(".unit-body").evaluate((body) => body.inert);
    assert.equal(await isInert(), true);
    for (const tab of ["Convert", "Details"]) {
      await page.getByRole("link", { name: tab, exact: true }).click();
      await page.getByRole("link", { name: tab, exact: true }).and(page.locator("[aria-current=page]")).waitFor();
      assert.equal(await isInert(), true, "nor under another of its tabs");
    }
    answer();
    await edit.click();
    await hasValue(dialog(page).getByLabel("Name"), "Norway");
  }));

  test("a markup is changed after reading the dry run, and a pair may have its own", () => visit(on, "#/rates/FI/details", async (page) => {
    const before = await (await on.host.api("GET", unit("FI"))).json();
    await page.getByRole("button", { name: "Edit or move" }).click();
    await dialog(page).getByLabel("General markup in percent").fill("150");
    await press(page, "Review");
    await dialog(page).getByText("The markup must be a number from 0 to less than 100, such as 2.5.").waitFor();
    await dialog(page).getByLabel("General markup in percent").fill("1,5");
    await dialog(page).getByRole("button", { name: "Add a markup for a pair" }).click();
    await dialog(page).getByLabel("The other currency").fill("sek");
    await dialog(page).getByLabel("Markup in percent", { exact: true }).fill("0.5");
    await press(page, "Review");
    await dialog(page).getByText(/^Changes \d+ of \d+ shops/).waitFor();
    await press(page, "Save");
    await page.getByText("1.5 %, set here").waitFor();
    await page.getByText("Sales, 1 EUR in SEK and back: 0.5 %").waitFor();
    await page.locator(".progress-list").getByText(/^Done: sent to /).waitFor();
    const { id, ...body } = before;
    await on.host.api("PUT", unit("FI"), body);
  }));

  test("when another user has saved a unit first, both versions are shown", () => visit(on, "#/rates/FI/details", async (page) => {
    const { id, ...before } = await (await on.host.api("GET", unit("FI"))).json();
    await page.getByRole("button", { name: "Edit or move" }).click();
    await dialog(page).getByLabel("Name").fill("Suomi");
    await on.host.api("PUT", unit("FI"), { ...before, name: "Finland and Åland" });
    await press(page, "Review");
    await dialog(page).getByText("tillgate-demo 1 has just saved this.").waitFor();
    await dialog(page).getByText("added: Suomi").waitFor();
    await press(page, "Save");
    await dialog(page).getByText("tillgate-demo 1 changed this while you were editing").waitFor();
    await dialog(page).getByText("Group “Finland and Åland”").waitFor();
    await dialog(page).getByText("Group “Suomi”").waitFor();
    await press(page, "Keep theirs");
    await on.host.api("PUT", unit("FI"), before);
    expected(page, 412);
  }));
});

describe("messages", () => {
  test("the initial state is one click away, and each message is shown as subscribers get it", () => visit(on, "#/rates/NO/messages", async (page) => {
    await page.getByText("No messages yet").waitFor();
    await page.getByRole("button", { name: "Send initial state" }).click();
    await dialog(page).getByText(/^\d+ messages, one with all rates of each shop/).waitFor();
    await press(page, "Send");
    const done = page.locator(".progress-list").getByText(/^Done: sent to all \d+ shops\.$/);
    const [shops] = /\d+/.exec(await done.textContent());
    // Each new message stands above the existing ones.
    await page.getByText(`${shops} messages received`).waitFor();
    const message = page.locator(".messages > li").first();
    await message.locator("summary").first().click();
    await message.getByRole("heading", { name: "Updated" }).waitFor();
    await message.getByText("The message, for developers").click();
    await eventually(async () => assert.match(await message.locator("pre").textContent(), /"businessUnitId": *"NO-/));
    assert.match(JSON.parse(await message.locator("pre").textContent()).data.businessUnitId, /^NO-/);
    await page.screenshot({ path: `${OUTPUT}rates-messages.png` });
  }));

  test("the messages of the past days can be read again, have their day, and are a file", () => visit(on, "#/rates/NO-001/messages", async (page) => {
    await page.clock.setSystemTime(Date.now() + 26 * 3_600_000);
    await set("NO-001", SEK, 11.1);
    await page.getByRole("button", { name: "Show messages of past days" }).click();
    await page.getByText(/2 (created|updated)/).first().waitFor();
    await eventually(async () => assert.match(await page.locator(".messages time").first().textContent(), /^\d+ [A-Z][a-z]+ 20\d\d, \d\d:\d\d$/));
    const { name, text } = await downloaded(page, () => page.getByRole("button", { name: "Download as CSV" }).click());
    assert.match(name, /^Messages of .+\.csv$/);
    assert.match(text, /^\ufeffPublished,Shop,Id,What,Type,One,In,Rate,With markup,Change\r\n20/);
    assert.match(text, /,NO-001,(created|updated),Sales,EUR,SEK,11\.1,/);
    await unset("NO-001", SEK);
  }));
});

describe("permissions", () => {
  const as = async (roles, hash) => {
    const client = await clientWith(on.host, roles);
    return { client, page: await signedIn(on.context, client, hash) };
  };

  test("a viewer of rates signs in without the rules, types a unit’s id, and sees no dead buttons", async () => {
    const { page } = await as(["exr.viewer"], "#/rates");
    assert.equal(await page.getByRole("navigation", { name: "Views" }).getByRole("link").count(), 1);
    await page.getByText("You may not list business units: that needs the permission exr.business-unit.read").waitFor();
    await page.getByText("Read every 20 s").waitFor();
    await page.getByLabel("Id of a business unit").fill("SE-002");
    await page.keyboard.press("Enter");
    await row(page, /SEK/).getByText("from nordic-retail").first().waitFor();
    for (const name of [/^Set/, /^Change/, /^Delete/, /^Paste/]) assert.equal(await page.locator("main").getByRole("button", { name }).count(), 0);
    await page.getByRole("link", { name: "Messages" }).click();
    await page.getByText("That needs the permission exr.rates-changed.subscribe").waitFor();
    assert.equal(await page.getByRole("button", { name: "Send initial state" }).count(), 0);
    await page.getByRole("link", { name: "Details" }).click();
    await page.getByText("You may not see business units. That needs the permission exr.business-unit.read").waitFor();
    await page.getByRole("link", { name: "History", exact: true }).click();
    await page.getByRole("slider").waitFor();
    assert.equal(await page.getByRole("button", { name: /Go back/ }).count(), 0);
    assert.deepEqual(page.faults, []);
    await page.close();
  });

  test("a permission that is withdrawn is named, and its buttons go", async () => {
    const { client, page } = await as(["exr.editor"], "#/rates/SE-002");
    await page.getByRole("button", { name: "Set a rate" }).click();
    await on.host.api("PUT", `/v1/tenants/demo/clients/${client.clientId}/roles`, { roles: [{ roleId: "exr.viewer" }] });
    await enter(page, { rate: "11.5", to: "SEK" });
    await dialog(page).getByText("It needs the permission exr.rate.write.").waitFor();
    await hasValue(dialog(page).getByLabel("is worth"), "11.5");
    await press(page, "Cancel");
    await page.getByRole("button", { name: "Discard", exact: true }).click();
    await page.getByRole("button", { name: "Set a rate" }).waitFor({ state: "hidden" });
    await page.close();
  });

  test("an editor of rules has no link to the rates", async () => {
    const { page } = await as(["ecs.viewer"], "");
    assert.equal(await page.getByRole("link", { name: "Rates" }).count(), 0);
    await page.close();
  });
});

test("a company is created where there are no business units yet", async () => {
  const empty = await emptyHost();
  const page = await signedIn(on.context, empty, "#/rates");
  await page.getByText("No business units yet").waitFor();
  await looksRight(page, "rates-none");
  await page.getByRole("button", { name: "New unit" }).click();
  await dialog(page).getByLabel("Id", { exact: true }).fill("first");
  await press(page, "Review");
  await dialog(page).getByText("A new company: first").waitFor();
  await press(page, "Save");
  await title(page, "first");
  await page.getByRole("link", { name: "Rates", exact: true }).last().click();
  await page.getByText("No rates yet").waitFor();
  assert.deepEqual(page.faults, []);
  await page.close();
  await empty.end();
});

describe("accessibility", () => {
  const states = [
    ["tree", "#/rates", (page) => item(page, /^Nordic Retail/).waitFor()],
    ["tree-none", "#/rates", async (page) => {
      await page.getByLabel("Search business units").fill("nothing like it");
      await page.getByText("Nothing matches").waitFor();
    }],
    ["unknown", "#/rates/SE-999", (page) => page.getByText("There is no such business unit").waitFor()],
    ["unit", "#/rates/SE-001", (page) => page.getByRole("table", { name: "Sales" }).waitFor()],
    ["set", "#/rates/SE", async (page) => {
      await page.getByRole("button", { name: "Set a rate" }).click();
      await dialog(page).getByLabel("is worth").fill("12,5");
    }],
    ["set-faults", "#/rates/SE", async (page) => {
      await page.getByRole("button", { name: "Set a rate" }).click();
      await enter(page, { rate: "1,1234567", to: "XYZ" });
      await dialog(page).getByText("The rate must have at most six decimals.").waitFor();
    }],
    ["set-effect", "#/rates/SE", async (page) => {
      await page.getByRole("button", { name: "Set a rate" }).click();
      await enter(page, { rate: "12,5", to: "SEK" });
      await dialog(page).getByText("What the shops get").click();
      await dialog(page).locator("details[open]").waitFor();
    }],
    ["set-slip", "#/rates/SE", async (page) => {
      await page.getByRole("button", { name: "Set a rate" }).click();
      await enter(page, { rate: "1,2", to: "SEK" });
      await dialog(page).getByText(/^Looks like a slipped decimal point/).waitFor();
    }],
    ["paste", "#/rates/SE", async (page) => {
      await page.getByRole("button", { name: "Paste rates" }).click();
      await dialog(page).getByLabel("Rows", { exact: true }).fill("Sales\tSEK\tEUR\t11,25\nSales\tNOK\tEUR\tx");
      await dialog(page).getByText("2 rows, 1 with a fault").waitFor();
    }],
    ["history", `#/rates/SE-001/history/${SEK}`, (page) => page.getByText("In force").waitFor()],
    ["restore", "#/rates/nordic-retail/history/SALES/USD/EUR", async (page) => {
      await page.getByRole("button", { name: /^Go back to/ }).first().click();
      await dialog(page).getByText(/^Changes/).waitFor();
    }],
    ["convert", "#/rates/SE-001/convert", (page) => page.getByText(/^At 1 EUR/).waitFor()],
    ["convert-fault", "#/rates/SE-001/convert", async (page) => {
      await page.getByLabel("Amount").fill("ten");
      await page.getByText("Enter an amount such as").waitFor();
    }],
    ["messages-none", "#/rates/FI-009/messages", (page) => page.getByText("No messages yet").waitFor()],
    ["messages", "#/rates/SE-R1/messages", async (page) => {
      await page.getByRole("button", { name: "Send initial state" }).click();
      await press(page, "Send");
      await page.locator(".messages summary").first().click();
      await page.locator(".progress-list").getByText(/^Done/).waitFor();
    }],
    ["details", "#/rates/NO/details", (page) => page.getByText("General markup").waitFor()],
    ["edit-unit", "#/rates/NO/details", async (page) => {
      await page.getByRole("button", { name: "Edit or move" }).click();
      await dialog(page).getByRole("button", { name: "Add a markup for a pair" }).click();
      await dialog(page).getByLabel("The other currency").waitFor();
    }],
    ["new-unit", "#/rates/NO/details", async (page) => {
      await page.getByRole("button", { name: "New unit below" }).click();
      await dialog(page).getByLabel("Id", { exact: true }).waitFor();
    }],
    ["unit-effect", "#/rates/NO/details", async (page) => {
      await page.getByRole("button", { name: "Edit or move" }).click();
      await dialog(page).getByLabel("General markup in percent").fill("3");
      await press(page, "Review");
      await dialog(page).getByText(/^Changes/).waitFor();
    }],
    ["viewer", "#/rates", (page) => page.getByText("You may not list business units").waitFor(), () => clientWith(on.host, ["exr.viewer"])],
    ["viewer-unit", "#/rates/SE-002/messages", (page) => page.getByText("exr.rates-changed.subscribe").waitFor(), () => clientWith(on.host, ["exr.viewer"])],
  ];
  for (const [name, hash, prepare, as] of states) {
    test(`${name} looks right, and axe finds nothing`, async () => visit({ ...on, host: as ? await as() : on.host }, hash, async (page) => {
      await still(page);
      await prepare(page);
      await looksRight(page, `rates-${name}`);
      expected(page, 404);
    }));
  }

  test("a rate is set with the keyboard alone", () => visit(on, "#/rates/FI-009", async (page) => {
    await page.getByRole("table", { name: "Sales" }).waitFor();
    await tabTo(page, "Set a rate");
    await page.keyboard.press("Enter");
    await dialog(page).waitFor();
    await tabTo(page, "is worth");
    await page.keyboard.type("11,9");
    await page.keyboard.press("Tab");
    await page.keyboard.type("SEK");
    await page.keyboard.press("Enter");
    await dialog(page).getByText("Changes the rates of this shop.").waitFor();
    await tabTo(page, "Save");
    await page.keyboard.press("Enter");
    await row(page, "1 EUR = 11.9 SEK").waitFor();
    await dialog(page).waitFor({ state: "detached" });
    await hasFocus(page, "Set a rate", "the focus is back where it was");
    await unset("FI-009", SEK);
  }));

  test("long ids and names push nothing wide", () => visit(on, "#/rates", async (page) => {
    const id = "X".repeat(128);
    await on.host.api("PUT", unit(id), { type: "STORE", parentId: "FI", name: "W".repeat(256) });
    await page.setViewportSize({ width: 360, height: 740 });
    const fits = (name) =>
      eventually(async () => {
        const wide = await page.evaluate(() => document.documentElement.scrollWidth);
        assert.ok(wide <= 360, `${name} is ${wide} px wide`);
      });
    for (const tab of ["", "/history", "/messages", "/details"]) {
      await page.goto(`${on.host.url}/#/rates/${id}${tab}`);
      await page.locator(".unit-title").getByText(id).waitFor();
      await fits(tab);
    }
    await page.goto(`${on.host.url}/#/rates`);
    await item(page, /^Nordic Retail/).waitFor();
    await fits("the tree");
    await on.host.api("DELETE", unit(id));
  }));
});
