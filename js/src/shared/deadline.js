/**
 * How long this package waits for a host that sends nothing. Whether a connection still exists is only known when
 * something arrives on it, and a runtime may never say that it was lost.
 */

import { TillgateError } from "./error.js";

/** A host sends a heartbeat every 15 seconds to those that listen. */
export const SILENCE_MS = 40_000;

/** The result of a promise; an error if there is none in time. */
export async function withTimeout(promise, ms = SILENCE_MS) {
  let timer;
  const timeout = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new TillgateError({ code: "unavailable", message: "the host has sent nothing for too long" })), ms);
  });
  try {
    return await Promise.race([promise, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
