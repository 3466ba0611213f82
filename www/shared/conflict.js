/**
 * Two versions of the edited thing, side by side: the one that another user saved, and the one in the form.
 */

import { h } from "./dom.js";
import { icon } from "./icon.js";

/**
 * The element, with the user's `choices`. `theirs` is the saved version, undefined if deleted, and `base` the first content of
 * the form. `compare` returns the element of the difference between two versions; without it, `describe` describes each in a
 * sentence. `by` is the other user, if known.
 */
export function conflict({ base, theirs, mine, compare, describe, by = "Another user" }, choices) {
  const side = (name, content) => h("div", { class: "side" }, h("h3", {}, name), content);
  const text = (value) => h("p", { dir: "auto" }, describe(value));
  const sides = compare
    ? [
        side("Their changes", theirs ? compare(base, theirs) : h("p", {}, "Deleted.")),
        side("Changes if you save yours now", compare(theirs, mine)),
      ]
    : [side("Theirs, in force now", theirs ? text(theirs) : h("p", {}, "Deleted")), side("Yours, not saved", text(mine))];
  return h(
    "section",
    { class: "conflict", "aria-label": "Two versions" },
    h("h2", {}, icon("alert"), h("span", {}, by, ` ${theirs ? "changed" : "deleted"} this while you were editing`)),
    h("div", { class: "sides" }, sides),
    h("div", { class: "actions" }, choices),
  );
}
