// Benchmarks of the package in Node and in Chromium: a decision compared with JSON alone, the first decision after
// loading, ten thousand rows, memory. Prints JSON for tests/bench. The other engines are in `tests/benches/peers.mjs`.

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

import { current } from "../../js/src/shared/engine.js";
import * as tillgate from "../../js/src/runtime/node.js";
import { measure, measureRows, questions } from "../support/measure.mjs";

const root = new URL("../../", import.meta.url);
const samples = readFileSync(new URL("tests/support/samples.rs", root), "utf8");

const node = { ...measure(tillgate, samples), rows: measureRows(tillgate, samples) };
const figures = { node, first: firstDecision(), growth: growth() };
if (process.argv.includes("--chromium")) figures.chromium = await inChromium();
console.log(JSON.stringify(figures));

/** Milliseconds from before the import to after the first decision, in a separate process: the median of eleven. */
function firstDecision() {
  const program = `
    const begin = performance.now();
    const { Catalog } = await import("${new URL("js/src/runtime/node.js", root)}");
    const catalog = new Catalog({ global: [], tenant: [{ id: "beer", rule: "AGE_RESTRICTION", condition_value: { minimum_age: 18 } }] });
    catalog.evaluateCondition("beer", { item: { id: "a" }, context: { customer: { customer_age: 17 } } });
    console.log(performance.now() - begin);`;
  const run = () => Number(execFileSync(process.execPath, ["--input-type=module", "-e", program]));
  return Array.from({ length: 11 }, run).sort((one, other) => one - other)[5];
}

/** The module's memory after ten thousand decisions, and after ten million. */
function growth() {
  const { age, five } = questions(tillgate, samples);
  const requests = [JSON.parse(age.text), JSON.parse(five.text)];
  const bytes = () => current().exports.memory.buffer.byteLength;
  let few;
  for (let turn = 0; turn < 5_000_000; turn += 1) {
    if (turn === 5_000) few = bytes();
    age.decide(requests[0]);
    five.decide(requests[1]);
  }
  return { few, many: bytes() };
}

async function inChromium() {
  const { browser, open } = await import("../support/browser.mjs");
  const { serve } = await import("../support/serve.mjs");
  const site = await serve(fileURLToPath(root));
  const context = await browser();
  const page = await open(context, `${site.url}/blank`);
  const measured = await page.evaluate(async (samples) => {
    const tillgate = await import("/js/src/runtime/browser.js");
    const { measure, measureRows } = await import("/tests/support/measure.mjs");
    await tillgate.init();
    return { ...measure(tillgate, samples), rows: measureRows(tillgate, samples) };
  }, samples);
  await context.close();
  site.end();
  return measured;
}
