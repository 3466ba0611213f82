/**
 * The fields of the item: its id, and the properties that the rules of a project check, with the values that they name.
 */

import { button, field, h } from "./dom.js";
import { ITEM_FAULT } from "./faults.js";
import { propertyValue } from "./property.js";

/** The fields; `onchange` is called after each keystroke, and `given` is what they start with, as `state` returns it. */
export function itemFields(onchange, given = {}) {
  const idInput = h("input", { value: given.item ?? "", spellcheck: "false", autocomplete: "off", dir: "auto", oninput: onchange });
  const idField = field("Item id", idInput);
  const properties = propertyFields(onchange, given.properties);
  return {
    element: h("div", { class: "stack" }, idField, properties.element),
    offer: properties.offer,
    /** The item as a till would send it. */
    value() {
      const given = properties.value();
      return { id: idInput.value, ...(Object.keys(given).length > 0 && { additionalProperties: given }) };
    },
    /** What was entered. */
    state: () => ({ item: idInput.value, properties: properties.isOffered() ? properties.value() : undefined }),
    showFaults: (faults = []) => idField.showFault(faults.some(({ path }) => path === "$.item.id") && ITEM_FAULT),
  };
}

/** The properties of an item; `given` are those that it starts with. */
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
    return row;
  };

  const rows = () => (element.hidden ? [] : [...offered.children, ...added.children]);

  return {
    element,
    isOffered: () => !element.hidden,
    /** Offers the properties that restrictions check; values that were entered before are kept. */
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
    value: () => Object.fromEntries(rows().map((row) => row.read()).filter(([name, value]) => name !== "" && value !== undefined)),
  };
}

/** The properties that restrictions check, each with the values that they name. */
function checkedProperties(restrictions) {
  const found = new Map();
  for (const { type, propertyName, allowedValues, deniedValues } of restrictions) {
    if (propertyName === undefined) continue;
    const named = type === "BOOLEAN" ? [true, false] : (allowedValues ?? deniedValues ?? []).slice(0, 200);
    found.set(propertyName, [...new Set([...(found.get(propertyName) ?? []), ...named])]);
  }
  return found;
}
