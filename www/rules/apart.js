/**
 * Calls of the module about a rule: at once, or in a worker if there are so many values that the page would freeze.
 */

import { Catalog, TillgateError, compare } from "../../js/src/index.js";
import { valueCount } from "./rule-values.js";

/** With more values a call runs in a worker, which takes a moment to start. */
const MAX_VALUES = 10_000;

const CALLS = {
  /** Compares the decisions of two versions of a rule. */
  compare: ({ before, after }) => compare(before, after),
  /** Throws the faults of a project. */
  check: (project) => new Catalog({ global: [], tenant: [], projects: [project] }).free(),
};

/** Makes a call here. */
export const callHere = (name, given) => CALLS[name](given);

/** True if these projects, some of which may be missing, have so many values that a call about them runs in a worker. */
export const isLong = (...projects) => projects.reduce((count, project) => count + (project ? valueCount(project) : 0), 0) > MAX_VALUES;

/** Makes a call, in a worker if it `isApart`; an abort of `signal` then ends it without an answer. */
export const call = async (name, given, { isApart, signal }) => (isApart ? callApart(name, given, signal) : callHere(name, given));

function callApart(name, given, signal) {
  const worker = new Worker(new URL("./apart-worker.js", import.meta.url), { type: "module" });
  const answered = new Promise((resolve, reject) => {
    worker.onmessage = ({ data: { answer, error } }) => (error ? reject(new TillgateError(error)) : resolve(answer));
    // Without the worker the page freezes for a moment, but gets the same answer.
    worker.onerror = () => resolve(new Promise((done) => done(callHere(name, given))));
    worker.postMessage(JSON.stringify({ name, given }));
    signal?.addEventListener("abort", () => worker.terminate());
  });
  return answered.finally(() => worker.terminate());
}
