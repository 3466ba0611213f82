/**
 * Compares two versions of a rule: at once, or in a worker where they have so many values that the page would stand still
 * meanwhile.
 */

import { TillgateError, compare } from "../../js/src/index.js";
import { valueCount } from "./rule-values.js";

/** Versions that have more values together are compared in a worker, which takes a moment to start. */
const MAX_VALUES = 10_000;

const valuesIn = (document) => (document?.project ? valueCount(document.project) : 0);

/** Whether two documents are compared in a worker. */
export const isLong = (before, after) => valuesIn(before) + valuesIn(after) > MAX_VALUES;

/** What the module says about two documents; an abort of `signal` ends it without an answer. */
export function compareApart(before, after, signal) {
  const worker = new Worker(new URL("./compare-worker.js", import.meta.url), { type: "module" });
  const answered = new Promise((resolve, reject) => {
    // Without the worker the page stands still for a moment, but says what it says.
    const compareHere = () => resolve(compare(before, after));
    worker.onmessage = ({ data: { found, error } }) => (error ? reject(new TillgateError(error)) : found ? resolve(found) : compareHere());
    worker.onerror = compareHere;
    worker.postMessage(JSON.stringify({ before, after }));
    signal.addEventListener("abort", () => worker.terminate());
  });
  return answered.finally(() => worker.terminate());
}
