/**
 * How long this package waits for a host that sends nothing. Only an arriving byte proves that a connection still exists, and
 * a runtime may never report that it was lost.
 */

import { TillgateError } from "./error.js";

/** A host sends a heartbeat to its listeners every 15 seconds. */
export const SILENCE_MS = 40_000;

/** The longest delay of a timer. */
const LONGEST_MS = 2 ** 31 - 1;

/** Returns the result of a promise; an error if there is none in time. */
export const withTimeout = (promise, ms = SILENCE_MS) =>
  within(promise, { timeoutMs: ms }, () => new TillgateError({ code: "unavailable", message: "the host has sent nothing for too long" }));

/**
 * Returns the result of a promise. Rejects with the reason of a signal that aborts first, or with `late()` after `timeoutMs`.
 */
export async function within(promise, { signal, timeoutMs = Infinity }, late) {
  let giveUp;
  let timer;
  const givenUp = new Promise((_, reject) => {
    giveUp = () => reject(signal.reason);
    if (timeoutMs < LONGEST_MS) timer = setTimeout(() => reject(late()), timeoutMs);
  });
  if (signal?.aborted) giveUp();
  signal?.addEventListener("abort", giveUp);
  try {
    return await Promise.race([promise, givenUp]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", giveUp);
  }
}
