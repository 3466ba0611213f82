/**
 * The details of a business unit: name, place in the tree, markups and actions.
 */

import { button, h, keepFocus } from "../shared/dom.js";
import { figure } from "../shared/locale.js";
import { reasonField } from "../shared/reason.js";
import { removeAfterAsking } from "../shared/remove.js";
import { hrefOf } from "./address.js";
import { createUnit, draftKey, editUnit } from "./unit-editor.js";
import { KINDS, TYPES, explain, pairText } from "./wording.js";

const MAY_NOT = "You may not see business units. That needs the permission exr.business-unit.read, for example from the role exr.editor.";

/** The tab; `show` draws the unit. */
export function unitDetails(desk) {
  const facts = h("dl", { class: "facts" });
  const actions = h("div", { class: "inline" });
  const about = h("p", { class: "hint" });
  const element = h("div", { class: "card stack" }, facts, actions, about);
  /** The current content, as a text. */
  let shown;

  return {
    element,
    show({ id, units }) {
      const unit = units?.get(id);
      const hasDraft = desk.memory.get(draftKey(id)) !== undefined;
      const mayWrite = desk.may("exr.business-unit.write");
      const next = unit && JSON.stringify([units.path(id), units.shops(id), units.children(id).length, hasDraft, mayWrite]);
      // Replacing a button while it is pressed would lose the click.
      if (next !== undefined && next === shown) return;
      shown = next;
      facts.hidden = actions.hidden = unit === undefined;
      about.textContent = unit === undefined ? MAY_NOT : "";
      if (unit === undefined) return;
      facts.replaceChildren(...factsOf(unit, units).flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
      const below = units.children(id).length;
      const offered = mayWrite && [
        button(hasDraft ? "Edit or move (draft)" : "Edit or move", { image: "pencil", onclick: () => editUnit(desk, id) }),
        unit.type !== "STORE" && button("New unit below", { image: "plus", onclick: () => createUnit(desk, id) }),
        below === 0 && button("Delete", { image: "trash", class: "plain", onclick: () => removeUnit(desk, unit) }),
      ];
      keepFocus(actions, () => actions.replaceChildren(...(offered || []).filter(Boolean)));
      const others = below === 1 ? "the unit" : `the ${figure(below)} units`;
      if (mayWrite && below > 0) about.textContent = `It can be deleted once nothing is below it: move or delete ${others} below first.`;
    },
  };
}

function factsOf(unit, units) {
  const { id, type, parentId, markupPercentage, markups = [], tolerancePercentage, tolerances = [] } = unit;
  const link = (to) => h("a", { href: hrefOf({ id: to }) }, units.name(to));
  return [
    ["Kind", KINDS[type].word],
    ["Id", h("span", { class: "id" }, id)],
    parentId !== undefined && ["Below", link(parentId)],
    type !== "STORE" && ["Shops", figure(units.shops(id))],
    ["General markup", markupPercentage === undefined ? inheritedMarkup(unit, units, link) : `${markupPercentage} %, set here`],
    ["Markups of pairs", markups.length === 0 ? "none here" : pairList(markups, "markupPercentage")],
    tolerancePercentage !== undefined && ["Largest step", `${tolerancePercentage} %, set here`],
    tolerances.length > 0 && ["Largest steps of pairs", pairList(tolerances, "tolerancePercentage")],
  ].filter(Boolean);
}

const pairList = (entries, member) => h("ul", {}, entries.map((entry) => h("li", {}, pairPercentage(entry, member))));

const pairPercentage = (entry, member) => `${TYPES[entry.exchangeRateType]}, ${pairText(entry)} and back: ${entry[member]} %`;

function inheritedMarkup({ id }, units, link) {
  const above = units.path(id).slice(1).find(({ markupPercentage }) => markupPercentage !== undefined);
  return above === undefined ? "none" : h("span", {}, `${above.markupPercentage} %, from `, link(above.id));
}

async function removeUnit(desk, { id, parentId }) {
  const name = desk.name(id);
  const detail = `The rates that are set at ${name} are deleted with it. Subscribers of a shop that is deleted keep what they have.`;
  const [read, remove] = [() => desk.host.unit(id), (etag, why) => desk.host.removeUnit(id, etag, why)];
  if (await removeAfterAsking({ name, detail, read, remove, reason: reasonField(), explain })) desk.go({ id: parentId, tab: "details" });
}
