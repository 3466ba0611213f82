/**
 * The decision about a basket, in large type: the worst of its lines, what the cashier still has to ask, and what must be
 * removed. Screen readers announce it when typing pauses.
 */

import { debounce, h } from "../shared/dom.js";
import { faultText } from "../shared/faults.js";
import { icon } from "../shared/icon.js";
import { isolated } from "../shared/locale.js";
import { counted } from "../shared/messages.js";
import { tryButtons } from "./decision.js";
import { DECISIONS, resultText } from "./wording.js";

/**
 * The card: `show` takes the answer and the decision about each line; `showEmpty`, `showGone` and `showFaults` say why there
 * is none.
 */
export function basketCard() {
  const head = h("div", { class: "decision-head" });
  const list = h("ul", { class: "results" });
  const status = h("p", { class: "visually-hidden", role: "status", "aria-live": "polite" });
  const element = h("section", { class: "decision", "aria-label": "Decision about the basket", tabindex: "-1" }, head, list, status);
  const announce = debounce(400, (text) => (status.textContent = text));

  const draw = (tone, image, title, sentence, steps = []) => {
    element.dataset.tone = tone;
    head.replaceChildren(
      h("div", { class: "mark" }, icon(image)),
      h("div", {}, h("p", { class: "decision-title" }, title), h("p", { class: "decision-why" }, sentence)),
    );
    list.replaceChildren(...steps.map(stepRow));
    list.hidden = steps.length === 0;
    announce([title, sentence, ...steps.map(({ text }) => text)].join(". "));
  };

  return {
    element,
    showEmpty: () => draw("none", "basket", "The basket is empty", "Add a line to see the decision."),
    showGone: () => draw("none", "alert", "The project does not exist", "The project was deleted, or the address is wrong. Choose another project, or none."),
    showFaults: (faults) => draw("none", "alert", "Cannot be decided yet", faults.map(faultText).join(" ")),
    /**
     * `ontry` gets a change that would lift a denial and the number of its line, `hrefOf` returns the address of a result's
     * rule.
     */
    show(answer, decided, can) {
      const { tone, image } = DECISIONS[answer.decision];
      const denied = decided.filter(({ decision }) => decision === "HARD_DENY").length;
      const title = { ALLOW: "Sell the basket", SOFT_DENY: "Ask first", HARD_DENY: `Remove ${counted(denied, "item")}` }[answer.decision];
      const sentence = answer.allow ? "No rule forbids any item." : "What the cashier is told:";
      draw(tone, image, title, sentence, stepsOf(answer, decided, can));
    },
  };
}

/** The cashier's next steps: each question once, then each removed item. */
function stepsOf({ items }, decided, { ontry, hrefOf }) {
  const doing = (results, at) => tryButtons(results, (change) => ontry(change, at), links(results, (result) => hrefOf(result, at)));
  const questions = questionsOf(decided).map(({ text, result, at }) => ({ tone: "soft", image: "ask", text, control: result && doing([result], at) }));
  const removals = items.flatMap(({ id }, at) => {
    const { decision, hard, results } = decided[at];
    return decision === "HARD_DENY" ? [{ tone: "deny", image: "stop", text: `Remove ${isolated(id)}. ${hard.join(" ")}`, control: doing(results, at) }] : [];
  });
  return [...questions, ...removals];
}

/** The questions, `{ text, result, at }`, each once; the highest required age covers all. */
function questionsOf(decided) {
  const questions = decided.flatMap(({ ask, missing, results }, at) =>
    [...(ask.length > 0 ? results.map((result) => ({ text: resultText(result), result, at })) : []), ...missing.map((text) => ({ text, at }))],
  );
  const ageOf = ({ result }) => result?.explanation?.minimumAge ?? -1;
  const highest = Math.max(-1, ...questions.map(ageOf));
  const once = new Map();
  for (const question of questions) if ([-1, highest].includes(ageOf(question)) && !once.has(question.text)) once.set(question.text, question);
  return [...once.values()];
}

/** Links to the rules of some results. */
function links(results, hrefOf) {
  const rules = new Map(results.filter(({ id, restriction }) => id ?? restriction).map((result) => [result.id ?? result.restriction, result]));
  return [...rules].map(([name, result]) => h("a", { href: hrefOf(result) }, `Rule ${name === "itemId" ? "item id" : isolated(name)}`));
}

const stepRow = ({ tone, image, text, control }) =>
  h("li", { "data-tone": tone }, h("span", { class: "dot" }, icon(image)), h("div", { class: "result-why" }, h("p", {}, text), control));
