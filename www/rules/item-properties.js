/**
 * The properties of an item: those that a project's rules check, with the values that they name, and others.
 */

import { button, h } from "../shared/dom.js";
import { propertyValue } from "./property.js";

/** The properties of an item; `given` are the first ones. */
export function propertyFields(onchange, given = {}) {
  const offered = h("div", { class: "properties" });
  const added = h("div", { class: "properties" });
  const values = new Map(Object.entries(given));
  let offering;
  const add = button("Add a property", { image: "plus", class: "plain", onclick: () => addRow("").focus() });
  const element = h("div", { class: "stack tight" }, offered, added, add);

  /** A property that no rule names. */
  const addRow = (name, value) => {
    const nameInput = h("input", { value: name, placeholder: "property", spellcheck: "false", dir: "auto", "aria-label": "Property", oninput: onchange });
    const control = propertyValue({ given: value, name: "Value", onchange });
    const remove = () => (row.remove(), onchange());
    const removeRow = button("Remove this property", { image: "close", iconOnly: true, class: "plain", onclick: remove });
    const row = h("div", { class: "own-property" }, nameInput, control.element, removeRow);
    row.read = () => [nameInput.value.trim(), control.read()];
    row.enter = control.enter;
    added.append(row);
    return nameInput;
  };

  /** A property that rules check. */
  const offeredRow = ([name, known]) => {
    const keep = () => {
      values.set(name, control.read());
      onchange();
    };
    const control = propertyValue({ known, given: values.get(name), name, onchange: keep });
    const row = h("div", { class: "field", role: "group", "aria-label": `Property ${name}` }, h("span", { class: "label", dir: "auto" }, name), control.element);
    row.read = () => [name, control.read()];
    row.enter = control.enter;
    return row;
  };

  const rows = () => (element.hidden ? [] : [...offered.children, ...added.children]);

  const value = () => Object.fromEntries(rows().map((row) => row.read()).filter(([name, read]) => name !== "" && read !== undefined));

  return {
    element,
    isOffered: () => !element.hidden,
    /** Offers the properties that restrictions check; keeps values entered before. */
    offer(restrictions) {
      element.hidden = restrictions === undefined;
      const wanted = [...checkedProperties(restrictions ?? [])];
      if (JSON.stringify(wanted) === offering) return;
      const isFirst = offering === undefined && restrictions !== undefined;
      offering = restrictions && JSON.stringify(wanted);
      offered.replaceChildren(...wanted.map(offeredRow));
      const names = new Set(wanted.map(([name]) => name));
      if (isFirst) for (const [name, value] of values) if (!names.has(name)) addRow(name, value);
    },
    value,
    /** Enters the value of a property that rules check, or that the item has; undefined removes it. */
    enter: (name, entered) => rows().filter((row) => row.read()[0] === name).forEach((row) => row.enter(entered)),
    /** The properties in the form of an item: absent if there are none. */
    ofItem: () => (Object.keys(value()).length > 0 ? { additionalProperties: value() } : {}),
  };
}

/** The properties that restrictions check, with the values that they name. */
function checkedProperties(restrictions) {
  const found = new Map();
  for (const { type, propertyName, allowedValues, deniedValues } of restrictions) {
    if (propertyName === undefined) continue;
    const named = type === "BOOLEAN" ? [true, false] : (allowedValues ?? deniedValues ?? []).slice(0, 200);
    found.set(propertyName, [...new Set([...(found.get(propertyName) ?? []), ...named])]);
  }
  return found;
}
