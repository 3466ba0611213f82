// A real browser: Debian's Chromium with its own profile, driven by playwright-core.

import { mkdirSync, mkdtempSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";

import { chromium } from "playwright-core";

const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** The folder for screenshots. */
export const OUTPUT = new URL("../output/", import.meta.url).pathname;

/** Starts the browser and returns a context. Closing the context ends the browser. */
export async function browser(options = {}) {
  mkdirSync(OUTPUT, { recursive: true });
  const profile = mkdtempSync(`${tmpdir()}/tillgate-browser-`);
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    headless: true,
    args: FLAGS,
    viewport: { width: 1280, height: 800 },
    ...options,
  });
  const close = context.close.bind(context);
  context.close = async () => {
    await close();
    // The browser's child processes may write for a moment longer.
    await rm(profile, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  };
  return context;
}

/** Opens a page and collects its errors in `page.faults`, but for those that have a text of `page.expected` in them. */
export async function open(context, url) {
  const page = await context.newPage();
  // What people see: a screen reader is told the same in an element of its own, some of it a moment later.
  const byText = page.getByText.bind(page);
  page.getByText = (...said) => byText(...said).and(page.locator(":not(.visually-hidden)"));
  page.faults = [];
  page.expected = [];
  const note = (fault) => page.expected.some((text) => fault.includes(text)) || page.faults.push(fault);
  page.on("pageerror", (error) => note(String(error)));
  page.on("console", (message) => message.type() === "error" && note(message.text()));
  await page.goto(url);
  return page;
}

/** Fills in the form for signing in. */
export async function fillIn(page, { clientId, clientSecret }) {
  await page.getByLabel("Client id").fill(clientId);
  await page.getByLabel("Secret", { exact: true }).fill(clientSecret);
}

/** Signs in on a page that asks for it. */
export async function signIn(page, client) {
  await fillIn(page, client);
  await page.getByRole("button", { name: "Sign in" }).click();
}

/** Opens a page and signs in. */
export async function signedIn(context, host, hash = "") {
  const page = await open(context, `${host.url}/${hash}`);
  await signIn(page, host);
  await page.getByRole("heading", { level: 1 }).and(page.locator("main h1:not(.signin h1)")).waitFor();
  return page;
}
