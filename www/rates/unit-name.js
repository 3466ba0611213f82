/**
 * How a business unit is written: its name, and its id where that says more.
 */

import { h } from "../shared/dom.js";

/** The name and the id; the name may be the id. */
export function unitName(name, id) {
  return [h("bdi", {}, name), name !== id && h("span", { class: "id" }, ` ${id}`)];
}
