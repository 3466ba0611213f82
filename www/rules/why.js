/**
 * The reasons of a check, and what would change it: the explanation of a result in a sentence with its numbers, and the values
 * to fill in instead. The module compares; this only words the comparison.
 */

import { figure, isolated } from "../shared/locale.js";
import { counted, valueText } from "../shared/messages.js";

/** The most values that are offered to try. */
const MAX_TRIES = 3;

/** The decision as tills get it, without explanations. */
export function ordinary(answer) {
  if (answer instanceof Error) return answer;
  if (answer.items) return { ...answer, items: answer.items.map(ordinary) };
  return { ...answer, results: answer.results.map(({ explanation, ...result }) => result) };
}

/** The explanation of a denial, with at most `most` values of a list; undefined without one. */
export function explainedText({ reason, explanation }, most = Infinity) {
  if (reason === null || !explanation) return undefined;
  return SENTENCES[reason]?.({ ...explanation, wants: explanation.wants?.slice(0, most) });
}

const SENTENCES = {
  "age_restriction.missing_context": ({ minimumAge }) => `Ask for the customer’s age, which must be ${minimumAge} or more.`,
  "age_restriction.underage": ({ minimumAge, customerAge }) => `The customer is ${customerAge} and must be ${minimumAge}: ${yearsText(minimumAge - customerAge)} short.`,
  "license_requirement.license_missing": licensesText,
  "project_restriction.whitelist_not_met": ({ propertyName, ...compared }) => (propertyName === "itemId" ? itemText(compared) : propertyText(isolated(propertyName), compared)),
  "project_restriction.boolean_not_met": ({ propertyName, ...compared }) => propertyText(isolated(propertyName), compared, true),
  "project_restriction.blacklist_met": ({ propertyName, value }) => `The ${isolated(propertyName)} must not be ${valueText(value)}.`,
  "project_restriction.blacklisted_item": ({ value }) => `The item ${valueText(value)} must never be bought.`,
};

function licensesText({ licenseId, licenses, licensesCount }) {
  if (licenses === null || licensesCount === 0) return undefined;
  const noun = licensesCount === 1 ? "license" : "licenses";
  return `The customer has the ${noun} ${joined(licenses.map((id) => `“${id}”`), licensesCount, "and")}, but not “${licenseId}”.`;
}

function itemText({ value, wants, wantsCount }) {
  if (wantsCount === 0) return "The rule has no item ids, so no item is allowed.";
  const wanted = joined(wants.map(valueText), wantsCount, "or");
  return `The item ${valueText(value)} is not ${wantsCount === 1 ? wanted : `one of the ${counted(wantsCount, "item")} that are allowed: ${wanted}`}.`;
}

function propertyText(name, { value, wants, wantsCount }, isFlag) {
  if (wantsCount === 0) return `The rule of ${name} has no values, so nothing is allowed.`;
  const isOneKind = value === null || wants.every((wanted) => typeof wanted === typeof value);
  const textOf = isOneKind ? valueText : kindText;
  const wanted = joined(wants.map(textOf), wantsCount, "or");
  if (value === null) return `The item has no ${name}, which must be ${wanted}.`;
  return isFlag ? `${name} is ${textOf(value)}, and must be ${wanted}.` : `The ${name} ${textOf(value)} is not ${wanted}.`;
}

/** A value that looks like another kind: the text “true” is not yes, and a number is no text. */
function kindText(value) {
  if (typeof value === "number") return `${value} (a number)`;
  return typeof value === "string" && /^(true|false|yes|no|[-+\d.,]+)$/i.test(value) ? `“${value}” (a text)` : valueText(value);
}

const yearsText = (years) => (years === 1 ? "one year" : counted(years, "year"));

/** Some of `count` texts as a list: `a, b or c`, `a, b and 90 more`. */
function joined(texts, count, word) {
  const more = count - texts.length;
  if (more > 0) return `${texts.join(", ")} and ${figure(more)} more`;
  return [texts.slice(0, -1).join(", "), texts.at(-1)].filter((text) => text !== "").join(` ${word} `);
}

/**
 * The changes that would lift a denial, each as `{ text, change }`: the text of a button, and what it fills in: `{ age }`,
 * `{ license }`, `{ item }`, or `{ property, value }`, whose value is undefined if the item must not have it.
 */
export function triesOf({ reason, explanation }) {
  if (reason === null || !explanation) return [];
  const { minimumAge, licenseId, propertyName: property, wants = [] } = explanation;
  if (minimumAge !== undefined) return [{ text: `Try with age ${minimumAge}`, change: { age: minimumAge } }];
  if (licenseId !== undefined) return [{ text: `Try with license ${licenseId}`, change: { license: licenseId } }];
  if (reason === "project_restriction.blacklisted_item") return [];
  if (reason === "project_restriction.blacklist_met") return [{ text: `Try without ${isolated(property)}`, change: { property, value: undefined } }];
  // The form has no field for an empty text: there it means no value.
  const some = wants.filter((value) => value !== "").slice(0, MAX_TRIES);
  if (property === "itemId") return some.map((item) => ({ text: `Try with item ${valueText(item)}`, change: { item } }));
  return some.map((value) => ({ text: `Try with ${isolated(property)} ${valueText(value)}`, change: { property, value } }));
}
