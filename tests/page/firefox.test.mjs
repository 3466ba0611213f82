// A second browser engine: every vector in Firefox, and one pass through each view of the page.

import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { readdirSync } from "node:fs";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";

import { OUTPUT } from "../support/browser.mjs";
import { control, firefox, found, holds, open, shows, signedIn } from "../support/firefox.mjs";
import { demo } from "../support/program.mjs";
import { serve } from "../support/serve.mjs";
import { eventually, within } from "../support/wait.mjs";

const PROJECT = "0b8a5d3e-6c1f-4a52-9d7e-2f4b8c6d1e90";
const ROOT = fileURLToPath(new URL("../..", import.meta.url));

let host;
let browser;
/** The page for all views: signing in takes most of the time. */
let signed;

before(async () => {
  host = await demo();
  browser = await firefox();
  signed = await signedIn(browser, host, "");
  await shows(signed, "Preview");
});

after(async () => {
  await browser?.close();
  await host?.end();
});

test("every vector is answered as expected", async () => {
  const site = await serve(ROOT);
  const page = await open(browser, `${site.url}/blank`);
  try {
    const files = readdirSync(`${ROOT}/tests/vectors`, { recursive: true }).filter((name) => name.endsWith(".json"));
    const all = page.evaluate(async (files) => (await import("/tests/support/every-vector.mjs")).answerAll(files), files);
    const { ran, wrong } = await within(all, "the answers to all vectors", 120_000);
    assert.deepEqual(wrong, []);
    assert.ok(ran > 900, `${ran}`);
    assert.deepEqual(page.faults, []);
  } finally {
    // The page of the other tests is hidden behind this one, and a hidden page receives no changes.
    await page.close();
    site.end();
  }
});

/** Runs a test on a view, and fails if the page logged an error. */
const visit = (hash, work) => async () => {
  signed.faults = [];
  const go = (to) => new Promise((resolve) => (addEventListener("hashchange", () => resolve(), { once: true }), (location.hash = to)));
  await within(signed.evaluate(go, hash), `the address ${hash}`);
  await work(signed);
  assert.deepEqual(signed.faults, []);
  await signed.screenshot({ path: `${OUTPUT}firefox-${hash.replace(/\W+/g, "-").replace(/^-/, "")}.png`, fullPage: true });
};

test("a condition is previewed, and the host agrees", visit("#/preview/condition/alcohol", async (page) => {
  const age = control(page, "spinbutton", "Customer’s age");
  await age.fill("17");
  await shows(page, "The customer is 17 and must be 18: one year short.");
  await shows(page, "The host made the same decision");
  await age.fill("18");
  await shows(page, "May be sold");
  await found(page, "input[type=range]").click();
  await page.keyboard.press("Home");
  await shows(page, "Must not be sold");
}));

test("an item on a project is previewed, and the host agrees", visit(`#/preview/project/${PROJECT}`, async (page) => {
  await shows(page, "Must not be sold");
  await control(page, "textbox", "productGroup").fill("fasteners");
  await shows(page, "May be sold");
  await shows(page, "The host made the same decision");
}));

test("a basket is previewed, and the host agrees", visit("#/preview/basket", async (page) => {
  await control(page, "spinbutton", "Customer’s age").fill("17");
  await shows(page, "The customer is 17 and must be 18: one year short.");
  await shows(page, "The host made the same decision");
}));

test("conditions are filtered, and a change by others appears at once", visit("#/conditions", async (page) => {
  await control(page, "button", "Edit energy-drink").wait();
  await host.api("PUT", "/api/v1/entity-conditions/fireworks", { rule: "AGE_RESTRICTION", condition_value: { minimum_age: 21 } });
  await control(page, "button", "Edit fireworks").click();
  await found(page, "dialog[open]").wait();
  await page.keyboard.press("Escape");
  await holds(page, () => !document.querySelector("dialog[open]"));
  await found(page, "input[type=search]").fill("nothing like it");
  await shows(page, "No condition matches");
}));

test("a project is opened", visit("#/projects", async (page) => {
  await shows(page, "School, new building");
  await control(page, "button", "Edit School, new building").click();
  await found(page, "dialog[open]").wait();
  await page.keyboard.press("Escape");
  await holds(page, () => !document.querySelector("dialog[open]"));
}));

test("the rates of a shop are shown, and a change by others appears at once", visit("#/rates/SE-003", async (page) => {
  await shows(page, "1 EUR = 11.05 SEK");
  await host.api("PUT", "/api/v1/business-units/SE-003/exchange-rates/SALES/SEK/EUR", { rateValue: 11.15 });
  await shows(page, "1 EUR = 11.15 SEK");
}));

test("an amount is converted", visit("#/rates/NO-001/convert", async (page) => {
  const asked = { businessUnitId: "NO-001", exchangeRateType: "SALES", from: "EUR", to: "NOK", amount: 100, withMarkup: true };
  const [, amount] = /"amount":([\d.]+)/.exec(await (await host.api("POST", "/api/v1/exchange-rates/convert", asked)).text());
  await control(page, "textbox", "Amount").fill("100");
  for (const [field, currency] of [["From", "EUR"], ["To", "NOK"]]) {
    await control(page, "combobox", field).fill(currency);
    await control(page, "option", currency).click();
  }
  await shows(page, `${amount} NOK`);
}));

test("the history of a rate is a chart that is read with the keyboard", visit("#/rates/nordic-retail/history/SALES/USD/EUR", async (page) => {
  const value = () => page.$eval("main input[type=range]", (slider) => slider.getAttribute("aria-valuetext"));
  await found(page, "main input[type=range][aria-valuetext]").wait();
  await page.focus("main input[type=range]");
  await page.keyboard.press("End");
  const last = await value();
  await page.keyboard.press("Home");
  await eventually(async () => assert.notEqual(await value(), last));
  // A click picks a value, and the arrow keys continue from there.
  await page.evaluate(() => document.activeElement.blur());
  const plot = await page.$(".plot-area").then((area) => area.boundingBox());
  await page.mouse.click(plot.x + plot.width / 2, plot.y + plot.height / 2);
  await eventually(async () => assert.equal(await page.evaluate(() => document.activeElement.type), "range", "the chart has the focus"));
  const picked = await value();
  await page.keyboard.press("ArrowLeft");
  await eventually(async () => assert.notEqual(await value(), picked));
}));

test("the messages of a unit are read", visit("#/rates/FI-001/messages", async (page) => {
  await host.api("PUT", "/api/v1/business-units/FI-001/exchange-rates/SALES/USD/EUR", { rateValue: 1.125 });
  await control(page, "button", "Show messages of past days").click();
  await shows(page, "updated");
}));

test("webhooks show how they fared", visit("#/webhooks", async (page) => {
  await shows(page, "ERP");
  await shows(page, "Loyalty (fails now and then)");
}));

test("deliveries appear as they happen, each with its attempts", visit("#/webhooks/deliveries", async (page) => {
  await shows(page, "x.order-updates.v1");
  await host.api("POST", "/api/v1/events", { type: "x.firefox.v1", data: {} });
  await shows(page, "x.firefox.v1");
  await found(page, "main a[href*='#/webhooks/delivery/']").click();
  await holds(page, () => location.hash.startsWith("#/webhooks/delivery/"));
  await shows(page, "Delivered");
}));

test("the checks of a receiver are made in the page", visit("#/webhooks/signature", async (page) => {
  const [data, key] = [JSON.stringify({ order: 1 }), "a shared key for the test"];
  const body = JSON.stringify({ id: "e-1", time: "2026-01-01T00:00:00.000Z", type: "x.firefox.v1", data: btoa(data), dataencoding: "base64", datacontenttype: "application/json", specversion: "1.0" });
  const signature = createHmac("sha256", key).update(btoa(data)).digest("hex");
  await control(page, "textbox", "Headers, or the whole request").fill(`Authorization: Basic dTpw\nX-Service-Signature: HS256=${signature}`);
  await control(page, "textbox", "Body").fill(body);
  await control(page, "textbox", "Shared key").fill(`${key}x`);
  await shows(page, "What fails: signature of the data.");
  await control(page, "textbox", "Shared key").fill(key);
  await shows(page, "It matches.");
}));

test("an operation of the API is found and tried", async () => {
  const page = await open(browser, `${host.url}/docs`);
  await found(page, "input[type=search]").fill("evaluate an item against a condition");
  await page.keyboard.press("Enter");
  await shows(page, "The decision");
  await control(page, "button", "Sign in to send").click();
  await control(page, "textbox", "Client id").fill(host.clientId);
  await found(page, 'input[type="password"]').fill(host.clientSecret);
  await found(page, "dialog button[type=submit]").click();
  await control(page, "button", "Send").click();
  await shows(page, "200 OK");
  await shows(page, '"decision": "HARD_DENY"');
  assert.deepEqual(page.faults, []);
  await page.close();
});
