/**
 * The decisions about the rows of a list: by the module today and with the draft, the count of each pair, and the list as CSV
 * with both. A document is the module's input: `{ condition, other }`, `{ project }` or null.
 */

import { Catalog } from "../../js/src/index.js";
import { writeCsv } from "../shared/csv.js";
import { doneText } from "./what-if-words.js";

/** The rows, or cells, processed between two looks at the clock: less than a slice of work. */
const STEP_ROWS = 1000;
const STEP_CELLS = 20_000;

/** The most unreadable rows that are named. */
const MAX_FAULTS = 1000;

/** A pair of decisions, of today and then. */
export const pairOf = (before, after) => `${before} ${after}`;

/**
 * Decides about each row, step by step: `{ entries, counts, faults, left }`. An entry is
 * `{ at, cells, row, text, before, after }`. `counts` has the number of each pair, the most frequent first, and `left` the
 * number of unreadable rows, of which `faults` name the first.
 */
export function* deciding(list, { first, reader, before, after }) {
  const entries = [];
  const faults = [];
  const counts = new Map();
  const deciders = [];
  let left = 0;
  const fault = (line, message) => (left += 1) <= MAX_FAULTS && faults.push({ line, message });
  try {
    for (const document of [before, after]) {
      deciders.push(decider(document, after));
      yield;
    }
    for (let [from, end] = [first, first]; from < list.rows.length; from = end) {
      end = stepEnd(list.rows, from);
      for (const entry of decideBoth(readStep(list, from, end, { reader, fault }), deciders, fault)) {
        const pair = pairOf(entry.before, entry.after);
        counts.set(pair, (counts.get(pair) ?? 0) + 1);
        entries.push({ ...entry, at: entries.length });
      }
      yield;
    }
  } finally {
    for (const each of deciders) each.free();
  }
  return { entries, counts: new Map([...counts].sort(([, one], [, other]) => other - one)), faults, left };
}

/** The end of a step that begins at a row. */
function stepEnd(rows, from) {
  let cells = 0;
  let end = from;
  while (end < rows.length && end - from < STEP_ROWS && cells < STEP_CELLS) cells += rows[end++].length;
  return end;
}

/** The readable rows of a step. */
function readStep({ rows, lines }, from, end, { reader, fault }) {
  const read = [];
  for (let at = from; at < end; at += 1) {
    const { row, fault: message } = reader(rows[at], lines[at]);
    if (message === undefined) read.push({ line: lines[at], cells: rows[at], row });
    else fault(lines[at], message);
  }
  return read;
}

/** The entries of rows. If the module does not take them all at once, each half; a row that it never takes is left out. */
function decideBoth(read, deciders, fault) {
  if (read.length === 0) return [];
  const rows = read.map(({ row }) => row);
  try {
    const [before, after] = deciders.map(({ decide }) => decide(rows));
    return read.map(({ cells, row }, at) => ({ cells, row, text: textOf(cells), before: before[at], after: after[at] }));
  } catch (error) {
    if (error.status !== 400) throw error;
    if (read.length === 1) return fault(read[0].line, "It has a value that rules cannot check."), [];
    const middle = Math.ceil(read.length / 2);
    return [read.slice(0, middle), read.slice(middle)].flatMap((half) => decideBoth(half, deciders, fault));
  }
}

/** The text that a filter searches. */
const textOf = (cells) => cells.join("\n").toLowerCase();

/** Decides about rows by a document; if that is null, as tills do before there is `after`: `{ decide, free }`. */
function decider(document, after) {
  const { condition, project } = document ?? {};
  const conditions = [condition, document?.other].filter(Boolean);
  const of = (scope) => conditions.filter((each) => each.scope === scope);
  const catalog = new Catalog({ global: of("GLOBAL"), tenant: of("TENANT"), projects: project ? [project] : [] });
  const by = project ? { projectId: project.projectId } : { conditionId: condition?.id };
  const isDecided = project !== undefined || conditions.some(({ enabled }) => enabled);
  const missing = after?.project ? "SOFT_DENY" : "NOT_FOUND";
  return {
    decide: (rows) => (isDecided ? catalog.evaluateMany(by, rows).map(({ decision }) => decision) : rows.map(() => missing)),
    free: () => catalog.free(),
  };
}

/** Entries as parts of a CSV file, step by step: their columns as read, and the decisions. */
export function* writing(entries, header, delimiter) {
  const width = entries.reduce((most, { cells }) => Math.max(most, cells.length), header.length);
  const filled = (cells) => Array.from({ length: width }, (_, at) => cells[at] ?? "");
  const step = Math.max(1, Math.min(STEP_ROWS, Math.floor(STEP_CELLS / width)));
  const parts = [writeCsv([[...filled(header), "today", "then"]], delimiter)];
  for (let from = 0; from < entries.length; from += step) {
    const rows = entries.slice(from, from + step);
    parts.push(writeCsv(rows.map(({ cells, before, after }) => [...filled(cells), doneText(before), doneText(after)]), delimiter));
    yield;
  }
  return parts;
}
