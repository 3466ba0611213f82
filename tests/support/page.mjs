// Shared by the tests of the page: a signed-in page and its contents.

import assert from "node:assert/strict";
import { buffer } from "node:stream/consumers";
import { after, before } from "node:test";

import { browser, signedIn } from "./browser.mjs";
import { demo } from "./program.mjs";
import { eventually, within } from "./wait.mjs";

/** The demo's project. */
export const PROJECT = "0b8a5d3e-6c1f-4a52-9d7e-2f4b8c6d1e90";

/** The demo and a browser, `{ host, context }`, while the tests of a file run. `prepare` adds to the demo. */
export const onDemo = (prepare) =>
  onHost(async () => {
    const host = await demo();
    await prepare?.(host);
    return host;
  });

/** The same with another host, and with options of the browser. */
export function onHost(start, options) {
  const on = {};
  before(async () => {
    on.host = await start();
    on.context = await browser(options);
  });
  after(async () => {
    await on.context?.close();
    await on.host?.end();
  });
  return on;
}

/** The longest time of a test on a page. Requests to the browser have no deadline themselves. */
const TEST_DEADLINE_MS = 300_000;

/** Runs a test on a signed-in page, and fails if the page logged an error. */
export async function visit({ context, host }, hash, work) {
  const page = await signedIn(context, host, hash);
  try {
    await within(work(page), `a test on ${hash} ends`, TEST_DEADLINE_MS);
    assert.deepEqual(page.faults, []);
  } finally {
    await within(page.close(), `the page of ${hash} closes`);
  }
}

/** The browser's log of a request without an answer. */
export const UNREACHABLE = "Failed to load resource";

/** Removes faults that a test causes from a page's errors, also later ones: statuses, or a part of a text. */
export const expected = (page, ...faults) => {
  page.expected.push(...faults.map((fault) => (typeof fault === "number" ? `status of ${fault} ` : fault)));
  page.faults = page.faults.filter((fault) => !page.expected.some((text) => fault.includes(text)));
};

/**
 * From now on the answers to writes are lost. `reaches` is true if the writes still reach the host, and `reads` if the written
 * data can be read; `lose` loses the answer.
 */
export async function loseAnswers(page, url, { reaches = true, reads = true, lose = (route) => route.abort("connectionreset") } = {}) {
  expected(page, UNREACHABLE);
  await page.route(url, async (route) => {
    if (route.request().method() === "GET") return reads ? route.fallback() : route.abort("connectionreset");
    if (reaches) await route.fetch();
    return lose(route);
  });
}

/** Changes the answers that the page reads: `alter` changes a document. The host does not resend an unchanged one. */
export const alterAnswers = (page, url, alter) =>
  page.route(url, async (route) => {
    const response = await route.fetch();
    if (response.status() !== 200) return route.fulfill({ response });
    const json = await response.json();
    alter(json);
    return route.fulfill({ response, json });
  });

/** The name of the focused control. A test that expects one uses `hasFocus`: the focus may move a moment later. */
const focused = (page) => page.evaluate(() => document.activeElement.getAttribute("aria-label") ?? document.activeElement.labels?.[0]?.textContent ?? document.activeElement.textContent.trim());

/** Waits until a control has the focus, by its name or a pattern of it. */
export const hasFocus = (page, name, why) =>
  eventually(async () => {
    if (name instanceof RegExp) assert.match(await focused(page), name, why);
    else assert.equal(await focused(page), name, why);
  });

/** Presses Tab until a control has the focus. */
export async function tabTo(page, name) {
  for (let presses = 0; presses < 200; presses += 1) {
    if ((await focused(page)) === name) return;
    await page.keyboard.press("Tab");
  }
  assert.fail(`the keyboard does not reach ${name}`);
}

/** Goes to another view, and waits until the previous one is gone. */
export async function go(page, hash) {
  const before = await page.evaluateHandle(() => document.querySelector("main").firstElementChild);
  await page.evaluate((to) => (location.hash = to), hash);
  await eventually(async () => assert.equal(await before.evaluate((view) => view.isConnected), false, `${hash} is shown`));
}

/** From now on notes the rows that flash, however briefly; returns a function that waits until one with a text has. */
export async function flashes(page) {
  await page.evaluate(() => {
    window.flashed = [];
    const note = () => document.querySelectorAll(".changed").forEach((row) => window.flashed.push(row.textContent));
    new MutationObserver(note).observe(document.body, { subtree: true, childList: true, attributeFilter: ["class"] });
  });
  return (text) =>
    eventually(async () => {
      const flashed = await page.evaluate(() => window.flashed);
      assert.ok(flashed.some((row) => row.includes(text)), `a row with ${text} flashes`);
    });
}

export const dialog = (page) => page.getByRole("dialog");
export const decision = (page) => page.locator(".decision-title");
export const agrees = (page) => page.getByText("The host made the same decision").waitFor();
export const shown = (locator, text) => eventually(async () => assert.equal(await locator.textContent(), text));

/** Waits until a control has a value. */
export const hasValue = (locator, value, why) => eventually(async () => assert.equal(await locator.inputValue(), value, why));

/** Waits until there are this many. */
export const hasCount = (locator, count, why) => eventually(async () => assert.equal(await locator.count(), count, why));

/** Chooses in a field with a search, by the whole text of an entry. */
export async function pick(field, text) {
  await field.fill(text);
  const list = field.page().locator(`#${await field.getAttribute("aria-controls")}`);
  await list.getByRole("option", { name: text, exact: true }).click();
}

/** Presses a button as the keyboard does. Content that appears when typing pauses may move it away from a pointer. */
export const pressButton = (scope, name) => scope.getByRole("button", { name, exact: true, disabled: false }).press("Enter");

/** The file that the browser saves when something is pressed: its name and its text. */
export async function downloaded(page, press) {
  const [download] = await Promise.all([page.waitForEvent("download"), press()]);
  return { name: download.suggestedFilename(), text: (await buffer(await download.createReadStream())).toString() };
}

/** Saves the content of the dialog, after its review. */
export async function save(page) {
  await pressButton(dialog(page), "Review");
  await pressButton(dialog(page), "Save");
}

/** Saves a global condition in the dialog, after its review and the question about all tenants. */
export async function saveForAll(page) {
  await save(page);
  await pressButton(dialog(page), "Save for all");
}
