// Before there is a session: the loaded files and their size, and signing in while the host is unavailable.
//
//     cargo build && node --test tests/page/loading.test.mjs

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { browser, fillIn, open } from "../support/browser.mjs";
import { decision, hasCount, hasValue, onDemo, shown } from "../support/page.mjs";
import { until } from "../support/wait.mjs";

/** The size limit of the page: all bytes sent for the first view. */
const MAX_BYTES = 185 * 1024;

/** The limit of the page of the API's documents, without the documents; and of the files that only this page has. */
const MAX_DOCS_BYTES = 50 * 1024;
const MAX_OWN_DOCS_BYTES = 32 * 1024;

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

/** The files sent to a browser with an empty cache, by path, with the bytes of each over the wire. */
async function sent(work) {
  const own = await browser();
  try {
    const page = await own.newPage();
    const cdp = await own.newCDPSession(page);
    await cdp.send("Network.enable");
    const paths = new Map();
    const sizes = new Map();
    cdp.on("Network.responseReceived", ({ requestId, response }) => paths.set(requestId, new URL(response.url).pathname));
    cdp.on("Network.loadingFinished", ({ requestId, encodedDataLength }) => sizes.set(requestId, encodedDataLength));
    await work(page);
    const files = [...paths].filter(([, path]) => ["/", "/docs"].includes(path) || path.startsWith("/files/"));
    await until(() => files.every(([id]) => sizes.has(id)), "the end of every file");
    return files.map(([id, path]) => ({ path, size: sizes.get(id) }));
  } finally {
    await own.close();
  }
}

const sum = (files) => files.reduce((total, { size }) => total + size, 0);

test("the page weighs at most 185 KB over the wire", async () => {
  const files = await sent(async (page) => {
    await page.goto(on.host.url);
    await fill(page);
    await signIn(page);
    await shown(decision(page), "Must not be sold");
  });
  console.log(`# the page: ${files.length} files, ${sum(files)} bytes over the wire`);
  assert.ok(files.some(({ path }) => path.endsWith(".wasm")));
  assert.ok(!files.some(({ path }) => path.includes("/docs")), "nothing of the API's documents");
  assert.ok(sum(files) <= MAX_BYTES, `${sum(files)}`);
});

test("rates and webhooks are loaded when they are opened", async () => {
  const own = await browser();
  try {
    const page = await own.newPage();
    const paths = new Set();
    page.on("request", (request) => paths.add(new URL(request.url()).pathname));
    await page.goto(on.host.url);
    await fill(page);
    await signIn(page);
    await shown(decision(page), "Must not be sold");
    const isLoaded = (folder) => [...paths].some((path) => path.includes(`/www/${folder}/`));
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

test("who comes again is sent nothing but the page itself", async () => {
  const own = await browser();
  try {
    const page = await own.newPage();
    const cdp = await own.newCDPSession(page);
    await cdp.send("Network.enable");
    const sent = [];
    cdp.on("Network.responseReceived", ({ response }) => response.fromDiskCache || sent.push(new URL(response.url).pathname));
    const visit = async () => {
      await page.goto(on.host.url);
      await fill(page);
      await signIn(page);
      await shown(decision(page), "Must not be sold");
    };
    await visit();
    assert.ok(sent.filter((path) => path.startsWith("/files/")).length > 20, `${sent}`);
    await page.goto("about:blank");
    sent.length = 0;
    await visit();
    assert.ok(sent.includes("/"));
    assert.deepEqual(sent.filter((path) => path.startsWith("/files/")), []);
  } finally {
    await own.close();
  }
});

test("the page of the API's documents weighs at most 50 KB over the wire, of which 32 KB are its own", async () => {
  const files = await sent(async (page) => {
    for (const name of ["openapi.json", "asyncapi.json"]) await page.route(`**/${name}`, (route) => route.fulfill({ path: new URL(name, import.meta.url).pathname }));
    await page.goto(`${on.host.url}/docs#putCondition`);
    await page.getByRole("heading", { name: "Create or replace a condition" }).waitFor();
  });
  const own = files.filter(({ path }) => path.includes("/docs"));
  console.log(`# the API's documents: ${files.length} files, ${sum(files)} bytes over the wire; its own: ${own.length} files, ${sum(own)} bytes`);
  assert.ok(own.length > 5, `${own.length}`);
  assert.ok(sum(own) <= MAX_OWN_DOCS_BYTES, `${sum(own)}`);
  assert.ok(sum(files) <= MAX_DOCS_BYTES, `${sum(files)}`);
});

describe("while the host is unavailable, signing in says so and goes on by itself", () => {
  const unavailable = {
    "and cannot be reached": (route) => route.abort(),
    // Accepts the connection and never answers.
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
