/**
 * The decision for each age of the customer from 0 to 100, with a slider that sets the age: it shows where the decision
 * changes.
 */

import { Catalog } from "../../js/src/index.js";
import { h } from "../shared/dom.js";
import { DECISIONS } from "./wording.js";

/** The last age of the chart. */
export const MAX_AGE = 100;

/** The labels at the ends of the axis, which must not reach beyond it. */
const ENDS = new Map([[0, "first"], [MAX_AGE, "last"]]);

/** The chart. `onage` gets the age when the slider moves; without it, there is no slider. `heading` names the chart. */
export function ageChart(onage, heading) {
  const bars = h("div", { class: "bars", "aria-hidden": "true" });
  const ticks = h("div", { class: "ticks", "aria-hidden": "true" });
  const summary = h("figcaption", { class: "hint" });
  const slider = onage && h("input", { type: "range", min: 0, max: MAX_AGE, step: 1, "aria-label": "Customer’s age, slider" });
  slider?.addEventListener("input", () => onage(Number(slider.value)));
  const title = h("h2", {});
  const element = h("figure", { class: "age-chart" }, title, h("div", { class: "track" }, bars, slider), ticks, summary);

  return {
    element,
    /** `decide` returns the decision for an age. `age` is the customer's, or undefined if unknown. */
    draw(decide, age, isDraft = false) {
      title.textContent = heading ?? (isDraft ? "Decision by the customer’s age, if you saved this" : "Decision by the customer’s age");
      element.classList.toggle("of-draft", isDraft);
      const ranges = rangesOf(decide);
      bars.replaceChildren(...ranges.map(bar));
      ticks.replaceChildren(...marks(ranges));
      summary.textContent = `${ranges.map(rangeText).join(", ")}.`.replace(/^./, (first) => first.toUpperCase());
      if (!slider) return;
      slider.value = age ?? 0;
      element.classList.toggle("unknown", age === undefined);
      slider.setAttribute("aria-valuetext", age === undefined ? "not asked" : `${age} years`);
    },
  };
}

/** The decision of an age condition for each age. Fails if the condition is not valid. */
export function decisionsByAge(condition) {
  const catalog = new Catalog({ global: [], tenant: [{ ...condition, id: "draft", scope: "TENANT", tests: undefined }] });
  const at = (age) => ({ item: { id: "any" }, context: { customer: { customer_age: age } } });
  const decisions = Array.from({ length: MAX_AGE + 1 }, (_, age) => catalog.evaluateCondition("draft", at(age)).results[0].decision);
  catalog.free();
  return decisions;
}

/** The ranges of ages with the same decision: `{ from, to, decision }`. */
function rangesOf(decide) {
  const ranges = [];
  for (let age = 0; age <= MAX_AGE; age += 1) {
    const decision = decide(age);
    const last = ranges.at(-1);
    if (last?.decision === decision) last.to = age;
    else ranges.push({ from: age, to: age, decision });
  }
  return ranges;
}

function bar({ from, to, decision }) {
  const { tone, short } = DECISIONS[decision];
  const element = h("span", { "data-tone": tone }, h("b", {}, short));
  element.style.flexGrow = to - from + 1;
  return element;
}

/** The labels of the axis: a few ages, and those at which the decision changes. */
function marks(ranges) {
  const changes = ranges.slice(1).map(({ from }) => from);
  const hasRoom = (age) => changes.every((change) => Math.abs(change - age) > 9);
  return [0, 25, 50, 75, MAX_AGE].filter(hasRoom).concat(changes).map((age) => {
    const mark = h("span", { class: changes.includes(age) ? "change" : ENDS.get(age) }, String(age));
    mark.style.insetInlineStart = `${((age + (changes.includes(age) ? 0 : 0.5)) / (MAX_AGE + 1)) * 100}%`;
    return mark;
  });
}

function rangeText({ from, to, decision }) {
  const text = { ALLOW: "sell", SOFT_DENY: "ask first", HARD_DENY: "do not sell" }[decision];
  if (from === 0 && to === MAX_AGE) return `${text} at any age`;
  if (to === MAX_AGE) return `from ${from}: ${text}`;
  return from === 0 ? `up to ${to}: ${text}` : `${from} to ${to}: ${text}`;
}
