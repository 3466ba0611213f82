/**
 * Why something is changed: a sentence that its history keeps, offered with each change.
 */

import { field, h } from "./dom.js";

/** The field; `read` returns what is in it, on one line. */
export function reasonField() {
  const input = h("input", { maxlength: 500, autocomplete: "off", dir: "auto" });
  const element = field("Reason (optional)", input);
  element.read = () => input.value.replace(/\p{Cc}+/gu, " ").trim();
  return element;
}

/** The path of a change that is made for a reason, if there is one. */
export const withReason = (path, reason) => (reason ? `${path}${path.includes("?") ? "&" : "?"}${new URLSearchParams({ note: reason })}` : path);

/** Who has saved what is stored, as an element; undefined where it does not say. */
export const storedBy = async (stored) => stored?.lastModifiedBy && whoOf(stored.lastModifiedBy);

/** Who has made a change, as they are called. */
export const whoOf = ({ name, clientId }) => h("bdi", { title: clientId }, name ?? clientId);
