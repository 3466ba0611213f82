/**
 * A long list of values, and the work on it: adding, removing, searching and writing as CSV. Knows no elements. Long work is a
 * generator that pauses. A list is never changed: each change makes another one, so that the old one can be restored.
 */

import { writeCsv } from "../shared/csv.js";
import { VALUE_LENGTH } from "../shared/faults.js";
import { figure } from "../shared/locale.js";
import { counted, valueText } from "../shared/messages.js";

/** The limits of a value and of a project (`conditions.md`, "Project restrictions"). */
const MAX_BYTES = 256;
export const MAX_VALUES = 100_000;

/** The values processed between two pauses: even if long, this takes a few milliseconds. */
const SLICE = 2048;

/** The first row of a file that tells values from texts that look the same. */
const HEADING = ["value", "kind"];
const KINDS = { text: "text", flag: "yes or no" };

const encoder = new TextEncoder();

/** True if a text has more bytes than a value may have. */
const isTooLong = (text) => text.length * 3 > MAX_BYTES && (text.length > MAX_BYTES || encoder.encode(text).length > MAX_BYTES);

const isEdged = (value) => typeof value === "string" && value !== value.trim();

/**
 * The list of these values: `{ values, distinct, repeats, added, removed }`. `repeats` are the places of values that occurred
 * before in the list; `added` and `removed` count against the `stored` set.
 */
export function* listing(values, stored) {
  const distinct = new Set();
  const repeats = new Set();
  let added = 0;
  for (let at = 0; at < values.length; at += 1) {
    if (at % SLICE === SLICE - 1) yield;
    const value = values[at];
    if (distinct.has(value)) repeats.add(at);
    else if (distinct.add(value) && !stored.has(value)) added += 1;
  }
  return { values, distinct, repeats, added, removed: stored.size - distinct.size + added };
}

/** A set of values. */
export function* settling(values) {
  const set = new Set();
  for (let at = 0; at < values.length; at += 1) {
    if (at % SLICE === SLICE - 1) yield;
    set.add(values[at]);
  }
  return set;
}

/** Adds values to a list: `{ list, report }`. Known values, and those that are too long, are left out. */
export function* adding(list, stored, given) {
  const fresh = new Set();
  const report = { added: 0, known: 0, twice: 0, edged: 0, tooLong: 0, examples: [] };
  let read = 0;
  for (const value of given) {
    if ((read += 1) % SLICE === 0) yield;
    if (typeof value === "string" && isTooLong(value)) {
      report.tooLong += 1;
      if (report.examples.length < 2) report.examples.push(value);
    } else if (list.distinct.has(value)) report.known += 1;
    else if (fresh.has(value)) report.twice += 1;
    else if (fresh.add(value) && isEdged(value)) report.edged += 1;
    if (list.values.length + fresh.size > MAX_VALUES) return { list, report: { ...report, isFull: true } };
  }
  const next = fresh.size === 0 ? list : yield* listing([...list.values, ...fresh], stored);
  return { list: next, report: { ...report, added: fresh.size } };
}

/** The list without the values at these places. */
export function* leaving(list, stored, places) {
  return yield* listing(list.values.filter((_, at) => !places.has(at)), stored);
}

/** The possible parts of a list, each with its condition. */
export const SHOWN = {
  all: undefined,
  added: ({ values }, stored) => (at) => !stored.has(values[at]),
  twice: ({ repeats }) => (at) => repeats.has(at),
};

/** The places of the values that contain the text, in any case; `shown` is a key of `SHOWN`. */
export function* finding(list, stored, { sought, shown }) {
  const { values } = list;
  const isShown = SHOWN[shown]?.(list, stored);
  const text = sought.toLowerCase();
  const found = [];
  for (let at = 0; at < values.length; at += 1) {
    if (at % SLICE === SLICE - 1) yield;
    if (isShown && !isShown(at)) continue;
    const value = values[at];
    if (text === "" || (typeof value === "string" ? value : valueText(value)).toLowerCase().includes(text)) found.push(at);
  }
  return found;
}

/** The list as CSV, in parts. If it has yes or no, a second column tells them from texts. */
export function* writing({ values, distinct }, delimiter) {
  const hasFlags = distinct.has(true) || distinct.has(false);
  const rowOf = (value) => {
    if (!hasFlags) return [value];
    return typeof value === "boolean" ? [valueText(value), KINDS.flag] : [value, KINDS.text];
  };
  const parts = hasFlags ? [writeCsv([HEADING], delimiter)] : [];
  for (let at = 0; at < values.length; at += SLICE) {
    parts.push(writeCsv(values.slice(at, at + SLICE).map(rowOf), delimiter));
    yield;
  }
  return parts;
}

/** True if rows are a list written here with its kinds. */
export const hasKinds = ([first]) => first?.length === HEADING.length && first.every((cell, at) => cell === HEADING[at]);

/** The values of such rows. */
export function* valuesWithKinds(rows) {
  for (const [cell, kind] of rows.slice(1)) yield kind === KINDS.flag ? cell === valueText(true) : cell;
}

/** The result of adding, in sentences. */
export function reportText({ added, known, twice, edged, tooLong, examples, isFull }) {
  if (isFull) return `Nothing was added: a project may have ${figure(MAX_VALUES)} values, and with these it would have more.`;
  const some = (count, one, many) => count > 0 && `${counted(count, "value")} ${count === 1 ? one : many}`;
  const short = (text) => valueText(text.length > 24 ? `${text.slice(0, 24)}…` : text);
  const why = `as too long: ${examples.map(short).join(", ")}${tooLong > examples.length ? " and others" : ""}. A value ${VALUE_LENGTH}.`;
  return [
    some(added, "was added.", "were added.") || "No value was added.",
    some(known, "is in the list already.", "are in the list already."),
    some(twice, "was repeated.", "were repeated."),
    some(edged, "begins or ends with a space.", "begin or end with a space."),
    some(tooLong, `was left out ${why}`, `were left out ${why}`),
  ].filter(Boolean).join(" ");
}
