// A real browser: Debian's chromium, in a profile of its own, driven by playwright-core.

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

/** Where screenshots are kept. */
export const OUTPUT = new URL("../output/", import.meta.url).pathname;

/** Starts the browser and answers a context, which ends the browser when it is closed. */
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
    // Its helpers may write for a moment longer.
    await rm(profile, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  };
  return context;
}

/** A page of the context on which every error fails the test: `page.faults` has them. */
export async function open(context, url) {
  const page = await context.newPage();
  page.faults = [];
  page.on("pageerror", (error) => page.faults.push(String(error)));
  page.on("console", (message) => message.type() === "error" && page.faults.push(message.text()));
  await page.goto(url);
  return page;
}

/** A page that is signed in. */
export async function signedIn(context, host, hash = "") {
  const page = await open(context, `${host.url}/${hash}`);
  await page.getByLabel("Client id").fill(host.clientId);
  await page.getByLabel("Secret", { exact: true }).fill(host.clientSecret);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { level: 1 }).and(page.locator("main h1:not(.signin h1)")).waitFor();
  return page;
}
