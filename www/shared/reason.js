/**
 * The reason of a change: a sentence for its history, offered with each change.
 */

import { field, h } from "./dom.js";

/** The field; `read` returns its content, on one line. */
export function reasonField() {
  const input = h("input", { maxlength: 500, autocomplete: "off", dir: "auto" });
  const element = field("Reason (optional)", input);
  element.read = () => input.value.replace(/\p{Cc}+/gu, " ").trim();
  return element;
}

/** The path of a change with its reason, if there is one. */
export const withReason = (path, reason) => (reason ? `${path}${path.includes("?") ? "&" : "?"}${new URLSearchParams({ note: reason })}` : path);

/** The user who saved the stored version, as an element; undefined if unknown. */
export const storedBy = async (stored) => stored?.lastModifiedBy && whoOf(stored.lastModifiedBy);

/** The author of a change, by name. */
export const whoOf = ({ name, clientId }) => h("bdi", { title: clientId }, name ?? clientId);
