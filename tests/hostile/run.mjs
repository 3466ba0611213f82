// Attacks the program, and reports if a well-behaved tenant notices.
//
//   node tests/hostile/run.mjs [--only NAME ...] [--program PATH] [--idle SECONDS] [--settle SECONDS] [--store redis]
//   node tests/hostile/run.mjs --functional [--only NAME ...] [--program PATH]
//   node tests/hostile/run.mjs --fuzz bodies|trees|race [--minutes N] [--seed N] [--program PATH]
//   node tests/hostile/run.mjs --list
//
// Each attack has its own host, with the default limits. It runs in a process with only the processor time that the others
// leave, and the good tenant's process goes first, as if both were on other machines. The table has the latencies of the good
// tenant before and during it, and the host's memory before, at most during, and afterwards: once it is released, or after
// SECONDS. Exits with 1 if a bound is broken. With `--functional` only statuses, sizes and dropped connections are checked, on
// one host, and no time is measured; the fuzzers run for some seconds each. With `--fuzz` one of them runs for minutes
// (`fuzz/README.md`).

import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { parseArgs } from "node:util";

import { attacks, checks } from "./attacks.mjs";
import { functional } from "./functional.mjs";
import { fuzzAndPrint, fuzzers, newSeed } from "./fuzz/fuzz.mjs";
import { measure } from "./measure.mjs";
import { brokenBounds, header, row } from "./report.mjs";

const { values } = parseArgs({
  options: {
    only: { type: "string", multiple: true },
    program: { type: "string" },
    functional: { type: "boolean", default: false },
    fuzz: { type: "string" },
    minutes: { type: "string", default: "1" },
    seed: { type: "string", default: String(newSeed()) },
    list: { type: "boolean", default: false },
    store: { type: "string", default: "embedded" },
    idle: { type: "string", default: "15" },
    settle: { type: "string", default: "120" },
  },
});

const program = resolve(values.program ?? new URL("../../target/release/tillgate", import.meta.url).pathname);
const named = ({ name }) => !values.only || values.only.some((part) => name.includes(part));

// An interrupted run ends its host too.
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(130));

if (values.list) {
  for (const { name } of attacks) console.log(name);
} else if (!existsSync(program)) {
  console.error(`${program} is not there: cargo build --release -p tillgate`);
  process.exitCode = 2;
} else if (values.fuzz !== undefined && !fuzzers.includes(values.fuzz)) {
  console.error(`${values.fuzz} is none of the fuzzers: ${fuzzers.join(", ")}`);
  process.exitCode = 2;
} else if (values.fuzz !== undefined) {
  const options = { program, minutes: Number(values.minutes), seed: Number(values.seed) };
  process.exitCode = (await fuzzAndPrint(values.fuzz, options)) ? 0 : 1;
} else if (values.functional) {
  const { passed, failed } = await functional(program, checks.filter(named));
  console.log(`${passed} passed, ${failed} failed`);
  process.exitCode = failed > 0 || passed === 0 ? 1 : 0;
} else {
  console.log(header());
  const options = { idleSeconds: Number(values.idle), settleSeconds: Number(values.settle), onRedis: values.store === "redis" };
  let broken = 0;
  for (const attack of attacks.filter(named)) {
    const bounds = [];
    try {
      const measured = await measure(program, attack, options);
      console.log(row(attack.name, measured));
      bounds.push(...brokenBounds(measured));
    } catch (error) {
      console.log(attack.name);
      bounds.push(`it could not be measured: ${error.message}`);
    }
    broken += bounds.length;
    for (const bound of bounds) console.log(`    BROKEN: ${bound}`);
  }
  console.log(broken === 0 ? "\nall bounds hold" : `\n${broken} bounds are broken`);
  process.exitCode = broken === 0 ? 0 : 1;
}
