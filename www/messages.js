/**
 * The texts of the page: decisions, rules and errors in terms that a rule owner knows.
 */

import { describe } from "../js/src/browser.js";

/** How each decision is shown. Colour is never the only sign. */
export const DECISIONS = {
  ALLOW: { tone: "allow", image: "check", title: "May be sold", short: "Sell" },
  SOFT_DENY: { tone: "soft", image: "ask", title: "Ask first", short: "Ask" },
  HARD_DENY: { tone: "deny", image: "stop", title: "Must not be sold", short: "Do not sell" },
};

const ORDER = ["ALLOW", "SOFT_DENY", "HARD_DENY"];

/** The worst of several decisions. */
export const worst = (decisions) => ORDER[Math.max(0, ...decisions.map((decision) => ORDER.indexOf(decision)))];

/** What the reason of a result means; a result that allows has none. */
export const reasonText = (reason) => (reason === null ? "Allowed" : (describe(reason) ?? reason));

/** What a condition requires. */
export function conditionText({ id, rule, condition_value: value }) {
  if (rule === "LICENSE_REQUIREMENT") return `Customers need the license “${id}”`;
  return value.minimum_age === 0 ? "No minimum age" : `Customers must be ${value.minimum_age} or older`;
}

/** What a restriction requires. */
export function restrictionText(restriction) {
  switch (restriction.type) {
    case "WHITELIST":
      return `${restriction.propertyName} must be ${listText(restriction.allowedValues)}`;
    case "BLACKLIST":
      return `${restriction.propertyName} must not be ${listText(restriction.deniedValues)}`;
    case "BOOLEAN":
      return `${restriction.propertyName} must be ${restriction.value ? "yes" : "no"}`;
    case "WHITELISTEDITEMS":
      return `only ${counted(restriction.itemIds.length, "item")}: ${listText(restriction.itemIds)}`;
    default:
      return `never ${listText(restriction.itemIds)}`;
  }
}

/** The name of a project, or its id when it has none. */
export const projectName = ({ name, projectId }) => name || projectId;

/** A count with its noun: `1 item`, `1,000 items`. */
export const counted = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;

function listText(values) {
  const shown = values.slice(0, 4).map((value) => (typeof value === "boolean" ? (value ? "yes" : "no") : value));
  const more = values.length - shown.length;
  if (shown.length === 0) return "nothing";
  return more > 0 ? `${shown.join(", ")} and ${more.toLocaleString("en")} more` : shown.join(" or ");
}

/** What went wrong, and what to do about it. */
export function errorText(error) {
  switch (error.code) {
    case "denied":
      return deniedText(missingPermission(error));
    case "unauthenticated":
      return "Your session has expired. Sign in again.";
    case "unavailable":
      return "The host cannot be reached right now. Nothing was changed.";
    case "conflict":
      return "A global condition has this id. Choose another one.";
    case "not_found":
      return "It no longer exists.";
    case "invalid":
      return error.faults?.map(faultText).join(" ") ?? error.message;
    default:
      return error.message;
  }
}

/** The permission that an error of the host names as missing. */
export const missingPermission = ({ message }) => /\b[a-z][\w-]*\.[a-z][\w-]*\.[a-z]+\b/.exec(message)?.[0];

function deniedText(permission) {
  const isRead = /\.(read|subscribe)$/.test(permission ?? "");
  const sentence = isRead ? "You may not see this." : "You may view this, but not change it.";
  return permission ? `${sentence} It needs the permission ${permission}.` : sentence;
}

/** The names of places in a request, from the most specific to the least. */
const PLACES = [
  [/^\$\.item\.id/, "The item’s id"],
  [/^\$\.item\.additionalProperties/, "A property of the item"],
  [/^\$\.items\[\d+\]\.id/, "An item’s id"],
  [/^\$\.items\[\d+\]\.conditionIds/, "An item’s conditions"],
  [/^\$\.items\[\d+\]/, "An item"],
  [/^\$\.items/, "The basket"],
  [/^\$\.context\.customer\.customer_age/, "The age"],
  [/^\$\.context\.customer\.licenses/, "The licenses"],
  [/condition_value\.minimum_age/, "The minimum age"],
  [/^\$\.(conditionId|tenant\[0\]\.id)/, "The condition’s id"],
  [/^\$\.restrictions\[\d+\]\.propertyName/, "The property"],
  [/^\$\.restrictions\[\d+\]\.(allowed|denied)Values/, "Each value"],
  [/^\$\.restrictions\[\d+\]\.itemIds/, "Each item id"],
  [/^\$\.restrictions\[\d+\]/, "The rule"],
  [/^\$\.(restrictions|projectId)/, "The project"],
  [/^\$\.name/, "The name"],
  [/\.exchangeRateType$/, "The type of the rate"],
  [/\.currencyId(From|To)$/, "The currency"],
  [/\.rateValue$/, "The rate"],
  [/markupPercentage$/, "The markup"],
  [/^\$\.markups/, "The markup of a pair"],
  [/^\$\.(set|delete)\[\d+\]/, "The rate"],
  [/^\$\.(set|delete)/, "The list of rates"],
  [/^\$\.callbackUrl/, "The address"],
  [/^\$\.eventType$/, "The event type"],
  [/^\$\.eventTypes$/, "The list of events"],
  [/^\$\.eventTypes/, "An event type"],
  [/^\$\.authentication\.username/, "The user name"],
  [/^\$\.authentication\.password/, "The password"],
  [/^\$\.authentication/, "How it signs in"],
  [/^\$\.sharedKey/, "The shared key"],
  [/^\$\.signatureHeader/, "The header of the signature"],
  [/^\$\.maxPerSecond/, "The limit per second"],
  [/^\$\.parentId/, "The unit above"],
  [/^\$\.(businessUnitId|id)/, "The id"],
  [/^\$\.type/, "The kind of unit"],
];

/** The rules of values, as a rule owner would put them. */
const RULES = [
  [/^must be a string of (.*?), true or false$/, "must be $1 long"],
  [/^must be a string of (.*)$/, "must be $1 long"],
  ["must be an integer", "must be a whole number"],
  [/^must be 1 to (\d+) of A-Z a-z 0-9/, "must be 1 to $1 letters, digits or"],
  ["must be the ISO 4217 code of a currency", "must be the three-letter code of a currency, such as EUR"],
  ["must differ from currencyIdFrom", "must differ from the other currency"],
  ["has an opposite that rounds to 0.000000: set the opposite too", "is so large that its opposite would be zero: set the opposite too"],
  ["must be SALES, PURCHASE or INTERCOMPANY", "must be sales, purchase or intercompany"],
  ["is set twice", "is listed twice"],
  ["must be an absolute URL", "must be a whole address, such as https://erp.example/events"],
  ["must be an https or http URL", "must begin with https:// or http://"],
  ["must be an https URL", "must begin with https://"],
  ["must not have a fragment", "must not have a # and what follows it"],
  [": use authentication BASIC", ": enter them below"],
  [/^must be an event type such as ([^,]*).*$/, "must have names in lower case with dots between them and a version at the end, such as $1"],
  [/^must be "generate" or /, "must be "],
];

/** A fault of a request as a sentence, which names the place and not its JSON path. */
export function faultText({ path, message }) {
  const [, place] = PLACES.find(([pattern]) => pattern.test(path)) ?? [undefined, "The request"];
  const rule = RULES.reduce((text, [from, to]) => text.replace(from, to), message);
  return `${place} ${rule}.`;
}
