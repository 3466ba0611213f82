/**
 * The filter of a webhook's subscribed events: it gets those for which each condition holds.
 */

import { button, field, h } from "../shared/dom.js";
import { conditionText, memberText, pathOf } from "./event-filter.js";
import { isNumber, numberOf, numberText } from "./exact-json.js";
import { filterTrial } from "./filter-trial.js";

const KINDS = [["text", "text"], ["number", "number"], ["flag", "yes or no"]];
const MAX_CONDITIONS = 16;
const HINT = "A member of the event’s data, such as businessUnitId. For a nested member: shop › id.";
const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;

/** True if a text can be a line of a field, and be read from there again. */
const isLine = (value) => value !== "" && value === value.trim() && !/[\r\n]/.test(value);

/** The kind of all values of a condition; undefined if the fields cannot show them. */
function kindOf(values) {
  if (values.every((value) => typeof value === "string" && isLine(value))) return "text";
  if (values.every(isNumber)) return "number";
  return values.length === 1 && typeof values[0] === "boolean" ? "flag" : undefined;
}

/** The fields; `given` is the filter of the webhook, `types` returns its event types. */
export function filterFields(desk, given = [], types) {
  const list = h("ul", { class: "conditions" });
  const add = button("Add a condition", { image: "plus", onclick: () => append({ path: "", in: [] }).querySelector("input").focus() });
  const fault = h("p", { class: "fault", hidden: true });
  const value = () => [...list.children].map((row) => row.read()).filter((condition) => condition !== undefined);
  const trial = filterTrial(desk, { types, filter: value, isComplete: () => faults().length === 0 });
  const element = h("fieldset", {}, h("legend", {}, "Only some of these events"), list, add, fault, trial.element);
  for (const condition of given) append(condition);
  changed();

  function append(condition) {
    const row = conditionRow(condition, { onchange: changed, onremove: remove });
    list.append(row);
    changed();
    return row;
  }

  function remove(row) {
    const next = row.nextElementSibling ?? row.previousElementSibling;
    row.remove();
    changed();
    (next?.querySelector("input") ?? add).focus();
  }

  function changed() {
    [...list.children].forEach((row, at) => row.showPlace(at));
    add.hidden = list.childElementCount >= MAX_CONDITIONS;
    trial.show(list.childElementCount > 0);
  }

  /** The faults that need no host. */
  function faults() {
    return value().flatMap(({ path, in: values }, at) => [
      ...(path === "" ? [{ path: `$.filter[${at}].path`, message: "is required" }] : []),
      ...(values.length === 0 ? [{ path: `$.filter[${at}].in`, message: "must have 1 to 100 values" }] : []),
      ...(values.some(Number.isNaN) ? [{ path: `$.filter[${at}].in`, message: "must be numbers" }] : []),
    ]);
  }

  return {
    element,
    /** The filter; empty rows do not count. */
    value,
    faults,
    showFault(sentence) {
      fault.textContent = sentence ?? "";
      fault.hidden = !sentence;
    },
  };
}

/** A condition; `read` returns it, as given until it is changed, and undefined while nothing is entered. */
function conditionRow(given, { onchange, onremove }) {
  const kind = given.in.length === 0 ? "text" : kindOf(given.in);
  const lines = given.in.map((value) => (isNumber(value) ? numberText(value) : value)).join("\n");
  const member = h("input", { spellcheck: "false", autocomplete: "off", dir: "auto", value: given.path && memberText(given.path), oninput: onchange });
  const kinds = h("select", { "aria-label": "Kind of value", onchange: () => (show(), onchange()) }, KINDS.map(([value, text]) => h("option", { value }, text)));
  const values = h("textarea", { rows: Math.min(6, Math.max(2, given.in.length)), spellcheck: "false", dir: "auto", value: kind === undefined ? "" : lines, oninput: onchange });
  const flag = h("select", { "aria-label": "is", onchange }, h("option", { value: "true" }, "yes"), h("option", { value: "false" }, "no"));
  const remove = button("Remove this condition", { image: "trash", iconOnly: true, class: "plain", onclick: () => onremove(row) });
  const memberField = field("Where", member, { hint: HINT });
  const valuesField = field("is one of, one per line", values);
  const fixed = kind === undefined && h("p", { class: "hint", dir: "auto" }, `${conditionText(given)}. These values of several kinds stay as they are.`);
  const fields = h("div", { class: "pair-fields" }, memberField, h("div", { class: "stack tight" }, kinds, flag, valuesField));
  const row = h("li", { class: "condition-fields" }, fixed || fields, remove);
  const [memberBefore, valuesBefore] = [member.value, values.value];
  kinds.value = kind ?? "text";
  flag.value = String(given.in[0] !== false);
  show();

  function show() {
    flag.hidden = kinds.value !== "flag";
    valuesField.hidden = kinds.value === "flag";
  }

  function typed() {
    if (kinds.value === "flag") return [flag.value === "true"];
    if (kinds.value === kind && values.value === valuesBefore) return given.in;
    const texts = [...new Set(values.value.split("\n").map((text) => text.trim()).filter((text) => text !== ""))];
    return kinds.value === "text" ? texts : texts.map((text) => (NUMBER.test(text) ? numberOf(text) : NaN));
  }

  row.read = () => {
    if (fixed) return given;
    if (member.value.trim() === "" && values.value.trim() === "" && kinds.value !== "flag") return undefined;
    return { path: member.value === memberBefore ? given.path : pathOf(member.value), in: typed() };
  };
  row.showPlace = (at) => (memberField.querySelector("label").textContent = at === 0 ? "Where" : "and where");
  return row;
}
