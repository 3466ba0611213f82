// Every vector in Node: through the glue, through the package's calls of the module, and through the package's API.
//
//     node --test tests/vectors/node.test.mjs

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { describe, test } from "node:test";

import { initSync } from "../../js/engine/tillgate.js";
import * as glue from "../../js/engine/tillgate.js";
import { current } from "../../js/src/shared/engine.js";
import * as tillgate from "../../js/src/runtime/node.js";
import { expected, isText, throughGlue, throughInstance, throughPackage, withValues } from "../support/vector.mjs";

const root = new URL("../../", import.meta.url);
const read = (path) => readFileSync(new URL(path, root));

initSync({ module: read("js/engine/tillgate_bg.wasm") });

let viaApi = 0;
const files = readdirSync(new URL("tests/vectors", root), { recursive: true }).filter((name) => name.endsWith(".json"));
assert.notEqual(files.length, 0);
for (const file of files.sort()) {
  const { subject, vectors } = JSON.parse(read(`tests/vectors/${file}`));
  describe(`${file}: ${subject}`, () => {
    for (const { name, call, answer } of vectors.filter(({ call }) => isText(call))) {
      test(name, () => {
        assert.equal(throughGlue(glue, call), expected(answer));
        assert.equal(throughInstance(current(), call), expected(answer));
        const answered = throughPackage(tillgate, call);
        if (answered === undefined) return;
        assert.equal(answered, expected(answer));
        assert.equal(throughPackage(tillgate, withValues(call)), expected(answer), "with a Map, a Set, a BigInt and undefined");
        viaApi += 1;
      });
    }
  });
}

test("most vectors run through the package's API", () => {
  assert.ok(viaApi > 300, `${viaApi}`);
});
