// The folders of the page and of the package: the allowed imports, and that imports have no cycle.
//
//     node --test tests/layout.test.mjs

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";

const root = new URL("../", import.meta.url);

/** The subjects of the package. */
const SUBJECTS = ["js/src/catalog", "js/src/rates", "js/src/webhook"];

/** All of the package. */
const PACKAGE = ["js/src/shared", ...SUBJECTS, "js/src", "js/src/runtime"];

/** The folders that each folder may import. `js/engine` is written by the build. */
const MAY_IMPORT = {
  www: ["www/shared", "www/rules", "www/rates", "www/webhooks", "www/platform", ...PACKAGE],
  "www/shared": ["www/vendor", ...PACKAGE],
  "www/vendor": [],
  "www/rules": ["www/shared", ...PACKAGE],
  "www/rates": ["www/shared", ...PACKAGE],
  "www/webhooks": ["www/shared", ...PACKAGE],
  "www/platform": ["www/shared", ...PACKAGE],
  "www/docs": ["www/shared", "js/src/shared"],
  "js/src": ["js/src/shared", ...SUBJECTS, "js/engine"],
  "js/src/shared": [],
  ...Object.fromEntries(SUBJECTS.map((folder) => [folder, ["js/src/shared"]])),
  // Lines of the decision log name the module that made them.
  "js/src/catalog": ["js/src/shared", "js/engine"],
  "js/src/runtime": ["js/src/shared", ...SUBJECTS, "js/src", "js/engine"],
};

const folderOf = (file) => file.replace(/\/[^/]*$/, "");

const filesIn = (folder) => readdirSync(new URL(folder, root), { recursive: true }).map((name) => `${folder}/${name}`).filter((name) => /\.(js|d\.c?ts)$/.test(name));

/** The files that a file imports, statically or dynamically. Types are imported by the name of the file that they declare. */
function importsOf(file) {
  const text = readFileSync(new URL(file, root), "utf8");
  const found = [...text.matchAll(/(?:^(?:import|export)\b[^;(]*?|\bimport\()"(\.[^"]+)"/gm)].map(([, path]) => new URL(path, new URL(file, root)).href.slice(root.href.length));
  return found.map((path) => (/\.d\.c?ts$/.test(file) ? path.replace(/\.cjs$/, ".d.cts") : path));
}

const imports = new Map([...filesIn("www"), ...filesIn("js/src")].map((file) => [file, importsOf(file)]));

test("each folder imports only what it may", () => {
  const isAllowed = (from, to) => from === to || MAY_IMPORT[from]?.includes(to);
  const wrong = [...imports].flatMap(([file, paths]) => paths.filter((path) => !isAllowed(folderOf(file), folderOf(path))).map((path) => `${file} imports ${path}`));
  assert.deepEqual(wrong, []);
  assert.deepEqual([...new Set([...imports.keys()].map(folderOf))].sort(), Object.keys(MAY_IMPORT).sort());
});

test("no import leads back to its file", () => {
  const done = new Set();
  const walk = (file, path) => {
    assert.ok(!path.includes(file), [...path.slice(path.indexOf(file)), file].join(" imports "));
    if (!done.has(file)) for (const next of imports.get(file) ?? []) walk(next, [...path, file]);
    done.add(file);
  };
  for (const file of imports.keys()) walk(file, []);
});

test("the page writes its numbers in one place", () => {
  // The marks of a chart of rates are rounded texts with their own form, and a date is no number.
  const written = filesIn("www").filter((file) => !file.startsWith("www/vendor/") && /\.toLocaleString\(|Intl\.NumberFormat/.test(readFileSync(new URL(file, root), "utf8")));
  assert.deepEqual(written, ["www/shared/locale.js"]);
});
