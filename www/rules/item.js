/**
 * The field of the item: its id, if rules ask for it.
 */

import { field, h } from "../shared/dom.js";
import { ITEM_FAULT } from "../shared/faults.js";

/** The id of an item if no rule asks for it: tills always send one. */
export const ANY_ITEM = "any";

/** The field; `onchange` is called after each keystroke, and `given` is the first content, as `state` returns it. */
export function itemFields(onchange, given = {}) {
  const id = h("input", { value: given.item ?? "", spellcheck: "false", autocomplete: "off", dir: "auto", oninput: onchange });
  const element = field("Item id", id);
  return {
    element,
    /** Shows the field if rules ask for the id. */
    show: (isAsked) => (element.hidden = !isAsked),
    /** The item as a till would send it. */
    value: () => ({ id: element.hidden ? ANY_ITEM : id.value }),
    set(item) {
      id.value = item;
      onchange();
    },
    state: () => ({ item: id.value }),
    showFaults: (faults = []) => element.showFault(faults.some(({ path }) => path === "$.item.id") && ITEM_FAULT),
  };
}
