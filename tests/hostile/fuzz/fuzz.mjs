// Runs a fuzzer, for a time or until it ends: prints each failure with its seed and the smallest request found, and keeps it
// in `tests/hostile/seeds`.

import * as bodies from "./bodies.mjs";
import * as race from "./race.mjs";
import { Random } from "./random.mjs";
import { keepSeed } from "./seeds.mjs";
import * as trees from "./trees.mjs";

/** By name: each has `run({ program, random, report })`. */
const FUZZERS = { bodies, trees, race };

export const fuzzers = Object.keys(FUZZERS);

/** After this many failures the others would be similar. */
const MAX_FAILURES = 10;

/** The progress and failures of a run. */
class Report {
  count = 0;
  failures = [];
  notes = new Map();
  #name;
  #until;
  #known = new Set();

  constructor(name, until) {
    this.#name = name;
    this.#until = until;
  }

  /** True if there is time for more. */
  goesOn() {
    return performance.now() < this.#until && this.failures.length < MAX_FAILURES;
  }

  /** Counts one more tried input. */
  done() {
    this.count += 1;
  }

  /** Notes the largest value measured under a name. */
  note(name, value) {
    this.notes.set(name, Math.max(this.notes.get(name) ?? 0, value));
  }

  /** True if a failure is new, apart from its numbers and ids. */
  isNew(why) {
    const kind = why.replaceAll(/[\da-f]{4,}|\d+/g, "0");
    return !this.#known.has(kind) && this.#known.add(kind) !== undefined;
  }

  /** `{ why, reproduction, input }`: the fault, how to reproduce it, and the fuzzer's input for it. */
  failed({ why, reproduction, input }) {
    const file = input && keepSeed(this.#name, why, input);
    this.failures.push([why, file && `kept in tests/hostile/seeds/${file}`, reproduction].filter(Boolean).join("\n    "));
  }
}

/** Runs a fuzzer for some seconds; returns `{ count, failures, notes }`. */
export async function fuzz(name, { program, seconds, seed }) {
  const report = new Report(name, performance.now() + seconds * 1_000);
  try {
    await FUZZERS[name].run({ program, random: new Random(seed), report });
  } catch (error) {
    report.failed({ why: error.stack ?? String(error) });
  }
  return report;
}

/** The same, printed; returns true without failures. */
export async function fuzzAndPrint(name, { program, minutes, seed }) {
  const { count, failures, notes } = await fuzz(name, { program, seconds: minutes * 60, seed });
  for (const failure of failures) console.log(`FAILED ${failure}`);
  for (const [what, value] of notes) console.log(`${what}: ${value.toFixed(0)}`);
  console.log(`${name}, seed ${seed}: ${count} tried, ${failures.length} failed`);
  return failures.length === 0;
}

/** A different seed for each run, a whole number. */
export const newSeed = () => Date.now() % 2 ** 31;

/** How long each fuzzer runs among the checks. */
const CHECK_SECONDS = 15;

/** The fuzzers as checks, each with a new seed, which failures name. */
export const checks = fuzzers.map((name) => ({
  name: `the fuzzer of ${name} finds nothing`,
  run: async ({ program }) => {
    const seed = newSeed();
    const { failures } = await fuzz(name, { program, seconds: CHECK_SECONDS, seed });
    if (failures.length > 0) throw new Error(`seed ${seed}:\n${failures.join("\n")}`);
  },
}));
