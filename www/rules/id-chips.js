/**
 * A choice of several ids: a chip for each if there are few; otherwise chips for the chosen ones and a search for the others.
 */

import { h } from "../shared/dom.js";
import { picker } from "../shared/picker.js";

/** With more ids, only the chosen ones are chips. */
const MAX_CHIPS = 8;

/** The ids of a list as a set: all lines of a basket offer the same list. */
const sets = new WeakMap();

function setOf(ids) {
  if (!sets.has(ids)) sets.set(ids, new Set(ids));
  return sets.get(ids);
}

/** The choice. `label` names the chips, `add` the search, and `given` are the ids chosen at first. */
export function idChips({ label, add, given = [], onchange }) {
  const chips = h("div", { class: "chips", role: "group", "aria-label": label });
  const chosen = new Set(given);
  let offered = [];
  const left = () => offered.filter((id) => !chosen.has(id)).map((id) => [id, id]);
  const others = picker({ read: left, textOf: () => "", placeholder: `${add}…`, "aria-label": add, onchange: choose });
  const element = h("div", { class: "stack tight" }, chips, others.element);

  function choose(id) {
    others.show(undefined);
    chosen.add(id);
    chips.hidden = false;
    if (![...chips.children].some((each) => each.control.value === id)) chips.prepend(chip(id));
    for (const each of chips.children) each.control.checked = chosen.has(each.control.value);
    onchange();
  }

  function chip(id) {
    const toggle = ({ target }) => {
      if (target.checked) chosen.add(id);
      else chosen.delete(id);
      onchange();
    };
    return h("label", { class: "chip" }, h("input", { type: "checkbox", value: id, checked: chosen.has(id), onchange: toggle }), h("span", {}, id));
  }

  return {
    element,
    /** Offers these ids. Ids chosen before stay chosen, even if not offered. */
    offer(ids) {
      // Redrawing the chips would lose the focus.
      if (ids === offered) return;
      offered = ids;
      const isFew = ids.length <= MAX_CHIPS;
      const shown = isFew ? ids : ids.filter((id) => chosen.has(id));
      chips.replaceChildren(...shown.map(chip));
      chips.hidden = shown.length === 0;
      others.element.hidden = isFew;
    },
    /** Chooses an id; returns true if it is offered. */
    choose(id) {
      const isOffered = setOf(offered).has(id);
      if (isOffered) choose(id);
      return isOffered;
    },
    /** The chosen and offered ids, in order. */
    value: () => [...chosen].filter((id) => setOf(offered).has(id)).sort(),
    /** The chosen ids that are not offered. */
    unknown: () => [...chosen].filter((id) => !setOf(offered).has(id)),
  };
}
