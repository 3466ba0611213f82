/**
 * One line of the basket: the item's id, the conditions that tills send for it, the properties that the project checks, and
 * the decision.
 */

import { button, h } from "../shared/dom.js";
import { icon } from "../shared/icon.js";
import { idChips } from "./id-chips.js";
import { propertyFields } from "./item-properties.js";
import { DECISIONS, resultText, worst } from "./wording.js";

/**
 * The line. `given` is `{ id, conditionIds, properties }`, as `state` returns it. `onchange` is called after each keystroke,
 * `onremove` once the line is removed.
 */
export function basketLine(given, { onchange, onremove }) {
  const name = h("input", { value: given.id, placeholder: "item id", spellcheck: "false", "aria-label": "Item id", dir: "auto", oninput: onchange });
  const fault = h("p", { class: "fault", hidden: true }, "Enter an item id of at most 256 characters.");
  const conditions = idChips({ label: "Conditions of this item", add: "Add a condition", given: given.conditionIds, onchange });
  const properties = propertyFields(onchange, given.properties);
  const mark = h("span", { class: "dot" });
  const why = h("p", { class: "line-why" });
  const remove = () => {
    element.remove();
    onremove();
  };
  const removeLine = button("Remove this line", { image: "close", iconOnly: true, class: "plain", onclick: remove });
  const element = h("li", { class: "line" }, h("div", { class: "line-head" }, mark, name, removeLine), fault, conditions.element, properties.element, why);
  properties.offer(undefined);

  return {
    element,
    /** The item as a till would send it. */
    read: () => ({ id: name.value, conditionIds: conditions.value(), ...properties.ofItem() }),
    state: () => ({ id: name.value, conditionIds: conditions.value(), properties: properties.isOffered() ? properties.value() : given.properties }),
    /** Offers these conditions, and the properties that a project's rules check (undefined: no project). */
    offer(ids, restrictions) {
      properties.offer(restrictions);
      conditions.offer(ids);
    },
    /** Enters another item id, or the value of a property, in the form that `triesOf` returns. */
    enter({ item, property, value }) {
      if (item === undefined) return properties.enter(property, value);
      name.value = item;
      onchange();
    },
    /** Shows the decision; undefined without one. */
    show(decided) {
      const { tone, image, short } = DECISIONS[decided?.decision] ?? {};
      if (tone) element.dataset.tone = tone;
      else delete element.dataset.tone;
      mark.replaceChildren(...(image ? [icon(image), h("span", { class: "visually-hidden" }, short)] : []));
      why.textContent = decided?.messages.join(" ") ?? "";
    },
    showFault(isWrong) {
      fault.hidden = !isWrong;
      name.setAttribute("aria-invalid", String(isWrong));
    },
    focus: () => name.focus(),
  };
}

/**
 * The decision about a line: the worst of its results, the denials, and what is left to ask unless it is removed; `results`
 * are those that say so.
 */
export function lineDecision({ results, errors = [] }) {
  const missing = errors.map(({ conditionId }) => `The condition “${conditionId}” is not in force.`);
  const of = (decision) => results.filter((result) => result.decision === decision);
  const texts = (some) => [...new Set(some.map((result) => resultText(result)))];
  const denied = of("HARD_DENY");
  const asked = denied.length > 0 ? [] : of("SOFT_DENY");
  const [hard, ask] = [denied, asked].map(texts);
  const decision = worst([...results.map((result) => result.decision), ...missing.map(() => "SOFT_DENY")]);
  return { decision, hard, ask, missing, results: [...denied, ...asked], messages: [...hard, ...ask, ...missing] };
}
