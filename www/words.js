/**
 * What the page says: decisions, rules and errors in the words of a shop.
 */

import { describe } from "../js/src/browser.js";

/** How a decision is shown: never by its colour alone. */
export const DECISIONS = {
  ALLOW: { tone: "allow", image: "check", title: "May be sold", short: "Sell" },
  SOFT_DENY: { tone: "soft", image: "ask", title: "Ask first", short: "Ask" },
  HARD_DENY: { tone: "deny", image: "stop", title: "Must not be sold", short: "Do not sell" },
};

const ORDER = ["ALLOW", "SOFT_DENY", "HARD_DENY"];

/** What an allowing check says. */
export const ALLOWS = "Nothing against it";

/** The worst of some decisions. */
export const worst = (decisions) => ORDER[Math.max(0, ...decisions.map((decision) => ORDER.indexOf(decision)))];

/** What a reason means to an operator. */
export const reason = (code) => describe(code) ?? code;

/** What a condition asks for, as a sentence. */
export function conditionRule({ id, rule, condition_value: value }) {
  if (rule === "LICENSE_REQUIREMENT") return `Customers need the license “${id}”`;
  return value.minimum_age === 0 ? "No minimum age" : `Customers must be ${value.minimum_age} or older`;
}

/** What a restriction asks for. */
export function restrictionRule(restriction) {
  switch (restriction.type) {
    case "WHITELIST":
      return `${restriction.propertyName} must be ${listed(restriction.allowedValues)}`;
    case "BLACKLIST":
      return `${restriction.propertyName} must not be ${listed(restriction.deniedValues)}`;
    case "BOOLEAN":
      return `${restriction.propertyName} must be ${restriction.value ? "yes" : "no"}`;
    case "WHITELISTEDITEMS":
      return `only ${counted(restriction.itemIds.length, "item")}: ${listed(restriction.itemIds)}`;
    default:
      return `never ${listed(restriction.itemIds)}`;
  }
}

/** How a project is called. */
export const projectName = ({ name, projectId }) => name || projectId;

/** So many of something. */
export const counted = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;

function listed(values) {
  const shown = values.slice(0, 4).map((value) => (typeof value === "boolean" ? (value ? "yes" : "no") : value));
  const more = values.length - shown.length;
  if (shown.length === 0) return "nothing";
  return more > 0 ? `${shown.join(", ")} and ${more.toLocaleString("en")} more` : shown.join(" or ");
}

/** What went wrong, and what to do about it. */
export function trouble(error) {
  switch (error.code) {
    case "denied":
      return "Your client may look at this, but not change it.";
    case "unauthenticated":
      return "Your sign-in has ended. Sign in again.";
    case "unavailable":
      return "The host cannot be reached right now. Nothing was changed.";
    case "conflict":
      return "This id belongs to a global condition. Choose another.";
    case "not_found":
      return "It is not there any more.";
    case "invalid":
      return error.faults?.map(fault).join(" ") ?? error.message;
    default:
      return error.message;
  }
}

const PLACES = {
  "$.item.id": "The item’s id",
  "$.context.customer.customer_age": "The age",
  "$.context.customer.licenses": "The licenses",
  "$.condition_value.minimum_age": "The minimum age",
  "$.conditionId": "The condition’s id",
  "$.projectId": "The project",
};

/** A fault, beginning with the place as a person knows it. */
export const fault = ({ path, message }) => `${PLACES[path] ?? path} ${message}.`;
