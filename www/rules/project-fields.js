/**
 * The form of a project: its name and its rules. What is not changed is saved as it was, also values with spaces at
 * their ends or with line breaks, which a field of lines cannot show.
 */

import { button, field, h } from "../shared/dom.js";
import { faultText } from "../shared/faults.js";
import { icon } from "../shared/icon.js";
import { counted, valueText } from "../shared/messages.js";

/** Where the draft of a project is kept; without an id, that of a new one. */
export const draftKey = (id = "") => `project:${id}`;

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

/** The form; `show` fills it, `value` reads it. */
export function projectFields() {
  const name = h("input", { autocomplete: "off", dir: "auto" });
  const nameField = field("Name", name);
  const rules = h("ol", { class: "rule-list" });
  const add = button("Add a rule", {
    image: "plus",
    class: "plain",
    onclick: () => {
      const fields = ruleFields({ type: "WHITELIST", propertyName: "", allowedValues: [], exclusive: false });
      rules.append(fields);
      fields.querySelector("select").focus();
    },
  });
  let readName;
  return {
    element: h("div", { class: "stack" }, nameField, h("div", { class: "stack tight" }, h("h3", {}, "Rules"), rules, add)),
    show(project) {
      readName = keeping(name, project.name ?? "");
      rules.replaceChildren(...project.restrictions.map(ruleFields));
    },
    value: () => ({ ...(readName() !== "" && { name: readName() }), restrictions: [...rules.children].map((rule) => rule.read()) }),
    /** Shows faults at their fields; returns whether every fault has one. */
    showFaults(faults) {
      let placed = 0;
      for (const rule of rules.children) rule.showFault();
      const ofName = faults.find(({ path }) => path === "$.name");
      nameField.showFault(ofName && faultText(ofName));
      for (const fault of faults) {
        const [, at] = /^\$\.restrictions\[(\d+)\]/.exec(fault.path) ?? [];
        if (at !== undefined) rules.children[at]?.showFault(fault);
        if (at !== undefined || fault === ofName) placed += 1;
      }
      return placed === faults.length;
    },
  };
}

/** Fills a field, and returns a function that reads it: as it was given until it is changed, and trimmed then. */
function keeping(input, given) {
  input.value = given;
  const shown = input.value;
  return () => (input.value === shown ? given : input.value.trim());
}

/** Whether a value can be a line of a field, and read from there again. */
const isLine = (value) => typeof value === "string" && value.trim() !== "" && !/[\r\n]/.test(value);

/** The fields of one restriction, in a line of the list; `read` returns the restriction. */
function ruleFields(restriction) {
  const given = restriction.allowedValues ?? restriction.deniedValues ?? restriction.itemIds ?? [];
  const kept = new Set(given.filter((value) => typeof value === "string" && !isLine(value)));
  const type = h("select", { "aria-label": "Type of rule", onchange: show }, TYPES.map(([value, text]) => h("option", { value }, text)));
  type.value = restriction.type;
  const property = h("input", { spellcheck: "false", autocomplete: "off", dir: "auto" });
  const readProperty = keeping(property, restriction.propertyName ?? "");
  const propertyField = field("Property", property);
  const rows = Math.min(8, Math.max(3, given.length));
  const texts = h("textarea", { rows, spellcheck: "false", dir: "auto", value: given.filter(isLine).join("\n"), oninput: warn });
  const textsField = field("Values, one per line", texts);
  const oddValues = h("div", { class: "odd-values" });
  // The values yes and no are booleans, not the texts.
  const flags = [true, false].map((flag) =>
    h("label", { class: "check" }, h("input", { type: "checkbox", checked: given.includes(flag), "data-flag": String(flag), onchange: warn }), flag ? "yes" : "no"),
  );
  const flagsRow = h("div", { class: "inline", role: "group", "aria-label": "And" }, h("span", { class: "hint" }, "and"), flags);
  const wanted = h("select", {}, h("option", { value: "true" }, "yes"), h("option", { value: "false" }, "no"));
  wanted.value = String(restriction.value ?? false);
  const wantedField = field("Must be", wanted);
  const exclusive = h("input", { type: "checkbox", checked: restriction.exclusive ?? false });
  const warning = h("p", { class: "warning", role: "status" });
  const fault = h("p", { class: "fault", hidden: true });
  const removeRule = button("Remove this rule", { image: "trash", iconOnly: true, class: "plain", onclick: () => removeLine() });
  const line = h(
    "li",
    { class: "rule-fields" },
    h("div", { class: "rule-head" }, type, removeRule),
    h("div", { class: "rule-body" }, propertyField, wantedField, textsField),
    oddValues,
    flagsRow,
    h("label", { class: "check" }, exclusive, "Check this rule separately from others of the same kind"),
    warning,
    fault,
  );

  function removeLine() {
    const next = line.nextElementSibling ?? line.previousElementSibling;
    const focused = next?.querySelector("select") ?? line.parentElement.nextElementSibling;
    line.remove();
    focused?.focus();
  }

  const chosenFlags = () => flags.map((label) => label.querySelector("input")).filter(({ checked }) => checked);
  const typed = () => JSON.stringify([texts.value, [...kept], chosenFlags().map(({ dataset }) => dataset.flag)]);
  const before = typed();

  /** The values in the form; in their order if none is changed. */
  function values() {
    const lines = texts.value.split("\n").filter((text) => text.trim() !== "");
    const now = typed() === before ? given : [...lines, ...kept, ...chosenFlags().map(({ dataset }) => dataset.flag === "true")];
    return ofItems() ? now.filter((value) => typeof value === "string") : now;
  }

  const ofItems = () => type.value.endsWith("ITEMS");

  function show() {
    propertyField.hidden = ofItems();
    wantedField.hidden = type.value !== "BOOLEAN";
    textsField.hidden = type.value === "BOOLEAN";
    textsField.querySelector("label").textContent = ofItems() ? "Item ids, one per line" : "Values, one per line";
    flagsRow.hidden = ofItems() || type.value === "BOOLEAN";
    showOdd();
  }

  function showOdd() {
    oddValues.hidden = kept.size === 0 || type.value === "BOOLEAN";
    const chip = (value) => {
      const remove = button(`Remove ${valueText(value)}`, { image: "close", iconOnly: true, class: "plain", onclick: () => (kept.delete(value), showOdd()) });
      return h("li", { dir: "auto" }, valueText(value), remove);
    };
    oddValues.replaceChildren(h("span", { class: "hint" }, "and these values, which a line cannot show"), h("ul", {}, [...kept].map(chip)));
    warn();
  }

  /** Says what would surprise: no values at all, and spaces that nobody sees. */
  function warn() {
    const all = type.value === "BOOLEAN" ? [true] : values();
    const spaced = all.filter((value) => typeof value === "string" && isLine(value) && value !== value.trim());
    const said = [
      all.length === 0 && EMPTY[type.value],
      spaced.length > 0 && `${counted(spaced.length, "value")} with a space at the beginning or end: ${spaced.slice(0, 3).map(valueText).join(", ")}.`,
    ].filter(Boolean);
    warning.replaceChildren(...(said.length > 0 ? [icon("alert"), said.join(" ")] : []));
  }
  show();

  line.read = () => {
    const all = values();
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
