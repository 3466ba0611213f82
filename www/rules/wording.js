/**
 * The words of the Rules views: decisions, conditions and restrictions in terms that a rule owner knows.
 */

import { describe } from "../../js/src/index.js";
import { figure, isolated } from "../shared/locale.js";
import { counted, valueText } from "../shared/messages.js";
import { explainedText } from "./why.js";

/** The presentation of each decision. Color is never the only sign. */
export const DECISIONS = {
  ALLOW: { tone: "allow", image: "check", title: "May be sold", short: "Sell", verb: "allows it" },
  SOFT_DENY: { tone: "soft", image: "ask", title: "Ask first", short: "Ask", verb: "does not allow it yet" },
  HARD_DENY: { tone: "deny", image: "stop", title: "Must not be sold", short: "Do not sell", verb: "forbids it" },
};

const ORDER = ["ALLOW", "SOFT_DENY", "HARD_DENY"];

/** The worst of several decisions. */
export const worst = (decisions) => ORDER[Math.max(0, ...decisions.map((decision) => ORDER.indexOf(decision)))];

/** The meaning of a result's reason; a result that allows has none. */
const reasonText = (reason) => (reason === null ? "Allowed" : (describe(reason) ?? reason));

/** The meaning of a result: with its numbers and at most `most` values if it is explained, and the license that it is about. */
export function resultText(result, most) {
  const { id, rule, reason } = result;
  const explained = explainedText(result, most);
  if (explained !== undefined) return explained;
  if (rule !== "LICENSE_REQUIREMENT" || reason === null || id === undefined) return reasonText(reason);
  return reason.endsWith(".missing_context") ? `Ask for the license “${id}”.` : `The customer does not have the license “${id}”.`;
}

/** The requirement of a condition. */
export function conditionText({ id, rule, condition_value: value }) {
  if (rule === "LICENSE_REQUIREMENT") return id === "" ? "Customers need a license" : `Customers need the license “${id}”`;
  if (!Number.isInteger(value.minimum_age)) return "The minimum age is still missing";
  return value.minimum_age === 0 ? "No minimum age" : `Customers must be ${value.minimum_age} or older`;
}

/** The tills' behavior if a condition is switched off or deleted (`conditions.md`, "Conditions" and "Basket evaluation"). */
export const OFF =
  "Tills that ask for it get an error, and in a basket the items that need it may not be sold. " +
  "If a global rule with the same id is in force, that one decides instead.";

/** The requirement of a restriction, and that it is checked by itself. */
export const restrictionText = (restriction) => `${requiredText(restriction)}${restriction.exclusive ? " (checked separately)" : ""}`;

function requiredText(restriction) {
  const property = restriction.propertyName && isolated(restriction.propertyName);
  switch (restriction.type) {
    case "WHITELIST":
      if (restriction.allowedValues.length === 0) return `no value of ${property} is allowed`;
      return `${property} must be ${listText(restriction.allowedValues)}`;
    case "BLACKLIST":
      if (restriction.deniedValues.length === 0) return `any value of ${property} is allowed`;
      return `${property} must not be ${listText(restriction.deniedValues)}`;
    case "BOOLEAN":
      return `${property} must be ${restriction.value ? "yes" : "no"}`;
    case "WHITELISTEDITEMS":
      if (restriction.itemIds.length === 0) return "no item is allowed";
      return `only ${counted(restriction.itemIds.length, "item")}: ${listText(restriction.itemIds)}`;
    default:
      if (restriction.itemIds.length === 0) return "no item is excluded";
      return `never ${listText(restriction.itemIds)}`;
  }
}

/** The name of a project, or its id without one. */
export const projectName = ({ name, projectId }) => name || projectId;

function listText(values) {
  const shown = values.slice(0, 4).map(valueText);
  const more = values.length - shown.length;
  return more > 0 ? `${shown.join(", ")} and ${figure(more)} more` : shown.join(" or ");
}
