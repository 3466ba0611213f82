/**
 * The decision about a basket, in large type: the worst of its lines, what the cashier has left to ask, and what must be
 * removed. Screen readers announce it when typing pauses.
 */

import { debounce, h } from "../shared/dom.js";
import { faultText } from "../shared/faults.js";
import { icon } from "../shared/icon.js";
import { counted } from "../shared/messages.js";
import { DECISIONS } from "./wording.js";

/** The card: `show` takes the answer and what is decided about each line, `showEmpty` and `showFaults` say why there is none. */
export function basketCard() {
  const head = h("div", { class: "decision-head" });
  const steps = h("ul", { class: "results" });
  const status = h("p", { class: "visually-hidden", role: "status", "aria-live": "polite" });
  const element = h("section", { class: "decision", "aria-label": "Decision about the basket" }, head, steps, status);
  const announce = debounce(400, (text) => (status.textContent = text));

  const draw = (tone, image, title, sentence, rows = []) => {
    element.dataset.tone = tone;
    head.replaceChildren(
      h("div", { class: "mark" }, icon(image)),
      h("div", {}, h("p", { class: "decision-title" }, title), h("p", { class: "decision-why" }, sentence)),
    );
    steps.replaceChildren(...rows);
    steps.hidden = rows.length === 0;
    announce([title, sentence, ...rows.map((row) => row.textContent)].join(". "));
  };

  return {
    element,
    showEmpty: () => draw("none", "basket", "The basket is empty", "Add a line to see the decision."),
    showFaults: (faults) => draw("none", "alert", "Cannot be decided yet", faults.map(faultText).join(" ")),
    show(answer, decided) {
      const { tone, image } = DECISIONS[answer.decision];
      const denied = decided.filter(({ decision }) => decision === "HARD_DENY").length;
      const title = { ALLOW: "Sell the basket", SOFT_DENY: "Ask first", HARD_DENY: `Remove ${counted(denied, "item")}` }[answer.decision];
      const sentence = answer.allow ? "No rule forbids any item." : "What the cashier is told:";
      draw(tone, image, title, sentence, stepsOf(answer, decided));
    },
  };
}

/** What the cashier has left to do: each question once, then each item that is removed. */
function stepsOf({ items }, decided) {
  const questions = new Set(decided.flatMap(({ ask, missing }) => [...ask, ...missing]));
  const removals = items.flatMap(({ id }, at) => (decided[at].decision === "HARD_DENY" ? [`Remove ${id}. ${decided[at].hard.join(" ")}`] : []));
  return [...[...questions].map((text) => step("soft", "ask", text)), ...removals.map((text) => step("deny", "stop", text))];
}

const step = (tone, image, text) => h("li", { "data-tone": tone }, h("span", { class: "dot" }, icon(image)), h("span", { class: "result-why", dir: "auto" }, text));
