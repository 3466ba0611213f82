/**
 * The difference between two versions: what was removed and what was added.
 */

import { h } from "./dom.js";
import { counted, valueText } from "./messages.js";

/** The most values shown of each side. */
const MAX_SHOWN = 12;

/** The change of one value; undefined without one. */
export function change(label, before, after) {
  if (before === after) return undefined;
  const side = (value) => (value === undefined ? [] : [valueText(value)]);
  return { label, removed: side(before), added: side(after) };
}

/** The change of a list; undefined without one. */
export function listChange(label, before, after) {
  const [had, has] = [new Set(before), new Set(after)];
  const [removed, added] = [before.filter((value) => !has.has(value)), after.filter((value) => !had.has(value))];
  if (removed.length === 0 && added.length === 0) return undefined;
  return { label, removed: shownValues(removed), added: shownValues(added) };
}

/** Values as texts, with the number of those not shown. */
export function shownValues(values, noun = "value") {
  const more = values.length - MAX_SHOWN;
  const texts = values.slice(0, MAX_SHOWN).map(valueText);
  return more > 0 ? [...texts, `and ${counted(more, noun)} more`] : texts;
}

/** The changes as a list that does not depend on colors. */
export function changeList(changes, label = "Changes") {
  const side = (name, sign, said, texts) =>
    texts.map((text) => h(name, { dir: "auto" }, h("span", { "aria-hidden": "true" }, sign), h("span", { class: "visually-hidden" }, `${said}: `), text));
  const rows = changes.map(({ label: what, removed, added }) =>
    h("li", {}, h("h3", {}, what), h("p", {}, side("del", "−", "removed", removed), side("ins", "+", "added", added))),
  );
  return h("ul", { class: "changes", "aria-label": label }, rows);
}
