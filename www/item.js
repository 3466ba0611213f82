/**
 * The item: its id, and the properties that a project looks at, offered with the values that the project names.
 */

import { button, field, h } from "./dom.js";

/** The fields; `onchange` is told of each keystroke. */
export function item(onchange, id = "") {
  const named = h("input", { value: id, spellcheck: "false", autocomplete: "off", oninput: onchange });
  const offered = h("div", { class: "pairs" });
  const added = h("div", { class: "pairs" });
  const values = new Map();
  let offering;
  const add = button("Add a property", { image: "plus", class: "plain", onclick: () => added.append(ownRow()) });
  const properties = h("div", { class: "stack tight" }, offered, added, add);

  const ownRow = () => {
    const name = h("input", { placeholder: "property", spellcheck: "false", "aria-label": "Property", oninput: onchange });
    const value = h("input", { placeholder: "value", spellcheck: "false", "aria-label": "Value", oninput: onchange });
    const drop = button("Remove this property", {
      image: "close",
      quiet: true,
      class: "plain",
      onclick: () => {
        row.remove();
        onchange();
      },
    });
    const row = h("div", { class: "pair own" }, name, value, drop);
    setTimeout(() => name.focus());
    return row;
  };

  return {
    element: h("div", { class: "stack" }, field("Item id", named), properties),
    /** Offers what a project's restrictions look at, and keeps what was typed, and where. */
    offer(restrictions) {
      const wanted = JSON.stringify([...lookedAt(restrictions ?? [])].map(([name, { flag, values }]) => [name, flag, [...values]]));
      if (wanted === offering) return;
      offering = wanted;
      properties.hidden = restrictions === undefined;
      const rows = [...lookedAt(restrictions ?? [])].map(([name, known]) => {
        const keep = (event) => {
          values.set(name, event.target.value);
          onchange();
        };
        const control = known.flag ? flag(values.get(name), keep) : text(values.get(name), keep);
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
      const made = { id: named.value };
      if (entries.length > 0) made.additionalProperties = Object.fromEntries(entries);
      return made;
    },
  };
}

/** The properties that restrictions look at, each with the values that they name. */
function lookedAt(restrictions) {
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

function text(value, oninput) {
  return h("input", { value: value ?? "", spellcheck: "false", placeholder: "not set", oninput });
}

function suggestions(input, known) {
  const list = h("datalist", { id: `${input.id}-values` }, [...known].map((value) => h("option", { value })));
  input.setAttribute("list", list.id);
  return list;
}

function flag(value, onchange) {
  const options = [["", "not set"], ["true", "yes"], ["false", "no"]];
  const select = h("select", { onchange, "data-flag": true }, options.map(([each, words]) => h("option", { value: each }, words)));
  select.value = value ?? "";
  return select;
}
