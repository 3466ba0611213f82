/**
 * Maps the columns of a list, and reads rows in the module's form. A list is CSV with a header, or lines of ids:
 * `{ name, rows, lines }`, from `parseCsv`. Only what the rules check is read; nothing else decides. Pure.
 */

import { figure, isolated } from "../shared/locale.js";

/** The names of columns, in lower case without blanks and signs. */
const ID_NAMES = ["id", "itemid", "item", "sku", "gtin", "ean", "article", "articleid", "articlenumber", "product", "productid"];
const AGE_NAMES = ["age", "customerage", "customersage"];
const LICENSE_NAMES = ["licenses", "license", "licences", "licence", "customerlicenses"];

const MAX_AGE = 150;
const MAX_ID = 256;
const MAX_VALUE = 256;
const MAX_NAME = 300;
const MAX_LICENSES = 10_000;

/** No column: nothing is read. */
export const NONE = -1;

/** The ways to read the cells of a column, and their names in a choice. */
export const KINDS = [["text", "text"], ["flag", "yes or no"], ["mixed", "yes or no, else text"]];

const FLAGS = new Map([["true", true], ["yes", true], ["1", true], ["false", false], ["no", false], ["0", false]]);

/**
 * What the rules of `documents`, each of which may be null, check: `{ age, licenses, properties }`, a kind for each property.
 */
export function checkedBy(documents) {
  const rules = documents.flatMap((document) => (document ? [document.condition, document.other].filter(Boolean) : []));
  const restrictions = documents.flatMap((document) => document?.project?.restrictions ?? []);
  const has = (rule) => rules.some((condition) => condition.rule === rule);
  const values = new Map();
  for (const { propertyName, allowedValues, deniedValues, value } of restrictions) {
    if (propertyName !== undefined) values.set(propertyName, [values.get(propertyName) ?? [], allowedValues ?? deniedValues ?? [value]].flat());
  }
  const properties = new Map([...values].map(([name, named]) => [name, kindOf(named)]));
  return { age: has("AGE_RESTRICTION"), licenses: has("LICENSE_REQUIREMENT"), properties };
}

/** The kind of a property by the values that rules name. */
function kindOf(values) {
  const flags = values.filter((value) => typeof value === "boolean").length;
  if (flags === 0) return "text";
  return flags === values.length ? "flag" : "mixed";
}

/**
 * The detected columns of a list: `{ hasHeader, id, age, licenses, properties: { name: { column, kind } } }`, by position.
 */
export function columnsOf({ rows }, checked, hasHeader = isHeader(rows[0] ?? [], checked)) {
  const names = (rows[0] ?? []).map((cell) => (hasHeader ? cell : ""));
  const at = (known) => names.findIndex((name) => plain(name) !== "" && known.includes(plain(name)));
  const propertyAt = (name) => (names.includes(name) ? names.indexOf(name) : at([plain(name)]));
  const properties = Object.fromEntries([...checked.properties].map(([name, kind]) => [name, { column: hasHeader ? propertyAt(name) : NONE, kind }]));
  const [age, licenses] = [at(AGE_NAMES), at(LICENSE_NAMES)];
  const taken = new Set([age, licenses, ...Object.values(properties).map(({ column }) => column)]);
  const isFirstFree = !taken.has(0) && (!hasHeader || at(ID_NAMES) === NONE);
  return { hasHeader, id: isFirstFree ? 0 : at(ID_NAMES), age, licenses, properties };
}

/**
 * Checked things without a column, while some columns are unused: the keys of choices that only the user can make. `chosen`
 * ones are not asked again.
 */
export function unmatched({ rows }, checked, columns, chosen) {
  const read = { age: checked.age && columns.age, licenses: checked.licenses && columns.licenses };
  for (const [name, { column }] of Object.entries(columns.properties)) read[propertyKey(name)] = column;
  const used = new Set([columns.id, columns.age, columns.licenses, ...Object.values(read)]);
  if (!(rows[0] ?? []).some((cell, at) => !used.has(at) && cell.trim() !== "")) return [];
  return Object.keys(read).filter((key) => read[key] === NONE && chosen[key] === undefined);
}

/** The key of the choice of a property's column. */
export const propertyKey = (name) => `property ${name}`;

/** True if a row names the columns: one of them is known, or all could be names. */
function isHeader(cells, checked) {
  const known = new Set([...ID_NAMES, ...AGE_NAMES, ...LICENSE_NAMES, ...[...checked.properties.keys()].map(plain)]);
  if (cells.some((cell) => plain(cell) !== "" && known.has(plain(cell)))) return true;
  return cells.length > 1 && new Set(cells).size === cells.length && cells.every((cell) => /^\p{L}/u.test(cell.trim()));
}

/** A name without differences of spelling; a cell that is far too long for one is cut off first. */
const plain = (name) => name.slice(0, MAX_NAME).toLowerCase().replace(/[^\p{L}\p{N}]/gu, "");

/**
 * Reads a row: `{ row }` in the module's form, or `{ fault }`, a sentence. `customer` supplies the age and licenses that have
 * no column.
 */
export function rowReader({ id, age, licenses, properties }, customer = {}) {
  const checked = Object.entries(properties).filter(([, { column }]) => column !== NONE);
  return (cells, line) => {
    const row = { id: id === NONE ? `line ${line}` : (cells[id] ?? "").trim() };
    const fault = faultOfId(row.id) ?? readCustomer(row, cells, { age, licenses, customer }) ?? readProperties(row, cells, checked);
    return fault === undefined ? { row } : { fault };
  };
}

function faultOfId(id) {
  if (id === "") return "There is no id.";
  if (id.length > MAX_ID && (id.length > 2 * MAX_ID || [...id].length > MAX_ID)) return `The id ${shortened(id)} is longer than ${MAX_ID} characters.`;
  return isReadable(id) ? undefined : "The id has characters that cannot be read.";
}

/** Adds the known data of the customer; returns its fault. */
function readCustomer(row, cells, { age, licenses, customer }) {
  const typed = (cells[age] ?? "").trim();
  if (typed !== "" && !(/^\d{1,3}$/.test(typed) && Number(typed) <= MAX_AGE)) return `The age ${shortened(typed)} is not a whole number from 0 to ${MAX_AGE}.`;
  const years = age === NONE ? customer.age : typed === "" ? undefined : Number(typed);
  if (years !== undefined) row.customer_age = years;
  const named = cells[licenses] ?? "";
  if (named.length > MAX_LICENSES) return `The licenses ${shortened(named)} are more than ${figure(MAX_LICENSES)} characters.`;
  if (!isReadable(named)) return "The licenses have characters that cannot be read.";
  const held = licenses === NONE ? customer.licenses : named.split(/[\s,;|]+/).filter((text) => text !== "");
  if (held !== undefined) row.licenses = held;
  return undefined;
}

/** Adds the properties of the item, except for empty cells; returns their fault. */
function readProperties(row, cells, checked) {
  const found = [];
  for (const [name, { column, kind }] of checked) {
    const cell = cells[column] ?? "";
    if (cell === "") continue;
    const value = propertyOf(cell, kind);
    if (value === undefined) return `${shortened(cell)} in ${isolated(name)} is neither yes nor no.`;
    if (!isReadable(cell)) return `${isolated(name)} has characters that cannot be read.`;
    found.push([name, value]);
  }
  if (found.length > 0) row.additionalProperties = Object.fromEntries(found);
  return undefined;
}

/** The value of a cell. No rule names one longer than the limit: cut off, it still matches none. */
function propertyOf(cell, kind) {
  const flag = kind === "text" ? undefined : FLAGS.get(cell.slice(0, MAX_NAME).trim().toLowerCase());
  if (kind === "flag") return flag;
  // Beside texts, only a word is taken for yes or no.
  if (flag !== undefined && /[a-z]/i.test(cell)) return flag;
  const cut = cell.slice(0, MAX_VALUE + 1);
  return cell.length > MAX_VALUE ? (cut.toWellFormed?.() ?? cut) : cell;
}

const isReadable = (text) => text.isWellFormed?.() ?? true;

const shortened = (text) => `“${isolated(text.length > 40 ? `${text.slice(0, 40)}…` : text)}”`;
