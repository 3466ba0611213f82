// A second browser engine: Debian's Firefox, driven over WebDriver BiDi by puppeteer-core. Puppeteer's waiting compiles
// functions from text in the page, which the page's policy forbids in some versions, so these tests poll the page instead.

import assert from "node:assert/strict";

import puppeteer from "puppeteer-core";

import { eventually } from "./wait.mjs";

/** Starts Firefox with its own profile; returns puppeteer's browser. */
export const firefox = () =>
  puppeteer.launch({
    browser: "firefox",
    executablePath: process.env.FIREFOX ?? "/usr/bin/firefox-esr",
    headless: true,
    defaultViewport: { width: 1280, height: 800 },
  });

/** Opens a page and collects its errors in `page.faults`. */
export async function open(browser, url) {
  const page = await browser.newPage();
  page.faults = [];
  page.on("pageerror", (error) => page.faults.push(String(error)));
  page.on("console", (message) => message.type() === "error" && page.faults.push(message.text()));
  await page.goto(url);
  return page;
}

/** The element of a selector, once it is shown: `{ wait, click, fill }`. */
export function found(page, selector) {
  const wait = async () => {
    let handle;
    await eventually(async () => {
      handle = await page.$(selector);
      assert.ok(await handle?.evaluate((element) => element.checkVisibility()), `${selector} is shown`);
    });
    return handle;
  };
  const type = (input, text) => {
    input.focus();
    input.value = text;
    for (const event of ["input", "change"]) input.dispatchEvent(new Event(event, { bubbles: true }));
  };
  return { wait, click: async () => (await wait()).click(), fill: async (text) => (await wait()).evaluate(type, text) };
}

/** A control by its role and its name. */
export const control = (page, role, name) => found(page, `::-p-aria([name="${name}"][role="${role}"])`);

/** Waits until a condition holds in the page. */
export const holds = (page, condition, ...args) => eventually(async () => assert.ok(await page.evaluate(condition, ...args), `${condition} ${args}`));

/** Waits until the page shows a text. */
export const shows = (page, text) => holds(page, (text) => document.querySelector("main").innerText.includes(text), text);

/** Opens a view of the page and signs in. */
export async function signedIn(browser, host, hash) {
  const page = await open(browser, `${host.url}/${hash}`);
  await control(page, "textbox", "Client id").fill(host.clientId);
  await found(page, 'input[type="password"]').fill(host.clientSecret);
  await control(page, "button", "Sign in").click();
  return page;
}
