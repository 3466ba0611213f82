/**
 * The fields of one rule of a project. Unchanged values are saved as they were, even with spaces at their ends or line breaks,
 * which a field of lines cannot show.
 */

import { button, field, h } from "../shared/dom.js";
import { VALUE_LENGTH, faultText } from "../shared/faults.js";
import { icon } from "../shared/icon.js";
import { counted, valueText } from "../shared/messages.js";
import { isLine, valueFields } from "./value-fields.js";

const TYPES = [
  ["WHITELIST", "A property must be one of"],
  ["BLACKLIST", "A property must not be one of"],
  ["BOOLEAN", "A property must be yes or no"],
  ["WHITELISTEDITEMS", "Only these items"],
  ["BLACKLISTEDITEMS", "Never these items"],
];

/** The effect of a rule without values. */
const EMPTY = {
  WHITELIST: "This rule has no values: with it alone, nothing may be bought.",
  BLACKLIST: "This rule has no values: it forbids nothing.",
  WHITELISTEDITEMS: "This rule has no item ids: with it alone, nothing may be bought.",
  BLACKLISTEDITEMS: "This rule has no item ids: it forbids nothing.",
};

/** Fills a field, and returns a function that reads it: as given until it is changed, and trimmed then. */
export function keeping(input, given) {
  input.value = given;
  const shown = input.value;
  return () => (input.value === shown ? given : input.value.trim());
}

const isOfItems = (type) => type.endsWith("ITEMS");

/** The fields, as a line of the list; `stored` are the values of the rule in force. `read` returns the restriction. */
export function restrictionFields(restriction, stored = []) {
  const type = h("select", { "aria-label": "Type of rule", onchange: show }, TYPES.map(([value, text]) => h("option", { value }, text)));
  type.value = restriction.type;
  const property = h("input", { spellcheck: "false", autocomplete: "off", dir: "auto" });
  const readProperty = keeping(property, restriction.propertyName ?? "");
  const propertyField = field("Property", property);
  const values = valueFields({
    given: restriction.allowedValues ?? restriction.deniedValues ?? restriction.itemIds ?? [],
    stored,
    nameOf: () => (isOfItems(type.value) ? "item-ids" : property.value.trim() || "values"),
    onchange: warn,
  });
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
    h("div", { class: "rule-body" }, propertyField, wantedField, values.element),
    values.beside,
    h("label", { class: "check" }, exclusive, "Check this rule separately from others of the same kind"),
    warning,
    fault,
  );

  function show() {
    propertyField.hidden = isOfItems(type.value);
    wantedField.hidden = type.value !== "BOOLEAN";
    const isOfValues = type.value !== "BOOLEAN";
    values.show({ texts: isOfValues ? (isOfItems(type.value) ? "Item ids" : "Values") : undefined, flags: isOfValues && !isOfItems(type.value) });
  }

  function read() {
    const all = values.read();
    const isText = (value) => typeof value === "string";
    return !isOfItems(type.value) || all.every(isText) ? all : all.filter(isText);
  }

  function warn() {
    const said = warnings(type.value, read(), values.isLines());
    warning.classList.toggle("of-none", said[0] === EMPTY[type.value]);
    warning.replaceChildren(...(said.length > 0 ? [icon("alert"), said.join(" ")] : []));
  }
  show();

  line.read = () => {
    const all = read();
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
    fault.textContent = given === undefined || ofProperty ? "" : `${faultText(given)}${whichText(given, read())}`;
    fault.hidden = fault.textContent === "";
  };
  return line;
}

/** The value that a fault is about, if any. */
function whichText({ path }, values) {
  const [, at] = /\[(\d+)\]$/.exec(path.replace(/^\$\.restrictions\[\d+\]/, "")) ?? [];
  const value = values[at];
  return typeof value === "string" && value !== "" ? ` It begins with “${value.slice(0, 24).trim()}…”, and ${VALUE_LENGTH}.` : "";
}

function removeLine(line) {
  const next = line.nextElementSibling ?? line.previousElementSibling;
  const focused = next?.querySelector("select") ?? line.parentElement.nextElementSibling;
  line.remove();
  focused?.focus();
}

/** Surprises: no values, one that occurs twice, and invisible spaces. */
function warnings(type, values, isLines) {
  if (type === "BOOLEAN") return [];
  if (values.length === 0) return [EMPTY[type]];
  if (!isLines) return [];
  const seen = new Set();
  const twice = values.filter((value) => seen.size === seen.add(value).size);
  const spaced = values.filter((value) => typeof value === "string" && isLine(value) && value !== value.trim());
  return [
    twice.length > 0 && `${counted(twice.length, "value")} repeated: ${[...new Set(twice)].slice(0, 3).map(valueText).join(", ")}.`,
    spaced.length > 0 && `${counted(spaced.length, "value")} with a space at the beginning or end: ${spaced.slice(0, 3).map(valueText).join(", ")}.`,
  ].filter(Boolean);
}
