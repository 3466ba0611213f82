// Every vector in Chromium: through the glue, the package's instance and the package's API, under a policy that allows only a
// page's own scripts and WebAssembly.

import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";

import { browser, open } from "../support/browser.mjs";
import { POLICY, serve } from "../support/serve.mjs";
import { within } from "../support/wait.mjs";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

let context;
let site;
before(async () => {
  context = await browser();
  site = await serve(ROOT);
});
after(async () => {
  await context.close();
  site.end();
});

/** The result of a function in a page, within ample time for all vectors. */
const inPage = (page, work, given) => within(page.evaluate(work, given), "what the page is asked to do", 120_000);

test("a page answers every vector as expected", async () => {
  const page = await open(context, `${site.url}/blank`);
  const files = readdirSync(`${ROOT}/tests/vectors`, { recursive: true }).filter((name) => name.endsWith(".json"));
  const { ran, wrong } = await inPage(page, async (files) => (await import("/tests/support/every-vector.mjs")).answerAll(files), files);
  assert.deepEqual(wrong, []);
  assert.ok(ran > 900, `${ran}`);
  assert.deepEqual(page.faults, []);
});

test("a page whose policy forbids WebAssembly gets an error, and may try again", async () => {
  const strict = await serve(ROOT, { policy: POLICY.replace(" 'wasm-unsafe-eval'", "") });
  const page = await open(context, `${strict.url}/blank`);
  const results = await inPage(page, async () => {
    const { init } = await import("/js/src/runtime/browser.js");
    const failure = () => init().then(() => "loaded", ({ code, cause }) => `${code} ${cause.name}`);
    return [await failure(), await failure()];
  });
  assert.deepEqual(results, ["wrong_module CompileError", "wrong_module CompileError"]);
  strict.end();
});

test("a module with an unknown media type loads, and a missing one is reported with its URL", async () => {
  const plain = await serve(ROOT, { types: { ".js": "text/javascript" } });
  const page = await open(context, `${plain.url}/blank`);
  const results = await inPage(page, async () => {
    const { Catalog, init } = await import("/js/src/runtime/browser.js");
    const missing = await init("/nowhere.wasm").catch(({ code, message }) => `${code}: ${message}`);
    const url = "/js/engine/tillgate_bg.wasm";
    await Promise.all([init(url), init(url)]);
    return [missing, new Catalog({ global: [], tenant: [] }).evaluateProjectRestrictions({ projectId: crypto.randomUUID(), item: { id: "a" } }).allow];
  });
  assert.match(results[0], /^unavailable: the module cannot be loaded from .*nowhere\.wasm: 404/);
  assert.equal(results[1], false);
  plain.end();
});

test("a web worker decides, with its own module or one that the page has compiled", async () => {
  const page = await open(context, `${site.url}/blank`);
  const results = await inPage(page, async () => {
    return new Promise((resolve, reject) => {
      const worker = new Worker("/tests/support/worker.mjs", { type: "module" });
      worker.onerror = ({ message }) => reject(new Error(message));
      const answers = [];
      worker.onmessage = async ({ data }) => {
        if (data === "ready") worker.postMessage(await WebAssembly.compileStreaming(fetch("/js/engine/tillgate_bg.wasm")));
        else if (answers.push(data) === 1) worker.postMessage(undefined);
        else resolve(answers);
      };
    });
  });
  assert.deepEqual(results, ["SOFT_DENY", "SOFT_DENY"]);
});

test("a page follows the rates of a shop", async () => {
  const page = await open(context, `${site.url}/blank`);
  const results = await inPage(page, async () => {
    const { RatesClient } = await import("/js/src/runtime/rates.browser.js");
    const rate = (rateValue) => ({ exchangeRateType: "SALES", rateValue, rateValueWithMarkup: rateValue, createdDate: "2026-11-20T17:40:00.000Z" });
    const data = { tenantId: "demo", businessUnitId: "se-001", updatedRates: [{ ...rate(11.1), sourceCurrencyCode: "SEK", targetCurrencyCode: "EUR" }] };
    const message = { messageId: "1", publishTime: "2026-11-20T17:40:00.000001Z", attributes: {}, data };
    let send;
    const stream = new ReadableStream({ start: (controller) => (send = (text) => controller.enqueue(new TextEncoder().encode(text))) });
    const answer = (url) =>
      url.includes("/topics/") ? new Response(stream) : Response.json([{ ...rate(11.05), currencyIdFrom: "SEK", currencyIdTo: "EUR" }]);
    const client = new RatesClient({ url: location.origin, token: "t", businessUnitId: "se-001", fetch: async (url) => answer(url) });
    const convert = () => client.convert({ amount: "100", from: "EUR", to: "SEK", exchangeRateType: "SALES" }).amount;
    send("id: 0\n\n");
    await client.ready();
    const amounts = [convert()];
    const changed = new Promise((resolve) => client.addEventListener("change", resolve, { once: true }));
    send(`id: 1\ndata: ${JSON.stringify(message)}\n\n`);
    await changed;
    amounts.push(convert());
    client.close();
    return amounts;
  });
  assert.deepEqual(results, ["1105.00", "1110.00"]);
  assert.deepEqual(page.faults, []);
});
