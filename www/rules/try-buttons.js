/**
 * What can be done about a denial: buttons that fill in what would change it, and the way to the rule that denies.
 */

import { button, h } from "../shared/dom.js";
import { triesOf } from "./why.js";

/** The buttons for some results; `ontry` gets what to fill in, and `rule` is the link to the rule, or the button that shows it. */
export function tryButtons(results, ontry, rule) {
  const tries = new Map(results.flatMap(triesOf).map(({ text, change }) => [text, change]));
  const onclick = (change) => ({ currentTarget }) => {
    const card = currentTarget.closest(".decision");
    ontry(change);
    // The buttons are drawn again with the decision.
    if (!currentTarget.isConnected) card.focus();
  };
  const buttons = [...tries].map(([text, change]) => button(text, { class: "offer", onclick: onclick(change), dir: "auto" }));
  return buttons.length > 0 || rule ? h("div", { class: "tries" }, buttons, rule) : undefined;
}
