/**
 * What the modes of the preview share.
 */

import { TillgateError } from "../js/src/runtime/browser.js";
import { h } from "./dom.js";

/** The panes of a mode: the inputs on one side, the decision on the other. */
export function panes(inputs, outputs, label = "Inputs") {
  return [h("section", { class: "card inputs", "aria-label": label }, inputs), h("div", { class: "outputs" }, outputs)];
}

/** The result of a call, or the error that it throws. */
export function attempt(call) {
  try {
    return call();
  } catch (error) {
    if (error instanceof TillgateError) return error;
    throw error;
  }
}
