/**
 * The texts of the page: decisions, rules and errors in terms that a rule owner knows.
 */

import { describe } from "../js/src/runtime/browser.js";
import { faultText } from "./faults.js";

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

/** What a result means, and which license it is about. */
export function resultText({ id, rule, reason }) {
  if (rule !== "LICENSE_REQUIREMENT" || reason === null || id === undefined) return reasonText(reason);
  return reason.endsWith(".missing_context") ? `Ask for the license “${id}”.` : `The customer does not have the license “${id}”.`;
}

/** What a condition requires. */
export function conditionText({ id, rule, condition_value: value }) {
  if (rule === "LICENSE_REQUIREMENT") return id === "" ? "Customers need a license" : `Customers need the license “${id}”`;
  if (!Number.isInteger(value.minimum_age)) return "Customers must be of an age that is still missing";
  return value.minimum_age === 0 ? "No minimum age" : `Customers must be ${value.minimum_age} or older`;
}

/** What a restriction requires. */
export function restrictionText(restriction) {
  switch (restriction.type) {
    case "WHITELIST":
      if (restriction.allowedValues.length === 0) return `no value of ${restriction.propertyName} is allowed`;
      return `${restriction.propertyName} must be ${listText(restriction.allowedValues)}`;
    case "BLACKLIST":
      if (restriction.deniedValues.length === 0) return `any value of ${restriction.propertyName} is allowed`;
      return `${restriction.propertyName} must not be ${listText(restriction.deniedValues)}`;
    case "BOOLEAN":
      return `${restriction.propertyName} must be ${restriction.value ? "yes" : "no"}`;
    case "WHITELISTEDITEMS":
      if (restriction.itemIds.length === 0) return "no item is allowed";
      return `only ${counted(restriction.itemIds.length, "item")}: ${listText(restriction.itemIds)}`;
    default:
      if (restriction.itemIds.length === 0) return "no item is excluded";
      return `never ${listText(restriction.itemIds)}`;
  }
}

/** The name of a project, or its id when it has none. */
export const projectName = ({ name, projectId }) => name || projectId;

/** A count with its noun: `1 item`, `1,000 items`. */
export const counted = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;

/** A value of a property. One whose ends or line breaks would not be seen stands in quotes. */
export function valueText(value) {
  if (typeof value === "boolean") return value ? "yes" : "no";
  const text = String(value);
  return text === text.trim() && text !== "" && !/[\r\n]/.test(text) ? text : `“${text.replace(/\r\n|\r|\n/g, "↵")}”`;
}

function listText(values) {
  const shown = values.slice(0, 4).map(valueText);
  const more = values.length - shown.length;
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
      return /global/.test(error.message) ? "A global condition has this id. Choose another one." : sentence(error.message);
    case "not_found":
      return "It no longer exists.";
    case "invalid":
      return error.faults?.map(faultText).join(" ") ?? error.message;
    default:
      return sentence(error.message);
  }
}

const sentence = (text) => `${text.charAt(0).toUpperCase()}${text.slice(1).replace(/\.$/, "")}.`;

/** The permission that an error of the host names as missing. */
export const missingPermission = ({ message }) => /\b[a-z][\w-]*\.[a-z][\w-]*\.[a-z]+\b/.exec(message)?.[0];

function deniedText(permission) {
  const isRead = /\.(read|subscribe)$/.test(permission ?? "");
  const refusal = isRead ? "You may not see this." : "You may view this, but not change it.";
  return permission ? `${refusal} It needs the permission ${permission}.` : refusal;
}
