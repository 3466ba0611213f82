/**
 * A choice of several ids: a chip for each of a few; of many, chips for those that are chosen and a search for the others.
 */

import { h } from "../shared/dom.js";
import { picker } from "../shared/picker.js";

/** With more ids than this, only those that are chosen are chips. */
const MAX_CHIPS = 8;

/** The ids of a list as a set: all lines of a basket offer the same list. */
const sets = new WeakMap();

function setOf(ids) {
  if (!sets.has(ids)) sets.set(ids, new Set(ids));
  return sets.get(ids);
}

/** The choice. `label` names the chips, `add` the search, and `given` are the ids that are chosen first. */
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
    /** Offers these ids. Those that were chosen before stay so, also while they are not offered. */
    offer(ids) {
      // Drawing the chips again would lose the focus.
      if (ids === offered) return;
      offered = ids;
      const isFew = ids.length <= MAX_CHIPS;
      const shown = isFew ? ids : ids.filter((id) => chosen.has(id));
      chips.replaceChildren(...shown.map(chip));
      chips.hidden = shown.length === 0;
      others.element.hidden = isFew;
    },
    /** Chooses an id; returns whether it is offered. */
    choose(id) {
      const isOffered = setOf(offered).has(id);
      if (isOffered) choose(id);
      return isOffered;
    },
    /** The ids that are chosen and offered, in order. */
    value: () => [...chosen].filter((id) => setOf(offered).has(id)).sort(),
    /** Those that were chosen and are not offered. */
    unknown: () => [...chosen].filter((id) => !setOf(offered).has(id)),
  };
}
