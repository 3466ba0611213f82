/**
 * The effects of a draft, in sentences: the module's comparison, the ages whose decision changes, and the rows of a list.
 * Pure.
 */

import { figure, isolated } from "../shared/locale.js";
import { valueText } from "../shared/messages.js";

/** What happens to an item or a customer. A condition that is not in force gives no answer. */
const DONE = { ALLOW: "sold", SOFT_DENY: "asked first", HARD_DENY: "refused", NOT_FOUND: "without an answer" };

/** Today's decision and the draft's: about a customer, and about an item. */
const TODAY = {
  condition: { ALLOW: "may buy it today", SOFT_DENY: "has to be asked first today", HARD_DENY: "may not buy it today" },
  project: { ALLOW: "is allowed today", SOFT_DENY: "is not decided today", HARD_DENY: "is denied today" },
};
const THEN = {
  condition: { ALLOW: "could buy it then", SOFT_DENY: "would have to be asked first", HARD_DENY: "could not buy it then" },
  project: { ALLOW: "would be allowed", SOFT_DENY: "would not be decided", HARD_DENY: "would be denied" },
};

/** The most properties named of an item. */
const MAX_PROPERTIES = 4;

/**
 * The sentence for the result of the module's `compare`. `kind` is `condition` or `project`, and `itemIds` are those that the
 * project's rules name.
 */
export function effectText(kind, { same, witness, before, after }, itemIds = []) {
  if (same) return "This draft changes no decision.";
  const who = kind === "condition" ? customerText(witness.context?.customer) : itemText(witness.item, itemIds);
  const then = `${lower(who)} ${THEN[kind][after]?.replace(/ then$/, "")}`;
  if (before === "NOT_FOUND") return `Tills that ask for it get an error today. Then ${then}.`;
  if (after === "NOT_FOUND") return `${who} ${TODAY[kind][before]}. Then tills that ask for it would get an error.`;
  if (kind === "project" && before === "SOFT_DENY") return `Tills do not know this project today. Then ${then}.`;
  const isLost = kind === "condition" && before === "ALLOW" && after === "HARD_DENY";
  return `${who} ${TODAY[kind][before]}, ${isLost ? "but no longer could" : `and ${THEN[kind][after]}`}.`;
}

/** A customer by what the decision knows: age and licenses. */
function customerText(customer) {
  const { customer_age: age, licenses } = customer ?? {};
  const isKnown = (value) => value !== undefined && value !== null;
  const who = isKnown(age) ? `${/^(8|11$|18$)/.test(age) ? "An" : "A"} ${age}-year-old` : "A customer";
  if (!isKnown(licenses)) return isKnown(age) ? who : `${who} who was not asked`;
  const ids = licenses.map((license) => `“${license.id ?? license}”`);
  if (ids.length === 0) return `${who} without a license`;
  return `${who} with the license${ids.length === 1 ? "" : "s"} ${joined(ids)}`;
}

/** An item by its properties, and by its id if rules name that. */
function itemText({ id, additionalProperties = {} }, itemIds) {
  const all = Object.entries(additionalProperties);
  const texts = all.slice(0, MAX_PROPERTIES).map(([name, value]) => `${isolated(name)} ${valueText(value)}`);
  const more = all.length > texts.length ? [`${figure(all.length - texts.length)} more`] : [];
  const properties = texts.length > 0 ? ` with ${joined([...texts, ...more])}` : "";
  if (itemIds.includes(id)) return `The item “${isolated(id)}”${properties}`;
  return `An item${properties || " without properties"}`;
}

const lower = (text) => text.charAt(0).toLowerCase() + text.slice(1);

const joined = (texts) => (texts.length > 1 ? `${texts.slice(0, -1).join(", ")} and ${texts.at(-1)}` : texts[0]);

/** The change of a decision: `sold today, refused then`. */
export const pairText = (before, after) => `${DONE[before]} today, ${DONE[after]} then`;

/** The word for a decision about a row of a list. */
export const doneText = (decision) => DONE[decision];

/** The ages whose decision changes; `before` and `after` have one for each age from 0: `{ from, to, before, after }`. */
export function ageChanges(before, after) {
  const ranges = [];
  for (const [age, decision] of before.entries()) {
    const last = ranges.at(-1);
    if (decision === after[age]) continue;
    if (last?.to === age - 1 && last.before === decision && last.after === after[age]) last.to = age;
    else ranges.push({ from: age, to: age, before: decision, after: after[age] });
  }
  return ranges;
}

/** The sentence for ages whose decision changes. `maxAge` is the last age with a decision. */
export const ageText = ({ from, to, before, after }, maxAge) => `${agesText(from, to, maxAge)}: ${pairText(before, after)}.`;

function agesText(from, to, maxAge) {
  if (from === to) return `${from}-year-olds`;
  if (to < maxAge) return from === 0 ? `All up to ${to} years` : `${from}- to ${to}-year-olds`;
  return from === 0 ? "All ages" : `All from ${from} years on`;
}
