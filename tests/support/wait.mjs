// Waiting: a test fails after a deadline, with a message that says what it waited for. No test asserts how long something
// takes: the deadline only ends a failing test.

import { AssertionError } from "node:assert";
import { createInterface } from "node:readline";
import { after } from "node:test";

/** The longest wait of a test. */
export const DEADLINE_MS = 30_000;

/** The longest time for a program that builds or installs something. */
export const BUILD_DEADLINE_MS = 300_000;

// Those of tests may be mocked.
const { setTimeout, clearTimeout } = globalThis;

// A server or a program that a failing test has left open keeps the process of its file from ending.
after(() => {
  const end = () => {
    console.error(`left open: ${process.getActiveResourcesInfo().join(", ")}`);
    process.exit(1);
  };
  setTimeout(end, DEADLINE_MS).unref();
});

const children = new Set();
process.on("exit", () => children.forEach((child) => child.kill("SIGKILL")));

/** Ends a process with this one, if its test has not; returns it. */
export function endsWithThis(child) {
  children.add(child);
  return child;
}

/** Waits for a promise. */
export async function within(coming, what, deadlineMs = DEADLINE_MS) {
  let timer;
  const late = new Promise((resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`not within ${deadlineMs} ms: ${what}`)), deadlineMs);
  });
  try {
    return await Promise.race([coming, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Waits until a condition holds, and asks less often the longer it takes. */
export async function until(holds, what, deadlineMs = DEADLINE_MS) {
  const asking = async (isLate) => {
    for (let pause = 10; !isLate(); pause = Math.min(pause * 1.1, 200)) {
      const held = await holds();
      if (held) return held;
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  };
  let isLate = false;
  try {
    return await within(asking(() => isLate), what, deadlineMs);
  } finally {
    isLate = true;
  }
}

/** Repeats assertions until they hold. After the deadline it fails with their error. */
export async function eventually(check, deadlineMs = DEADLINE_MS) {
  const end = Date.now() + deadlineMs;
  const holds = async () => {
    try {
      await check();
      return true;
    } catch (error) {
      if (Date.now() > end || !(error instanceof AssertionError)) throw error;
      return false;
    }
  };
  await until(holds, "what is asserted can be read", 2 * deadlineMs);
}

/**
 * The lines that a process prints: `next` returns one, undefined at the end; `find` returns the match of the first line that
 * fits a pattern. `close` stops reading them.
 */
export function lines(stream, of) {
  const iterator = createInterface({ input: stream })[Symbol.asyncIterator]();
  const next = async () => (await within(iterator.next(), `a line of ${of}, or its end`)).value;
  const find = async (pattern) => {
    for (;;) {
      const line = await next();
      if (line === undefined) throw new Error(`${of} ended without ${pattern}`);
      const found = pattern.exec(line);
      if (found) return found;
    }
  };
  const close = async () => {
    await iterator.return();
    stream.resume();
  };
  return { next, find: (pattern) => within(find(pattern), `${pattern} of ${of}`), close };
}

/** Waits for the end of a process, and returns its exit code. Kills a process that does not end. */
export async function ended(child, what) {
  try {
    await until(() => child.exitCode !== null || child.signalCode !== null, what);
  } catch (error) {
    child.kill("SIGKILL");
    throw error;
  }
  return child.exitCode;
}
