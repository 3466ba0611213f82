/**
 * Tells the authors of a list's changes apart: if two have the same name, each is shown with an id.
 */

import { h } from "./dom.js";

export class People {
  /** By name: the ids of those who have it, and the elements for each. */
  #named = new Map();

  /** The id of someone. It is shown once somebody else has the same name. */
  mark(by) {
    const name = by.name ?? by.clientId;
    if (!this.#named.has(name)) this.#named.set(name, { ids: new Set(), marks: [] });
    const { ids, marks } = this.#named.get(name);
    const isSecond = ids.size === 1 && !ids.has(by.clientId);
    ids.add(by.clientId);
    const element = h("span", { class: "who-id", dir: "auto", hidden: ids.size === 1 }, idText(by));
    if (isSecond) for (const mark of marks) mark.hidden = false;
    marks.push(element);
    return element;
  }
}

/** The id of a client, or of a person at their provider. */
function idText({ clientId = "" }) {
  const at = clientId.indexOf("|");
  return at < 0 ? `client ${clientId}` : `${clientId.slice(at + 1)} at ${clientId.slice(0, at).replace("https://", "")}`;
}
