/**
 * Rows of rates as a spreadsheet copies them: type, from, to and rate, separated by tabs. Reads them into a change, with a
 * fault for each wrong row. Knows no elements.
 */

import { TillgateError, calculate } from "../../js/src/index.js";
import { faultText } from "../shared/faults.js";
import { figure } from "../shared/locale.js";
import { readDecimal } from "./decimal.js";
import { TYPES, keyOf } from "./wording.js";

/** The most rates of a change. */
const MAX_ROWS = 1000;

/** The columns in their usual order, with the names that a header row may give them. */
const COLUMNS = {
  exchangeRateType: ["type", "exchange rate type", "exchangeratetype", "rate type"],
  currencyIdFrom: ["from", "currencyidfrom", "source", "sourcecurrencycode", "currency from"],
  currencyIdTo: ["to", "currencyidto", "target", "targetcurrencycode", "currency to"],
  rateValue: ["rate", "ratevalue", "value"],
};

const NAMES = Object.keys(COLUMNS);

/** The word that deletes a rate instead of setting it. */
const DELETE = "delete";

/** Reads a text: `{ rows, change }`. A row is `{ line, rate, isDeleted, fault? }`; `change` has those without a fault. */
export function readPasted(text) {
  const lines = text.split(/\r\n|\r|\n/).map((content, at) => ({ line: at + 1, cells: cellsOf(content) })).filter(({ cells }) => cells.some(Boolean));
  const header = headerOf(lines[0]?.cells);
  const columns = header ?? NAMES;
  const rows = lines.slice(header ? 1 : 0).map(({ line, cells }) => ({ line, ...rowOf(cells, columns) }));
  markRepeated(rows);
  markRefused(rows);
  const good = rows.filter(({ fault }) => fault === undefined);
  const set = good.filter(({ isDeleted }) => !isDeleted).map(({ rate }) => rate);
  const gone = good.filter(({ isDeleted }) => isDeleted).map(({ rate: { rateValue, ...identity } }) => identity);
  return { rows, change: { ...(set.length > 0 && { set }), ...(gone.length > 0 && { delete: gone }) } };
}

/** Why the rows as a whole cannot be reviewed; undefined if they can. */
export function refusal({ rows }) {
  const wrong = rows.filter(({ fault }) => fault !== undefined).length;
  if (rows.length === 0) return "Paste at least one row.";
  if (rows.length > MAX_ROWS) return `These are ${figure(rows.length)} rows. Paste at most 1,000 at once.`;
  if (wrong > 0) return `Correct ${wrong === 1 ? "the row that is marked" : `the ${wrong} rows that are marked`}, or remove ${wrong === 1 ? "it" : "them"}.`;
  return undefined;
}

/** Rates as rows to paste again. */
export function writtenRows(rates) {
  const row = ({ exchangeRateType, currencyIdFrom, currencyIdTo, rateValue }) => [TYPES[exchangeRateType], currencyIdFrom, currencyIdTo, rateValue];
  return [["Type", "From", "To", "Rate"], ...rates.map(row)].map((cells) => cells.join("\t")).join("\n");
}

function cellsOf(content) {
  const separator = content.includes("\t") ? "\t" : content.includes(";") ? ";" : /\s+/;
  return content.trim().split(separator).map((cell) => cell.trim().replace(/^"(.*)"$/, "$1"));
}

/** The columns that a header row names; undefined if it is no header. */
function headerOf(cells = []) {
  const columns = cells.map((cell) => NAMES.find((name) => COLUMNS[name].includes(cell.toLowerCase())));
  return NAMES.every((name) => columns.includes(name)) ? columns : undefined;
}

function rowOf(cells, columns) {
  const at = (name) => cells[columns.indexOf(name)] ?? "";
  const typed = at("rateValue");
  const isDeleted = typed.toLowerCase() === DELETE;
  const rate = {
    exchangeRateType: typeOf(at("exchangeRateType")),
    currencyIdFrom: at("currencyIdFrom").toUpperCase(),
    currencyIdTo: at("currencyIdTo").toUpperCase(),
    rateValue: readDecimal(typed) ?? typed,
  };
  return { rate, isDeleted, fault: formFault(cells, columns, rate, { typed, isDeleted }) };
}

const typeOf = (text) => Object.entries(TYPES).find(([type, word]) => [type, word.toUpperCase()].includes(text.toUpperCase()))?.[0] ?? text;

function formFault(cells, columns, rate, { typed, isDeleted }) {
  if (cells.length < columns.length) return `It has ${cells.length === 1 ? "one column" : `${figure(cells.length)} columns`}; type, from, to and rate are needed.`;
  if (!Object.hasOwn(TYPES, rate.exchangeRateType)) return `“${rate.exchangeRateType}” is not a type. Use sales, purchase or intercompany.`;
  if (!isDeleted && readDecimal(typed) === undefined) return `“${typed}” is not a rate. Use a number such as 11.05 or 11,05.`;
  return undefined;
}

function markRepeated(rows) {
  const first = new Map();
  for (const row of rows.filter(({ fault }) => fault === undefined)) {
    const key = keyOf(row.rate);
    if (first.has(key)) row.fault = `Row ${first.get(key)} has the same rate.`;
    else first.set(key, row.line);
  }
}

/** Marks the rows that the module refuses. Only the host knows if an opposite is set at the unit. */
function markRefused(rows) {
  const asked = rows.filter(({ fault }) => fault === undefined);
  // A deletion has no rate; 1 is valid for any pair.
  const rates = asked.map(({ rate, isDeleted }) => (isDeleted ? { ...rate, rateValue: "1" } : rate));
  try {
    if (asked.length > 0) calculate([{ op: "check", rates }]);
  } catch (error) {
    if (!(error instanceof TillgateError) || error.status !== 400) throw error;
    for (const fault of error.faults.filter(({ message }) => !message.startsWith("has an opposite"))) {
      const [, at] = /rates\[(\d+)\]/.exec(fault.path) ?? [];
      if (asked[at]) asked[at].fault ??= faultText(fault);
    }
  }
}
