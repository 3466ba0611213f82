// Runs a fuzzer, for a time or as long as it takes to look: what fails is printed with its seed and the smallest request
// that was found, and kept in `tests/hostile/seeds`.

import * as bodies from "./bodies.mjs";
import * as race from "./race.mjs";
import { Random } from "./random.mjs";
import { keepSeed } from "./seeds.mjs";
import * as trees from "./trees.mjs";

/** By name: each has `run({ program, random, report })`. */
const FUZZERS = { bodies, trees, race };

export const fuzzers = Object.keys(FUZZERS);

/** After so many failures the rest would be of the same kind. */
const MAX_FAILURES = 10;

/** What a run has done and found. */
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

  /** Whether there is time for more. */
  goesOn() {
    return performance.now() < this.#until && this.failures.length < MAX_FAILURES;
  }

  /** One more input was tried. */
  done() {
    this.count += 1;
  }

  /** The largest of what was measured under a name. */
  note(name, value) {
    this.notes.set(name, Math.max(this.notes.get(name) ?? 0, value));
  }

  /** Whether a failure was not reported yet: its numbers and ids aside. */
  isNew(why) {
    const kind = why.replaceAll(/[\da-f]{4,}|\d+/g, "0");
    return !this.#known.has(kind) && this.#known.add(kind) !== undefined;
  }

  /** `{ why, reproduction, input }`: what is wrong, how to see it, and what the fuzzer takes to try it again. */
  failed({ why, reproduction, input }) {
    const file = input && keepSeed(this.#name, why, input);
    this.failures.push([why, file && `kept in tests/hostile/seeds/${file}`, reproduction].filter(Boolean).join("\n    "));
  }
}

/** Runs a fuzzer for so many seconds; returns `{ count, failures, notes }`. */
export async function fuzz(name, { program, seconds, seed }) {
  const report = new Report(name, performance.now() + seconds * 1_000);
  try {
    await FUZZERS[name].run({ program, random: new Random(seed), report });
  } catch (error) {
    report.failed({ why: error.stack ?? String(error) });
  }
  return report;
}

/** The same, printed; returns whether nothing failed. */
export async function fuzzAndPrint(name, { program, minutes, seed }) {
  const { count, failures, notes } = await fuzz(name, { program, seconds: minutes * 60, seed });
  for (const failure of failures) console.log(`FAILED ${failure}`);
  for (const [what, value] of notes) console.log(`${what}: ${value.toFixed(0)}`);
  console.log(`${name}, seed ${seed}: ${count} tried, ${failures.length} failed`);
  return failures.length === 0;
}

/** Another seed in each run, a whole number. */
export const newSeed = () => Date.now() % 2 ** 31;

/** How long each fuzzer looks among the checks. */
const CHECK_SECONDS = 15;

/** The fuzzers as checks, each run with another seed, which is named when they fail. */
export const checks = fuzzers.map((name) => ({
  name: `the fuzzer of ${name} finds nothing`,
  run: async ({ program }) => {
    const seed = newSeed();
    const { failures } = await fuzz(name, { program, seconds: CHECK_SECONDS, seed });
    if (failures.length > 0) throw new Error(`seed ${seed}:\n${failures.join("\n")}`);
  },
}));
