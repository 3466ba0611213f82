// Before there is a session: what is loaded, how much it is, and signing in while the host is unavailable.
//
//     cargo build && node --test tests/page-loading.test.mjs

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { browser, fillIn, open } from "./support/browser.mjs";
import { decision, hasCount, hasValue, onDemo, shown } from "./support/page.mjs";
import { until } from "./support/wait.mjs";

/** What the page may weigh: the sum of all bytes that are sent for the first view. */
const MAX_BYTES = 170 * 1024;

const on = onDemo();

const fill = (page) => fillIn(page, on.host);
const signIn = (page) => page.getByRole("button", { name: "Sign in" }).click();

test("the form is visible before the module arrives, and what is typed there is used then", async () => {
  const page = await on.context.newPage();
  let release;
  const released = new Promise((resolve) => (release = resolve));
  await page.route("**/*.wasm", async (route) => {
    await released;
    await route.continue();
  });
  await page.goto(on.host.url, { waitUntil: "commit" });
  await fill(page);
  await signIn(page);
  await page.getByRole("button", { name: "Signing in…" }).waitFor();
  release();
  await page.getByRole("heading", { name: "Preview" }).waitFor();
  await shown(decision(page), "Must not be sold");
  await page.close();
});

test("the page weighs at most 170 KB over the wire, and the rest is loaded when it is opened", async () => {
  const own = await browser();
  try {
    const page = await own.newPage();
    const cdp = await own.newCDPSession(page);
    await cdp.send("Network.enable");
    const paths = new Map();
    const sizes = new Map();
    cdp.on("Network.responseReceived", ({ requestId, response }) => paths.set(requestId, new URL(response.url).pathname));
    cdp.on("Network.loadingFinished", ({ requestId, encodedDataLength }) => sizes.set(requestId, encodedDataLength));
    await page.goto(on.host.url);
    await fill(page);
    await signIn(page);
    await shown(decision(page), "Must not be sold");
    const files = [...paths].filter(([, path]) => path === "/" || path.startsWith("/www/") || path.startsWith("/js/"));
    await until(() => files.every(([id]) => sizes.has(id)), "the end of every file");
    const total = files.reduce((sum, [id]) => sum + sizes.get(id), 0);
    console.log(`# the page: ${files.length} files, ${total} bytes over the wire`);
    assert.ok(files.some(([, path]) => path.endsWith(".wasm")));
    assert.ok(total <= MAX_BYTES, `${total}`);
    const isLoaded = (folder) => [...paths.values()].some((path) => path.startsWith(`/www/${folder}/`));
    for (const [title, folder] of [["Rates", "rates"], ["Webhooks", "webhooks"]]) {
      assert.ok(!isLoaded(folder), `${title} is loaded when it is opened`);
      await page.getByRole("link", { name: title, exact: true }).click();
      await page.getByRole("heading", { level: 1, name: title }).waitFor();
      await until(() => isLoaded(folder), `the files of ${title}`);
    }
  } finally {
    await own.close();
  }
});

describe("while the host is unavailable, signing in says so and goes on by itself", () => {
  const unavailable = {
    "and cannot be reached": (route) => route.abort(),
    // It accepts the connection and never answers.
    "and does not answer": () => {},
  };
  for (const [name, handle] of Object.entries(unavailable)) {
    test(name, async () => {
      const page = await open(on.context, on.host.url);
      await fill(page);
      await page.route(/\/(oauth2|api)\//, handle);
      await signIn(page);
      await page.getByRole("alert").getByText("The host cannot be reached. You will be signed in as soon as it answers.").waitFor();
      await page.unroute(/\/(oauth2|api)\//);
      await page.getByRole("heading", { name: "Preview" }).waitFor();
      await page.close();
    });
  }

  test("until it is stopped", async () => {
    const page = await open(on.context, on.host.url);
    await fill(page);
    await page.route("**/oauth2/token", (route) => route.abort());
    await signIn(page);
    await page.getByRole("button", { name: "Stop" }).click();
    await page.getByRole("button", { name: "Sign in" }).and(page.locator(":enabled")).waitFor();
    await hasValue(page.getByLabel("Client id"), on.host.clientId);
    await hasCount(page.getByText("The host cannot be reached"), 0);
    await page.close();
  });
});
