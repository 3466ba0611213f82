// What a prepared decision costs in JavaScript, object in and object out, beside JSON.parse of the same input and
// JSON.stringify of the same output. Prints `{ "age": ratio, "five": ratio, ... }` for tests/bench.

import { readFileSync } from "node:fs";

const root = new URL("../", import.meta.url);
const read = (path) => readFileSync(new URL(path, root));
const glue = await import(`data:text/javascript;base64,${read("js/engine/tillgate.js").toString("base64")}`);
glue.initSync({ module: read("js/engine/tillgate_bg.wasm") });

const samples = read("tests/support/samples.rs").toString();
const sample = (name) => samples.match(new RegExp(`${name}: &str =\\s*r#"(.*)"#`))[1];
const ids = Array.from({ length: 100 }, (_, id) => `item-${String(id).padStart(3, "0")}`);
const five = {
  restrictions: [
    { type: "WHITELIST", propertyName: "productGroup", allowedValues: ["timber", "fasteners", "insulation"] },
    { type: "BLACKLIST", propertyName: "brand", deniedValues: ["umbrella", "initech"] },
    { type: "BOOLEAN", propertyName: "hazardous", value: false },
    { type: "WHITELISTEDITEMS", itemIds: ids },
    { type: "BLACKLISTEDITEMS", itemIds: ["item-900", "item-901"] },
  ],
};

const BATCH = 20_000;

/** The nanoseconds of one call: the least of many batches. */
function time(call) {
  let least = Infinity;
  for (let batch = 0; batch < 30; batch += 1) {
    const begin = process.hrtime.bigint();
    for (let turn = 0; turn < BATCH; turn += 1) call();
    least = Math.min(least, Number(process.hrtime.bigint() - begin) / BATCH);
  }
  return least;
}

const figures = {};
for (const [name, kind, document, line, request] of [
  ["age", "catalog", sample("CATALOG"), "condition alcohol", sample("AGE_REQUEST")],
  ["five", "project", JSON.stringify(five), "project", sample("ITEM_REQUEST")],
]) {
  const prepared = glue.Prepared.prepare(kind, document);
  const object = JSON.parse(request);
  const decide = () => JSON.parse(prepared.evaluateText(line, JSON.stringify(object)).slice(1));
  const answer = decide();
  let kept;
  const json = time(() => {
    kept = JSON.parse(request);
    kept = JSON.stringify(answer);
  });
  const decision = time(() => {
    kept = decide();
  });
  figures[name] = { decision, json, ratio: decision / json };
}
console.log(JSON.stringify(figures));
