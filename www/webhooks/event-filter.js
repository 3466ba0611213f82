/**
 * The filter of a webhook, `[{ path, in: [...] }]`: in the words of the page, and decided as on the host. Knows no elements.
 */

import { fromBase64 } from "../../js/src/shared/base64.js";
import { figure } from "../shared/locale.js";
import { valueText } from "../shared/messages.js";
import { readEnvelope } from "./event-data.js";
import { isNumber, isSameNumber, numberText, parseExactly } from "./exact-json.js";

/** The paths outside the data, with their names. */
const OTHERS = new Map([["$.type", "event type"], ["$.id", "event id"]]);

/** Names that need no quotation marks in a path. */
const PLAIN = /^[^\s\p{Cc}.*[\]'"\\?@()]+$/u;

/** The most values of a condition that are shown. */
const MAX_TOLD = 5;

/** The names of a path that leads into the data. */
const namesOf = (path) => [...path.slice("$.data".length).matchAll(/\.([^.[]+)|\['((?:[^'\\]|\\.)*)'\]/g)].map(([, plain, quoted]) => plain ?? quoted.replace(/\\(.)/g, "$1"));

/** A path in words: `shop › id`. */
export const memberText = (path) => OTHERS.get(path) ?? namesOf(path).map((name, at, all) => (isWord(name, all.length) ? name : JSON.stringify(name))).join(" › ");

const isWord = (name, count) => name !== "" && name === name.trim() && !/[›>."\\\p{Cc}]/u.test(name) && !(count === 1 && [...OTHERS.values()].includes(name));

/** The path of words; names may also be separated by a dot or >. Empty without a name. */
export function pathOf(words) {
  const other = [...OTHERS].find(([, text]) => text === words.trim());
  if (other) return other[0];
  const found = [...words.matchAll(/("(?:[^"\\]|\\.)*")|[^"›>.]+/g)].filter(([text]) => text.trim() !== "");
  const steps = found.map(([text, quoted]) => stepOf(quoted === undefined ? text.trim() : unquoted(quoted)));
  return steps.length === 0 ? "" : `$.data${steps.join("")}`;
}

const stepOf = (name) => (PLAIN.test(name) ? `.${name}` : `['${name.replace(/['\\]/g, "\\$&")}']`);

function unquoted(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text.slice(1, -1);
  }
}

/** A value of a condition as the page shows it. */
const shown = (value) => (isNumber(value) ? numberText(value) : valueText(value));

/** A condition in words: `businessUnitId is one of SE-001, SE-002`. */
export function conditionText({ path, in: values }) {
  const more = values.length - MAX_TOLD;
  const told = values.slice(0, MAX_TOLD).map(shown).join(", ");
  return `${memberText(path)} is ${values.length > 1 ? "one of " : ""}${told}${more > 0 ? ` and ${figure(more)} more` : ""}`;
}

/** The event of an envelope as sent: `{ type, id, data }`; without `data` if that is not JSON. */
export function eventOf(body) {
  const { type, id, datacontenttype, data } = readEnvelope(body) ?? {};
  const bytes = /^[^;]*[/+]json\s*(;|$)/i.test(datacontenttype ?? "") && typeof data === "string" ? fromBase64(data) : undefined;
  try {
    return { type, id, data: bytes && parseExactly(new TextDecoder().decode(bytes)) };
  } catch {
    return { type, id };
  }
}

/** True if the filter lets an event through. */
export const matches = (filter, event) => filter.every(({ path, in: values }) => values.some((value) => isSame(memberOf(event, path), value)));

/** True if a condition fails only because the event has a number as text, or the other way round. */
export const differsInKind = ({ path, in: values }, event) => {
  const member = memberOf(event, path);
  const isValue = typeof member === "string" || typeof member === "boolean" || isNumber(member);
  return isValue && values.some((value) => !isSame(member, value) && plain(member) === plain(value));
};

const plain = (value) => (isNumber(value) ? numberText(value) : String(value));

/** The own member at a path; undefined without one. */
function memberOf({ type, id, data }, path) {
  if (OTHERS.has(path)) return path === "$.type" ? type : id;
  const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value) && !isNumber(value);
  return namesOf(path).reduce((value, name) => (isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined), data);
}

const isSame = (one, other) => (isNumber(one) && isNumber(other) ? isSameNumber(one, other) : one !== undefined && one === other);
