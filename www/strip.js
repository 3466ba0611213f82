/**
 * The decision against the customer's age, 0 to 100, with the age slider on it: one sees where the rule turns, and moves
 * the customer across.
 */

import { h } from "./dom.js";
import { DECISIONS } from "./words.js";

const OLDEST = 100;

/** The strip; `onage` is told when the slider moves. Without it, it is a picture. */
export function strip(onage) {
  const runs = h("div", { class: "runs", "aria-hidden": "true" });
  const ticks = h("div", { class: "ticks", "aria-hidden": "true" });
  const summary = h("figcaption", { class: "hint" });
  const slider = onage && h("input", { type: "range", min: 0, max: OLDEST, step: 1, "aria-label": "Customer’s age, slider" });
  slider?.addEventListener("input", () => onage(Number(slider.value)));
  const title = h("h2", {}, "By the customer’s age");
  const element = h("figure", { class: "strip" }, title, h("div", { class: "track" }, runs, slider), ticks, summary);

  return {
    element,
    /** `decide` answers the decision at an age; `age` is the customer's, when it is known. */
    draw(decide, age) {
      const found = stretches(decide);
      runs.replaceChildren(...found.map(bar));
      ticks.replaceChildren(...marks(found));
      summary.textContent = `${found.map(sentence).join(", ")}.`.replace(/^./, (first) => first.toUpperCase());
      if (!slider) return;
      slider.value = age ?? 0;
      element.classList.toggle("unknown", age === undefined);
      slider.setAttribute("aria-valuetext", age === undefined ? "not asked" : `${age} years`);
    },
  };
}

/** Ages that are decided alike: `{ from, to, decision }`. */
function stretches(decide) {
  const found = [];
  for (let age = 0; age <= OLDEST; age += 1) {
    const decision = decide(age);
    const last = found.at(-1);
    if (last?.decision === decision) last.to = age;
    else found.push({ from: age, to: age, decision });
  }
  return found;
}

function bar({ from, to, decision }) {
  const { tone, short } = DECISIONS[decision];
  const element = h("span", { "data-tone": tone }, h("b", {}, short));
  element.style.flexGrow = to - from + 1;
  return element;
}

/** The ages at the ends, and where the decision turns. */
function marks(found) {
  const turns = found.slice(1).map(({ from }) => from);
  const far = (age) => turns.every((turn) => Math.abs(turn - age) > 6);
  return [0, 25, 50, 75, OLDEST].filter(far).concat(turns).map((age) => {
    const mark = h("span", { class: turns.includes(age) ? "turn" : undefined }, String(age));
    mark.style.insetInlineStart = `${((age + (turns.includes(age) ? 0 : 0.5)) / (OLDEST + 1)) * 100}%`;
    return mark;
  });
}

function sentence({ from, to, decision }) {
  const words = { ALLOW: "sell", SOFT_DENY: "ask first", HARD_DENY: "do not sell" }[decision];
  if (from === 0 && to === OLDEST) return `${words} at any age`;
  if (to === OLDEST) return `from ${from}: ${words}`;
  return from === 0 ? `up to ${to}: ${words}` : `${from} to ${to}: ${words}`;
}
