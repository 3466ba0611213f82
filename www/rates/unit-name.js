/**
 * The written form of a business unit: its name, and its id if that says more.
 */

import { h } from "../shared/dom.js";

/** The name and the id; they may be equal. */
export function unitName(name, id) {
  return [h("bdi", {}, name), name !== id && h("span", { class: "id" }, ` ${id}`)];
}
