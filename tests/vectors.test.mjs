// Every vector through the module's JavaScript face in Node.
//
//     node --test tests/vectors.test.mjs

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { describe, test } from "node:test";

const root = new URL("../", import.meta.url);
const read = (path) => readFileSync(new URL(path, root));

// The glue as it is laid for browsers: a `.js` file that Node would take for CommonJS without a package around it.
const glue = await import(`data:text/javascript;base64,${read("js/engine/tillgate.js").toString("base64")}`);
glue.initSync({ module: read("js/engine/tillgate_bg.wasm") });

const NO_STRING = "a JavaScript string cannot hold these bytes";

/** The text of a member of a call, however it is written (`vectors/README.md`); `NO_STRING` when it is no text. */
function sent(call, member) {
  if (`${member}Text` in call) return call[`${member}Text`];
  if (!(`${member}Base64` in call)) return JSON.stringify(call[member]);
  try {
    const bytes = Buffer.from(call[`${member}Base64`], "base64");
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return NO_STRING;
  }
}

const isOf = (call, name) => ["", "Text", "Base64"].some((ending) => name + ending in call);
const isText = (call) =>
  ["document", "request", "rates", "signature"].every((name) => !isOf(call, name) || sent(call, name) !== NO_STRING);

/** The answer as every face frames it: `0` and the text of what is ok, or `1` and that of the error. */
function run(call) {
  if (isOf(call, "rates")) return glue.rates(sent(call, "rates"));
  if (isOf(call, "signature")) return glue.signature(sent(call, "signature"));
  const prepared = glue.Prepared.prepare(call.prepare, sent(call, "document"));
  if (!(prepared instanceof glue.Prepared)) return `1${JSON.stringify(prepared)}`;
  try {
    return "evaluate" in call ? prepared.evaluateText(call.evaluate, sent(call, "request")) : "0null";
  } finally {
    prepared.free();
  }
}

const files = readdirSync(new URL("tests/vectors", root), { recursive: true }).filter((name) => name.endsWith(".json"));
assert.notEqual(files.length, 0);
for (const file of files.sort()) {
  const { subject, vectors } = JSON.parse(read(`tests/vectors/${file}`));
  describe(`${file}: ${subject}`, () => {
    // Bytes that no JavaScript string can hold are for the faces that take bytes.
    for (const { name, call, answer } of vectors.filter(({ call }) => isText(call))) {
      const expected = "ok" in answer ? `0${JSON.stringify(answer.ok)}` : `1${JSON.stringify(answer.error)}`;
      test(name, () => assert.equal(run(call), expected));
    }
  });
}
