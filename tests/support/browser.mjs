// A real browser: Debian's Chromium, driven by playwright-core. The tests of a file share one; each context is as good as a
// browser of its own, with no cookie and no storage of another.

import { existsSync, mkdirSync } from "node:fs";

import { chromium } from "playwright-core";

/** Chromium without windows, menus and extensions, which are a third of the processor time of a visit; the pages are shown by the same engine. */
const WITHOUT_WINDOWS = "/usr/bin/chromium-headless-shell";

/** How Chromium is started. */
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
  // A window that stays, in which pages open as tabs: a window for each page costs twice the processor time.
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

/** Opens a page and collects its errors in `page.faults`, but for those that have a text of `page.expected` in them. `prepare` gets it first. */
export async function open(context, url, prepare) {
  const page = await context.newPage();
  // What people see: a screen reader is told the same in an element of its own, some of it a moment later.
  const byText = page.getByText.bind(page);
  page.getByText = (...said) => byText(...said).and(page.locator(":not(.visually-hidden)"));
  page.faults = [];
  page.expected = [];
  const note = (fault) => page.expected.some((text) => fault.includes(text)) || page.faults.push(fault);
  // A page asks on its own, also while it is closed: what then answers in its place may fail.
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

const tokens = new Map();

/** A token of a client, the same each time. */
function tokenOf({ url, clientId, token }) {
  const key = `${url} ${clientId}`;
  if (!tokens.has(key)) tokens.set(key, token());
  return tokens.get(key);
}

/** Opens a page that is signed in already, as one is that was reloaded by someone who has chosen to stay signed in. */
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
