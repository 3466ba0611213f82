// The programs in the documentation, run as they are printed.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { gzipSync } from "node:zlib";

const root = new URL("../", import.meta.url);

function program(file, language) {
  const text = readFileSync(new URL(file, root), "utf8");
  return text.split("```" + language + "\n")[1].split("```")[0];
}

test("the program of engine/README.md decides", { skip: !process.env.PYTHON && "PYTHON is not set to a Python with wasmtime" }, () => {
  const printed = execFileSync(process.env.PYTHON, ["-c", program("engine/README.md", "python")], {
    cwd: root,
    encoding: "utf8",
  });
  assert.match(printed, /age_restriction\.underage/);
});

test("the module is at most 64 KiB, compressed", () => {
  const module = readFileSync(new URL("js/engine/tillgate_bg.wasm", root));
  const { length } = gzipSync(module, { level: 9 });
  assert.ok(length <= 64 * 1024, `${length} bytes`);
});
