// Inputs that failed once: one file each in `tests/hostile/seeds`, sent first in every run.

import { createHash } from "node:crypto";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";

const FOLDER = new URL("../seeds/", import.meta.url);

/** The kept inputs of a fuzzer: `{ file, why, input }`. */
export function keptSeeds(fuzzer) {
  const files = readdirSync(FOLDER).filter((file) => file.startsWith(`${fuzzer}-`) && file.endsWith(".json"));
  return files.sort().map((file) => ({ file, ...JSON.parse(readFileSync(new URL(file, FOLDER), "utf8")) }));
}

/** Keeps a failing input, unless it is kept already; returns the name of its file. */
export function keepSeed(fuzzer, why, input) {
  const digest = createHash("sha256").update(JSON.stringify(input)).digest("hex").slice(0, 12);
  const file = `${fuzzer}-${digest}.json`;
  writeFileSync(new URL(file, FOLDER), `${JSON.stringify({ why, input }, null, 2)}\n`);
  return file;
}
