/**
 * The field of the item: its id.
 */

import { field, h } from "../shared/dom.js";
import { ITEM_FAULT } from "../shared/faults.js";

/** The field; `onchange` is called after each keystroke, and `given` is what it starts with, as `state` returns it. */
export function itemFields(onchange, given = {}) {
  const id = h("input", { value: given.item ?? "", spellcheck: "false", autocomplete: "off", dir: "auto", oninput: onchange });
  const element = field("Item id", id);
  return {
    element,
    /** The item as a till would send it. */
    value: () => ({ id: id.value }),
    set(item) {
      id.value = item;
      onchange();
    },
    /** What was entered. */
    state: () => ({ item: id.value }),
    showFaults: (faults = []) => element.showFault(faults.some(({ path }) => path === "$.item.id") && ITEM_FAULT),
  };
}
