/**
 * Tells apart those who have made the changes of a list: where two have the same name, what identifies each stands beside it.
 */

import { h } from "./dom.js";

export class People {
  #ids = new Map();
  #marks = [];

  /** What identifies someone. It is shown from when somebody else has the same name. */
  mark(by) {
    const name = by.name ?? by.clientId;
    const ids = this.#ids.get(name) ?? new Set();
    this.#ids.set(name, ids.add(by.clientId));
    const element = h("span", { class: "who-id", dir: "auto" }, idText(by));
    this.#marks.push({ ids, element });
    for (const mark of this.#marks) mark.element.hidden = mark.ids.size < 2;
    return element;
  }
}

/** The id of a client, or that of a person at their provider. */
function idText({ clientId = "" }) {
  const at = clientId.indexOf("|");
  return at < 0 ? `client ${clientId}` : `${clientId.slice(at + 1)} at ${clientId.slice(0, at).replace("https://", "")}`;
}
