// A second browser engine: Debian's Firefox, driven over WebDriver BiDi by puppeteer-core.

import puppeteer from "puppeteer-core";

/** Starts Firefox with a profile of its own; returns puppeteer's browser. */
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

/** A control by its role and its name. */
export const control = (page, role, name) => page.locator(`::-p-aria([name="${name}"][role="${role}"])`);

/** Waits until the page shows a text. */
export const shows = (page, text) => page.waitForFunction((text) => document.querySelector("main").innerText.includes(text), {}, text);

/** Opens a view of the page and signs in. */
export async function signedIn(browser, host, hash) {
  const page = await open(browser, `${host.url}/${hash}`);
  await control(page, "textbox", "Client id").fill(host.clientId);
  await page.locator('input[type="password"]').fill(host.clientSecret);
  await control(page, "button", "Sign in").click();
  return page;
}
