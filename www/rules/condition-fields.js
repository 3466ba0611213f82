/**
 * The form of a condition: its id, its requirement, and whether it is in force. Preview and the dialog both use it.
 */

import { button, choice, field, h } from "../shared/dom.js";
import { AGE_FAULT, DOTS_RULE, ID_FAULT, isDots } from "../shared/faults.js";
import { OFF } from "./wording.js";

/** A new condition, as the form shows it first. */
export const newCondition = () => ({ id: "", rule: "AGE_RESTRICTION", enabled: true, condition_value: { minimum_age: 18 } });

/** The scopes of a new condition. */
const SCOPES = [["TENANT", "This tenant"], ["GLOBAL", "All tenants"]];

/** The key of a condition's draft; without an id, that of a new one. */
export const draftKey = (id = "") => `condition:${id}`;

const MAX_ID = 64;

/**
 * The form: `show` fills it, `value` reads it, `differs` compares it with a stored condition, `check` and `showFaults` show
 * faults at their fields. `isTaken` tells if an id exists, and `onopen` shows the condition that has it; `copied` is the id of
 * the global condition that a new one copies. With several `scopes`, the value of a new condition names one. `placeOf` returns
 * the field of a path, if any.
 */
export function conditionFields({ onchange, isTaken, onopen, copied, scopes = [] }) {
  const id = h("input", { spellcheck: "false", autocomplete: "off", dir: "auto", oninput: onchange });
  const idField = field("Id", id, { hint: "Tills refer to the condition by this id. A license has the same id." });
  let rule = "AGE_RESTRICTION";
  const rules = choice("Requirement", [["AGE_RESTRICTION", "Age"], ["LICENSE_REQUIREMENT", "License"]], rule, (chosen) => {
    rule = chosen;
    ageField.hidden = rule !== "AGE_RESTRICTION";
    onchange();
  });
  const scope = scopeFields(scopes, onchange);
  const age = h("input", { type: "number", inputmode: "numeric", min: 0, max: 150, step: 1, oninput: onchange });
  const ageField = field("Minimum age", age);
  const inForce = inForceSwitch(onchange);
  const element = h("div", { class: "stack" }, idField, scope.element, rules, ageField, inForce.element);

  const value = () => ({
    id: id.value.trim(),
    ...scope.value(),
    rule,
    enabled: inForce.value(),
    condition_value: rule === "AGE_RESTRICTION" ? { minimum_age: age.value === "" ? null : Number(age.value) } : {},
  });

  const idFault = (typed) => faultOfId(typed) ?? (isTaken(typed) ? taken(typed) : undefined);

  /** An existing id is opened, never overwritten. */
  const taken = (typed) => (typed === copied ? `The global rule has the id “${typed}”, so your rule needs another one.` : ["This id exists: ", button("open it", { class: "link", onclick: () => onopen(typed) })]);

  const ageFault = () => {
    const years = age.value === "" ? NaN : Number(age.value);
    return rule === "AGE_RESTRICTION" && !(Number.isInteger(years) && years >= 0 && years <= 150) ? AGE_FAULT : undefined;
  };

  return {
    element,
    value,
    show(condition, { named }) {
      id.value = condition.id;
      idField.hidden = named;
      scope.show(condition, { named });
      rule = condition.rule;
      rules.choose(rule);
      ageField.hidden = rule !== "AGE_RESTRICTION";
      // The text typed last may not be a number yet.
      const { minimum_age: minimumAge = 18 } = condition.condition_value;
      age.value = minimumAge ?? "";
      inForce.show(condition.enabled);
    },
    differs(condition) {
      const now = value();
      const of = ({ rule, enabled, condition_value: { minimum_age } }) => JSON.stringify([rule, enabled, minimum_age]);
      return of(now) !== of(condition) || (!idField.hidden && now.id !== condition.id);
    },
    /** Shows the faults at their fields; returns true without any. */
    check({ isTyping = false } = {}) {
      const typed = id.value.trim();
      const wrongId = idField.hidden || (isTyping && typed === "") ? undefined : idFault(typed);
      const wrongAge = ageFault();
      idField.showFault(wrongId);
      ageField.showFault(wrongAge);
      return wrongId === undefined && wrongAge === undefined;
    },
    placeOf(path) {
      const places = [[/\.minimum_age/, "Minimum age", ageField], [/\.enabled$/, "In force", inForce.element], [/\.id$/, "Id", idField]];
      const [, name, element] = places.find(([pattern, , each]) => pattern.test(path) && !each.hidden) ?? [];
      return element && { name, element };
    },
    /** Says that the id exists, as the host found out. */
    showTaken: () => idField.showFault(taken(id.value.trim())),
  };
}

/** The choice of a new condition's scope, if the user has one: `value` is empty otherwise. */
function scopeFields(scopes, onchange) {
  let scope;
  const element = choice("Applies to", SCOPES, scope, (chosen) => {
    scope = chosen;
    onchange();
  });
  return {
    element,
    value: () => (element.hidden ? {} : { scope }),
    show(condition, { named }) {
      element.hidden = named || scopes.length < 2;
      scope = scopes.includes(condition.scope) ? condition.scope : scopes[0];
      element.choose(scope);
    },
  };
}

/** The fault of an id, apart from its being taken. */
function faultOfId(typed) {
  if (typed === "") return "Enter an id.";
  if (/[^A-Za-z0-9_.:-]/.test(typed)) return ID_FAULT;
  if (isDots(typed)) return `The id ${DOTS_RULE}.`;
  return typed.length > MAX_ID ? "The id may have at most 64 characters." : undefined;
}

/** The switch that puts a condition in force, and the effect of switching it off. */
function inForceSwitch(onchange) {
  const input = h("input", { type: "checkbox", role: "switch", onchange: () => (draw(), onchange()) });
  const off = h("p", { class: "hint", role: "status" }, `Switched off, it does not decide. ${OFF}`);
  const draw = () => (off.hidden = input.checked);
  return {
    element: h("div", { class: "stack tight" }, h("label", { class: "switch" }, input, h("span", {}, "In force")), off),
    value: () => input.checked,
    show(isOn) {
      input.checked = isOn;
      draw();
    },
  };
}
