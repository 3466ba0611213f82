/**
 * How long this package waits for a host that sends nothing. Whether a connection still exists is only known when
 * something arrives on it, and a runtime may never say that it was lost.
 */

import { TillgateError } from "./error.js";

/** A host sends a heartbeat every 15 seconds to those that listen. */
export const SILENCE_MS = 40_000;

/** The longest time that a timer can wait. */
const LONGEST_MS = 2 ** 31 - 1;

/** The result of a promise; an error if there is none in time. */
export const withTimeout = (promise, ms = SILENCE_MS) =>
  within(promise, { timeoutMs: ms }, () => new TillgateError({ code: "unavailable", message: "the host has sent nothing for too long" }));

/** The result of a promise; the reason of a signal that aborts first, or the error that `late` makes after `timeoutMs`. */
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
