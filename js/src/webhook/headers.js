/**
 * The headers that decide about a delivery, in any form that a runtime hands over. A header that occurs twice is refused: the
 * receiver and a proxy in front of it might each read a different one.
 */

import { TillgateError } from "../shared/error.js";
import { WebhookError } from "./error.js";

/** Returns a Map of the headers with these lower-case names, without the absent ones. */
export function readHeaders(headers, names) {
  const values = new Map();
  for (const [name, value] of pairs(headers)) {
    const key = String(name).toLowerCase();
    if (!names.includes(key) || value === undefined) continue;
    if (values.has(key)) throw new WebhookError({ code: "duplicate_header" });
    values.set(key, single(value));
  }
  return values;
}

/** Yields names and values: of a Headers or a Map, of Node's `rawHeaders`, of pairs, or of an object. */
function* pairs(headers) {
  if (headers === null || typeof headers !== "object") {
    const message = "must be a Headers, an object of headers, or an array of them";
    throw new TillgateError({ code: "invalid", path: "$.headers", message });
  }
  if (typeof headers.entries === "function" && !Array.isArray(headers)) yield* headers.entries();
  else if (!Array.isArray(headers)) yield* Object.entries(headers);
  else if (Array.isArray(headers[0])) yield* headers;
  else for (let at = 0; at < headers.length; at += 2) yield [headers[at], headers[at + 1]];
}

/** Returns the one value of a header. None of these contains ", ", which a Headers puts between several. */
function single(value) {
  const values = Array.isArray(value) ? value : [value];
  if (values.length !== 1 || String(values[0]).includes(", ")) throw new WebhookError({ code: "duplicate_header" });
  return String(values[0]);
}
