// A real browser: Debian's Chromium, driven by playwright-core. The tests of a file share one; each context acts as a separate
// browser, without the cookies and storage of others.

import { existsSync, mkdirSync } from "node:fs";

import { chromium } from "playwright-core";

/**
 * Chromium without windows, menus and extensions, which take a third of the processor time of a visit; the same engine shows
 * the pages.
 */
const WITHOUT_WINDOWS = "/usr/bin/chromium-headless-shell";

/** The options for starting Chromium. */
const LAUNCH = {
  executablePath: process.env.CHROMIUM ?? (existsSync(WITHOUT_WINDOWS) ? WITHOUT_WINDOWS : "/usr/bin/chromium"),
  headless: true,
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
};

/** The folder for screenshots. */
export const OUTPUT = new URL("../output/", import.meta.url).pathname;

let shared;
let contexts = 0;

/** Opens a context in the browser of this process, which ends with its last context. */
export async function browser(options = {}) {
  mkdirSync(OUTPUT, { recursive: true });
  contexts += 1;
  shared ??= chromium.launch(LAUNCH);
  const used = await shared;
  const context = await used.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  // A window that stays, in which pages open as tabs: a window per page costs twice the processor time.
  await context.newPage();
  const close = context.close.bind(context);
  context.close = async () => {
    for (const routed of [context, ...context.pages()]) await routed.unrouteAll({ behavior: "ignoreErrors" });
    await close();
    contexts -= 1;
    if (contexts > 0) return;
    shared = undefined;
    await used.close();
  };
  return context;
}

/**
 * Opens a page and collects its errors in `page.faults`, except those that contain a text of `page.expected`. `prepare` gets
 * the page first.
 */
export async function open(context, url, prepare) {
  const page = await context.newPage();
  // The text that people see: screen readers get the same text in a separate element, some of it a moment later.
  const byText = page.getByText.bind(page);
  page.getByText = (...said) => byText(...said).and(page.locator(":not(.visually-hidden)"));
  page.faults = [];
  page.expected = [];
  const note = (fault) => page.expected.some((text) => fault.includes(text)) || page.faults.push(fault);
  // A page makes requests by itself, even while it is closed: answering in place of the host may then fail.
  const close = page.close.bind(page);
  page.close = async (options) => {
    if (!page.isClosed()) await page.unrouteAll({ behavior: "ignoreErrors" });
    await close(options);
  };
  page.on("pageerror", (error) => note(String(error)));
  page.on("console", (message) => message.type() === "error" && note(message.text()));
  await prepare?.(page);
  await page.goto(url);
  return page;
}

/** Fills in the sign-in form. */
export async function fillIn(page, { clientId, clientSecret }) {
  await page.getByLabel("Client id").fill(clientId);
  await page.getByLabel("Secret", { exact: true }).fill(clientSecret);
}

/** Signs in on a page that asks for it. */
export async function signIn(page, client) {
  await fillIn(page, client);
  await page.getByRole("button", { name: "Sign in" }).click();
}

const tokens = new Map();

/** A token of a client, the same each time. */
function tokenOf({ url, clientId, token }) {
  const key = `${url} ${clientId}`;
  if (!tokens.has(key)) tokens.set(key, token());
  return tokens.get(key);
}

/** Opens a page that is signed in already, like a reloaded page of someone who chose to stay signed in. */
export async function signedIn(context, host, hash = "") {
  const kept = JSON.stringify({ token: await tokenOf(host) });
  const page = await open(context, `${host.url}/${hash}`, (page) =>
    page.addInitScript((kept) => {
      if (window.name === "signed in") return;
      window.name = "signed in";
      sessionStorage.setItem("tillgate-credentials", kept);
    }, kept),
  );
  await page.getByRole("heading", { level: 1 }).and(page.locator("main h1:not(.signin h1)")).waitFor();
  return page;
}
