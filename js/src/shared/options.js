/**
 * Reads the options of what sends requests. Anything wrong, including an unknown name, is an error where the options are given
 * and not in a later request.
 */

import { Faults, isObject, isText } from "./faults.js";

/**
 * Returns the options of a client of the host if they are right; `names` are the client's own, checked by
 * `check(options, faults)`.
 */
export function readOptions(options, names = [], check = () => {}) {
  return checked(options, ["url", "token", "fetch", ...names], (given, faults) => {
    checkUrl("url", given.url, faults);
    if (!isText(given.token) && typeof given.token !== "function") {
      faults.add("$.token", "must be a token, or a function that returns one");
    }
    check(given, faults);
  });
}

/** Returns the options of a token source for a client's credentials if they are right. */
export function readCredentials(options) {
  const texts = ["clientId", "clientSecret", "audience"];
  return checked(options, ["tokenUrl", "fetch", ...texts], (given, faults) => {
    checkUrl("tokenUrl", given.tokenUrl, faults);
    for (const name of texts) {
      if (!isText(given[name])) faults.add(`$.${name}`, "must be a string that is not empty");
    }
  });
}

/** Returns the options for waiting for a client if they are right. */
export function readWaiting(options) {
  return checked(options, ["signal", "timeoutMs"], ({ signal, timeoutMs = 0 }, faults) => {
    if (signal !== undefined && typeof signal?.addEventListener !== "function") faults.add("$.signal", "must be an AbortSignal");
    if (typeof timeoutMs !== "number" || !(timeoutMs >= 0)) faults.add("$.timeoutMs", "must be a number of milliseconds");
  });
}

/** Returns the options of a decision, `{ explain, lenient }` and those in `names`, if they are right. */
export function readDecisionOptions(options, names = []) {
  return options === undefined ? {} : checked(options, ["explain", "lenient", ...names]);
}

function checked(options, names, check = () => {}) {
  const faults = new Faults();
  if (!isObject(options)) faults.add("$", "the options must be an object");
  faults.throwIfAny();
  faults.addUnknown("$", options, names);
  check(options, faults);
  if (options.fetch !== undefined && typeof options.fetch !== "function") faults.add("$.fetch", "must be a function");
  faults.throwIfAny();
  return options;
}

function checkUrl(name, value, faults) {
  try {
    if (/^https?:$/.test(new URL(value).protocol)) return;
  } catch {}
  faults.add(`$.${name}`, "must be a URL with its scheme, such as https://till.example");
}
