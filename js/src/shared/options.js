/**
 * Reads the options of what sends requests. Whatever is wrong with them is an error where they are given, not of a later
 * request; so is a name that is not an option.
 */

import { Faults, isObject, isText } from "./faults.js";

/** The options of a client of the host, if nothing is wrong with them; `names` are its own, at which `check(options, faults)` looks. */
export function readOptions(options, names = [], check = () => {}) {
  return checked(options, ["url", "token", "fetch", ...names], (given, faults) => {
    checkUrl("url", given.url, faults);
    if (!isText(given.token) && typeof given.token !== "function") {
      faults.add("$.token", "must be a token, or a function that returns one");
    }
    check(given, faults);
  });
}

/** The options of a token source for a client's credentials, if nothing is wrong with them. */
export function readCredentials(options) {
  const texts = ["clientId", "clientSecret", "audience"];
  return checked(options, ["tokenUrl", "fetch", ...texts], (given, faults) => {
    checkUrl("tokenUrl", given.tokenUrl, faults);
    for (const name of texts) {
      if (!isText(given[name])) faults.add(`$.${name}`, "must be a string that is not empty");
    }
  });
}

/** The options of waiting for a client, if nothing is wrong with them. */
export function readWaiting(options) {
  return checked(options, ["signal", "timeoutMs"], ({ signal, timeoutMs = 0 }, faults) => {
    if (signal !== undefined && typeof signal?.addEventListener !== "function") faults.add("$.signal", "must be an AbortSignal");
    if (typeof timeoutMs !== "number" || !(timeoutMs >= 0)) faults.add("$.timeoutMs", "must be a number of milliseconds");
  });
}

/** The options of a decision, `{ explain, lenient }` and those of `names`, if nothing is wrong with them. */
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
