/**
 * The fields of the item: its id, and the properties that the rules of a project check, with the values that they name
 * as suggestions.
 */

import { button, field, h } from "./dom.js";

/** The fields; `onchange` is called after each keystroke. */
export function itemFields(onchange, id = "") {
  const idInput = h("input", { value: id, spellcheck: "false", autocomplete: "off", oninput: onchange });
  const offered = h("div", { class: "properties" });
  const added = h("div", { class: "properties" });
  const values = new Map();
  let offering;
  const add = button("Add a property", { image: "plus", class: "plain", onclick: () => added.append(ownRow()) });
  const properties = h("div", { class: "stack tight" }, offered, added, add);

  const ownRow = () => {
    const name = h("input", { placeholder: "property", spellcheck: "false", "aria-label": "Property", oninput: onchange });
    const value = h("input", { placeholder: "value", spellcheck: "false", "aria-label": "Value", oninput: onchange });
    const removeProperty = button("Remove this property", {
      image: "close",
      iconOnly: true,
      class: "plain",
      onclick: () => {
        row.remove();
        onchange();
      },
    });
    const row = h("div", { class: "own-property" }, name, value, removeProperty);
    setTimeout(() => name.focus());
    return row;
  };

  return {
    element: h("div", { class: "stack" }, field("Item id", idInput), properties),
    /** Offers the properties that restrictions check; values that were typed before are kept. */
    offer(restrictions) {
      const wanted = JSON.stringify([...checkedProperties(restrictions ?? [])].map(([name, { flag, values }]) => [name, flag, [...values]]));
      if (wanted === offering) return;
      offering = wanted;
      properties.hidden = restrictions === undefined;
      const rows = [...checkedProperties(restrictions ?? [])].map(([name, known]) => {
        const keep = (event) => {
          values.set(name, event.target.value);
          onchange();
        };
        const control = known.flag ? flagInput(values.get(name), keep) : textInput(values.get(name), keep);
        const row = field(name, control);
        if (!known.flag) row.append(suggestions(control, known.values));
        row.dataset.property = name;
        return row;
      });
      offered.replaceChildren(...rows);
    },
    /** The item as a till would send it. */
    value() {
      const given = [...offered.children].map((row) => {
        const control = row.querySelector("input, select");
        return [row.dataset.property, control.dataset.flag ? JSON.parse(control.value || "null") : control.value];
      });
      const own = [...added.children].map((row) => [...row.querySelectorAll("input")].map(({ value }) => value));
      const entries = [...given, ...own].filter(([name, value]) => name !== "" && value !== "" && value !== null);
      const item = { id: idInput.value };
      if (entries.length > 0) item.additionalProperties = Object.fromEntries(entries);
      return item;
    },
  };
}

/** The properties that restrictions check, each with the values that they name. */
function checkedProperties(restrictions) {
  const found = new Map();
  for (const { type, propertyName, allowedValues, deniedValues } of restrictions) {
    if (propertyName === undefined) continue;
    const known = found.get(propertyName) ?? { flag: true, values: new Set() };
    known.flag &&= type === "BOOLEAN";
    for (const value of (allowedValues ?? deniedValues ?? []).slice(0, 200)) known.values.add(String(value));
    found.set(propertyName, known);
  }
  return found;
}

function textInput(value, oninput) {
  return h("input", { value: value ?? "", spellcheck: "false", placeholder: "not set", oninput });
}

function suggestions(input, known) {
  const list = h("datalist", { id: `${input.id}-values` }, [...known].map((value) => h("option", { value })));
  input.setAttribute("list", list.id);
  return list;
}

function flagInput(value, onchange) {
  const options = [["", "not set"], ["true", "yes"], ["false", "no"]];
  const select = h("select", { onchange, "data-flag": true }, options.map(([each, text]) => h("option", { value: each }, text)));
  select.value = value ?? "";
  return select;
}
