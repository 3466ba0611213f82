/**
 * The fields of one rule of a project. What is not changed is saved as it was, also values with spaces at their ends or
 * with line breaks, which a field of lines cannot show.
 */

import { button, field, h } from "../shared/dom.js";
import { faultText } from "../shared/faults.js";
import { icon } from "../shared/icon.js";
import { counted, valueText } from "../shared/messages.js";

const TYPES = [
  ["WHITELIST", "A property must be one of"],
  ["BLACKLIST", "A property must not be one of"],
  ["BOOLEAN", "A property must be yes or no"],
  ["WHITELISTEDITEMS", "Only these items"],
  ["BLACKLISTEDITEMS", "Never these items"],
];

/** What a rule without values does. */
const EMPTY = {
  WHITELIST: "This rule has no values: with it alone, nothing may be bought.",
  BLACKLIST: "This rule has no values: it forbids nothing.",
  WHITELISTEDITEMS: "This rule has no item ids: with it alone, nothing may be bought.",
  BLACKLISTEDITEMS: "This rule has no item ids: it forbids nothing.",
};

/** Fills a field, and returns a function that reads it: as it was given until it is changed, and trimmed then. */
export function keeping(input, given) {
  input.value = given;
  const shown = input.value;
  return () => (input.value === shown ? given : input.value.trim());
}

/** Whether a value can be a line of a field, and read from there again. */
const isLine = (value) => typeof value === "string" && value.trim() !== "" && !/[\r\n]/.test(value);

const isOfItems = (type) => type.endsWith("ITEMS");

/** The fields, as a line of the list; `read` returns the restriction. */
export function restrictionFields(restriction) {
  const type = h("select", { "aria-label": "Type of rule", onchange: show }, TYPES.map(([value, text]) => h("option", { value }, text)));
  type.value = restriction.type;
  const property = h("input", { spellcheck: "false", autocomplete: "off", dir: "auto" });
  const readProperty = keeping(property, restriction.propertyName ?? "");
  const propertyField = field("Property", property);
  const values = valueFields(restriction.allowedValues ?? restriction.deniedValues ?? restriction.itemIds ?? [], warn);
  const wanted = h("select", {}, h("option", { value: "true" }, "yes"), h("option", { value: "false" }, "no"));
  wanted.value = String(restriction.value ?? false);
  const wantedField = field("Must be", wanted);
  const exclusive = h("input", { type: "checkbox", checked: restriction.exclusive ?? false });
  const warning = h("p", { class: "warning", role: "status" });
  const fault = h("p", { class: "fault", hidden: true });
  const removeRule = button("Remove this rule", { image: "trash", iconOnly: true, class: "plain", onclick: () => removeLine(line) });
  const line = h(
    "li",
    { class: "rule-fields" },
    h("div", { class: "rule-head" }, type, removeRule),
    h("div", { class: "rule-body" }, propertyField, wantedField, values.textsField),
    values.oddValues,
    values.flags,
    h("label", { class: "check" }, exclusive, "Check this rule separately from others of the same kind"),
    warning,
    fault,
  );

  function show() {
    propertyField.hidden = isOfItems(type.value);
    wantedField.hidden = type.value !== "BOOLEAN";
    values.show(type.value);
  }

  function warn() {
    const said = warnings(type.value, values.read());
    warning.replaceChildren(...(said.length > 0 ? [icon("alert"), said.join(" ")] : []));
  }
  show();

  line.read = () => {
    const all = values.read();
    const propertyName = readProperty();
    const shapes = {
      WHITELIST: { propertyName, allowedValues: all },
      BLACKLIST: { propertyName, deniedValues: all },
      BOOLEAN: { propertyName, value: wanted.value === "true" },
      WHITELISTEDITEMS: { itemIds: all },
      BLACKLISTEDITEMS: { itemIds: all },
    };
    return { type: type.value, ...shapes[type.value], exclusive: exclusive.checked };
  };
  line.showFault = (given) => {
    const ofProperty = given?.path.endsWith(".propertyName");
    const missing = property.value.trim() === "" ? "Enter the name of the property." : "The name of the property is too long.";
    if (given === undefined || ofProperty) propertyField.showFault(ofProperty && missing);
    fault.textContent = given === undefined || ofProperty ? "" : faultText(given);
    fault.hidden = fault.textContent === "";
  };
  return line;
}

function removeLine(line) {
  const next = line.nextElementSibling ?? line.previousElementSibling;
  const focused = next?.querySelector("select") ?? line.parentElement.nextElementSibling;
  line.remove();
  focused?.focus();
}

/** What would surprise: no values at all, and spaces that cannot be seen. */
function warnings(type, values) {
  if (type === "BOOLEAN") return [];
  const spaced = values.filter((value) => typeof value === "string" && isLine(value) && value !== value.trim());
  return [
    values.length === 0 && EMPTY[type],
    spaced.length > 0 && `${counted(spaced.length, "value")} with a space at the beginning or end: ${spaced.slice(0, 3).map(valueText).join(", ")}.`,
  ].filter(Boolean);
}

/**
 * The fields of the values that a rule names: texts as lines, those that cannot be a line beside them, and yes and no.
 * `show` shows those that a type of rule has, `read` returns the values, and `onchange` is called when they may differ.
 */
function valueFields(given, onchange) {
  const kept = new Set(given.filter((value) => typeof value === "string" && !isLine(value)));
  const rows = Math.min(8, Math.max(3, given.length));
  const texts = h("textarea", { rows, spellcheck: "false", dir: "auto", value: given.filter(isLine).join("\n"), oninput: onchange });
  const textsField = field("Values, one per line", texts);
  const oddValues = h("div", { class: "odd-values" });
  // The values yes and no are booleans, not the texts.
  const boxes = [true, false].map((flag) => h("input", { type: "checkbox", checked: given.includes(flag), "data-flag": String(flag), onchange }));
  const labels = boxes.map((box) => h("label", { class: "check" }, box, box.dataset.flag === "true" ? "yes" : "no"));
  const flags = h("div", { class: "inline", role: "group", "aria-label": "And" }, h("span", { class: "hint" }, "and"), labels);
  const chosenFlags = () => boxes.filter(({ checked }) => checked).map(({ dataset }) => dataset.flag);
  const typed = () => JSON.stringify([texts.value, [...kept], chosenFlags()]);
  const before = typed();
  let type;

  function showOdd() {
    oddValues.hidden = kept.size === 0 || type === "BOOLEAN";
    const chip = (value) => {
      const remove = button(`Remove ${valueText(value)}`, { image: "close", iconOnly: true, class: "plain", onclick: () => (kept.delete(value), showOdd()) });
      return h("li", { dir: "auto" }, valueText(value), remove);
    };
    oddValues.replaceChildren(h("span", { class: "hint" }, "and these values, which a line cannot show"), h("ul", {}, [...kept].map(chip)));
    onchange();
  }

  return {
    textsField,
    oddValues,
    flags,
    show(chosen) {
      type = chosen;
      textsField.hidden = type === "BOOLEAN";
      textsField.querySelector("label").textContent = isOfItems(type) ? "Item ids, one per line" : "Values, one per line";
      flags.hidden = isOfItems(type) || type === "BOOLEAN";
      showOdd();
    },
    /** The values in the form; as they were given, and in their order, if none is changed. */
    read() {
      const lines = texts.value.split("\n").filter((text) => text.trim() !== "");
      const now = typed() === before ? given : [...lines, ...kept, ...chosenFlags().map((flag) => flag === "true")];
      return isOfItems(type) ? now.filter((value) => typeof value === "string") : now;
    },
  };
}
