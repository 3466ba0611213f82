/**
 * Texts that all views share: counts, values and errors.
 */

import { faultText } from "./faults.js";
import { figure, isolated } from "./locale.js";

/** A count with its noun: `1 item`, `1,000 items`. */
export const counted = (count, noun) => `${figure(count)} ${noun}${count === 1 ? "" : "s"}`;

/** A value of a property, in quotes if its ends or line breaks would be invisible. */
export function valueText(value) {
  if (typeof value === "boolean") return value ? "yes" : "no";
  const text = String(value);
  const isPlain = text === text.trim() && text !== "" && !/[\r\n]/.test(text);
  return isPlain ? isolated(text) : `“${isolated(text.replace(/\r\n|\r|\n/g, "↵"))}”`;
}

/** The error, and what to do about it. */
export function errorText(error) {
  const { code, status, message, faults } = error;
  if (code === "lost") return "The host’s answer was lost, so it is not known whether this took effect.";
  if (code === "unauthenticated") return "Your session has expired. Sign in again.";
  if (code === "id_is_global") return "A global condition has this id. Choose another one.";
  if (error.isTemporary) return "The host cannot be reached right now. Nothing was changed.";
  if (status === 403) return deniedText(missingPermission(error));
  if (status === 404) return "It no longer exists.";
  if (status === 400) return faults?.map(faultText).join(" ") ?? message;
  return sentence(message);
}

const sentence = (text) => `${text.charAt(0).toUpperCase()}${text.slice(1).replace(/\.$/, "")}.`;

/** The missing permission that an error of the host names. */
export const missingPermission = ({ message }) => /\b[a-z][\w-]*\.[a-z][\w-]*\.[a-z]+\b/.exec(message)?.[0];

function deniedText(permission) {
  const isRead = /\.(read|subscribe)$/.test(permission ?? "");
  const refusal = isRead ? "You may not see this." : "You may view this, but not change it.";
  return permission ? `${refusal} It needs the permission ${permission}.` : refusal;
}
