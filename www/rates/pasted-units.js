/**
 * Business units as table rows that a spreadsheet copies: id, name, kind, the unit above and a markup. Reads them, with a
 * fault for each wrong row, and finds the order of creation. Knows no elements.
 */

import { DOTS_RULE, isDots } from "../shared/faults.js";
import { figure } from "../shared/locale.js";
import { isSame, readDecimal } from "./decimal.js";
import { KINDS } from "./wording.js";

/** The most units in a table. */
const MAX_ROWS = 1000;

/** The columns in their usual order, with the names that a header row may give them. */
const COLUMNS = {
  id: ["id", "unit", "unit id", "business unit", "businessunitid"],
  name: ["name"],
  type: ["kind", "type"],
  parentId: ["below", "parent", "parent id", "parentid", "unit above"],
  markupPercentage: ["markup", "markup in percent", "markup %", "markuppercentage"],
};

const NAMES = Object.keys(COLUMNS);

/** A row without these is empty. */
const NEEDED = ["id", "type"];

/**
 * Reads a text: rows of `{ line, unit, fault?, isThere }`. `units` are the existing ones: a unit that equals its row stays as
 * it is.
 */
export function readUnits(text, units) {
  const lines = text.split(/\r\n|\r|\n/).map((content, at) => ({ line: at + 1, cells: cellsOf(content) })).filter(({ cells }) => cells.some(Boolean));
  const header = headerOf(lines[0]?.cells);
  const rows = lines.slice(header ? 1 : 0).map(({ line, cells }) => ({ line, ...rowOf(cells, header ?? NAMES) }));
  const byId = new Map();
  for (const row of rows) {
    const { id } = row.unit;
    if (byId.has(id)) row.fault ??= `Row ${byId.get(id).line} has the same id.`;
    else byId.set(id, row);
  }
  for (const row of rows) {
    const existing = units?.get(row.unit.id);
    row.isThere = existing !== undefined && isSameUnit(existing, row.unit);
    row.fault ??= existing !== undefined && !row.isThere ? "Another business unit has this id." : parentFault(row, byId, units);
  }
  return rows;
}

/** Why the rows as a whole cannot be reviewed; undefined if they can. */
export function refusalOf(rows) {
  const wrong = rows.filter(({ fault }) => fault !== undefined).length;
  if (rows.length === 0) return "Paste at least one row.";
  if (rows.length > MAX_ROWS) return `These are ${figure(rows.length)} rows. Paste at most 1,000 at once.`;
  if (wrong > 0) return `Correct ${wrong === 1 ? "the row that is marked" : `the ${wrong} rows that are marked`}, or remove ${wrong === 1 ? "it" : "them"}.`;
  if (rows.every(({ isThere }) => isThere)) return "All of these units already exist.";
  return undefined;
}

/** The rows of units to create, each after its parent. */
export function inOrder(rows) {
  const byId = new Map(rows.map((row) => [row.unit.id, row]));
  const depth = (row) => (row === undefined ? 0 : 1 + depth(byId.get(row.unit.parentId)));
  const missing = rows.filter(({ isThere }) => !isThere).map((row) => [depth(row), row]);
  return missing.sort(([one], [other]) => one - other).map(([, row]) => row);
}

/** True if a unit equals its row. */
export const isSameUnit = (unit, row) =>
  unit.type === row.type &&
  unit.parentId === row.parentId &&
  unit.name === row.name &&
  (unit.markupPercentage === row.markupPercentage || (unit.markupPercentage !== undefined && row.markupPercentage !== undefined && isSame(unit.markupPercentage, row.markupPercentage)));

/** Names contain blanks and commas, so a spreadsheet's tab comes first. */
function cellsOf(content) {
  const separator = ["\t", ";"].find((mark) => content.includes(mark)) ?? ",";
  return content.split(separator).map((cell) => cell.trim().replace(/^"(.*)"$/, "$1").trim());
}

/** The columns that a header row names; undefined if it is no header. */
function headerOf(cells = []) {
  const columns = cells.map((cell) => NAMES.find((name) => COLUMNS[name].includes(cell.toLowerCase())));
  return NEEDED.every((name) => columns.includes(name)) ? columns : undefined;
}

function rowOf(cells, columns) {
  const at = (name) => cells[columns.indexOf(name)] || undefined;
  const [typed, markup] = [at("type") ?? "", at("markupPercentage")?.replace(/\s*%$/, "")];
  const unit = {
    id: at("id") ?? "",
    type: kindOf(typed),
    parentId: at("parentId"),
    name: at("name"),
    markupPercentage: markup && (readDecimal(markup) ?? markup),
  };
  return { unit, fault: formFault(unit, typed) };
}

const kindOf = (text) => Object.entries(KINDS).find(([kind, { word }]) => [kind, word.toUpperCase()].includes(text.toUpperCase()))?.[0];

function formFault({ id, type, parentId, name = "", markupPercentage }, typed) {
  if (id === "") return "It has no id.";
  if (!/^[A-Za-z0-9._:-]{1,128}$/.test(id)) return `“${id}” is not an id: use 1 to 128 letters, digits and _ . : -`;
  if (isDots(id)) return `The id ${DOTS_RULE}.`;
  if (name.length > 256) return "The name may have at most 256 characters.";
  if (typed === "") return "It has no kind: company, group or shop.";
  if (type === undefined) return `“${typed}” is not a kind. Use company, group or shop.`;
  if (type === "COMPANY" && parentId !== undefined) return "A company has no unit above it: leave that cell empty.";
  if (type !== "COMPANY" && parentId === undefined) return "It needs the id of the company or group that it is below.";
  if (markupPercentage !== undefined && !(readDecimal(markupPercentage) !== undefined && Number(markupPercentage) < 100)) return `“${markupPercentage}” is not a markup. Use a number from 0 to less than 100.`;
  return undefined;
}

/** The fault of the parent, which exists already or is in another row. */
function parentFault({ unit: { id, parentId } }, byId, units) {
  if (parentId === undefined) return undefined;
  const above = units?.get(parentId) ?? byId.get(parentId)?.unit;
  if (above === undefined) return `There is no unit “${parentId}”, neither here nor in another row.`;
  if (above.type === "STORE") return `“${parentId}” is a shop, and nothing can be below a shop.`;
  const seen = new Set();
  for (let next = parentId; next !== undefined && !seen.has(next); next = byId.get(next)?.unit.parentId) {
    if (next === id) return "The units above it lead back to it.";
    seen.add(next);
  }
  return undefined;
}
