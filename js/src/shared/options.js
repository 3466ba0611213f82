/**
 * Reads the options of what sends requests. Whatever is wrong with them is an error where they are given, not of a later
 * request.
 */

import { Faults, isObject, isText } from "./faults.js";

/** The options of a client of the host, if nothing is wrong with them; `check(options, faults)` looks at its own. */
export function readOptions(options, check = () => {}) {
  return checked(options, (given, faults) => {
    checkUrl("url", given.url, faults);
    if (!isText(given.token) && typeof given.token !== "function") {
      faults.add("$.token", "must be a token, or a function that returns one");
    }
    check(given, faults);
  });
}

/** The options of a token source for a client's credentials, if nothing is wrong with them. */
export function readCredentials(options) {
  return checked(options, ({ tokenUrl, ...given }, faults) => {
    checkUrl("tokenUrl", tokenUrl, faults);
    for (const name of ["clientId", "clientSecret", "audience"]) {
      if (!isText(given[name])) faults.add(`$.${name}`, "must be a string that is not empty");
    }
  });
}

function checked(options, check) {
  const faults = new Faults();
  if (!isObject(options)) faults.add("$", "the options must be an object");
  faults.throwIfAny();
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
