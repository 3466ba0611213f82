/**
 * Corrections to how a list is read: its columns, and whose age and licenses count if the list has none.
 */

import { choice, field, h, keepFocus } from "../shared/dom.js";
import { AGE_FAULT } from "../shared/faults.js";
import { isolated } from "../shared/locale.js";
import { KINDS, NONE, propertyKey } from "./what-if-columns.js";

/** The most columns to choose from, and properties to map: more could not be found in a select. */
const MAX_COLUMNS = 200;
const MAX_PROPERTIES = 40;

/** The noun for a column's content in a question. */
export const columnNoun = (key) => ({ age: "the customer’s age", licenses: "the customer’s licenses" })[key] ?? `the property ${isolated(key.slice(propertyKey("").length))}`;

/** Nothing is chosen yet. */
const UNCHOSEN = "";

/**
 * The choice of columns: `{ element, show }`. `asked` ones are not chosen yet, and come first. `onchange` gets `hasHeader`, or
 * another choice by its key.
 */
export function columnFields(onchange) {
  const header = h("input", { type: "checkbox", onchange: () => onchange("hasHeader", header.checked) });
  const fields = h("div", { class: "columns" });
  const hint = h("p", { class: "hint" });
  const headerField = h("label", { class: "check" }, header, "The first line names the columns");
  const element = h("details", { class: "draft" }, h("summary", {}, "Columns"), h("div", { class: "stack tight" }, headerField, fields, hint));
  let drawn;

  /** The columns to choose from; one without a name is shown by its first cell. */
  const options = (cells, hasHeader) => [
    [NONE, "not in the list"],
    ...cells.slice(0, MAX_COLUMNS).map((cell, at) => [at, hasHeader && cell.trim() !== "" ? short(cell) : `column ${at + 1}: ${short(cell)}`]),
  ];

  const columnSelect = (key, column, listed, isAsked) => {
    const known = listed.some(([at]) => at === column) ? listed : [...listed, [column, `column ${column + 1}`]];
    const given = isAsked ? [[UNCHOSEN, "choose a column"], ...known] : known;
    return select(given, isAsked ? UNCHOSEN : column, (value) => value !== UNCHOSEN && onchange(key, Number(value)));
  };

  return {
    element,
    show(cells, checked, columns, asked = []) {
      if (asked.length > 0) element.open = true;
      header.checked = columns.hasHeader;
      const state = JSON.stringify([cells.slice(0, MAX_COLUMNS).map(short), checked.age, checked.licenses, columns, asked]);
      if (state === drawn) return;
      drawn = state;
      const listed = options(cells, columns.hasHeader);
      const one = (label, key, hint) => field(label, columnSelect(key, columns[key], listed, asked.includes(key)), { hint });
      const isAsked = ([name]) => Number(asked.includes(propertyKey(name)));
      const properties = Object.entries(columns.properties).sort((one, other) => isAsked(other) - isAsked(one));
      const ofProperty = ([name, { column, kind }]) => {
        const kinds = select(KINDS, kind, (value) => onchange(`kind ${name}`, value));
        kinds.setAttribute("aria-label", `${name} is read as`);
        const shown = field(`Property ${isolated(name)}`, columnSelect(propertyKey(name), column, listed, isAsked([name]) > 0));
        shown.append(h("div", { class: "joined" }, h("span", { class: "hint" }, "read as"), kinds));
        return shown;
      };
      keepFocus(fields, () =>
        fields.replaceChildren(
          one("Item id", "id"),
          ...(checked.age ? [one("Age", "age", "An empty cell: the age was not asked.")] : []),
          ...(checked.licenses ? [one("Licenses", "licenses", "An empty cell: the customer has no license.")] : []),
          ...properties.slice(0, MAX_PROPERTIES).map(ofProperty),
        ),
      );
      hint.textContent = propertiesHint(properties.length);
    },
  };
}

function propertiesHint(count) {
  if (count === 0) return "";
  const more = count > MAX_PROPERTIES ? ` Only the first ${MAX_PROPERTIES} are shown; the columns of the others are found by their names.` : "";
  return `These are the properties that the rules check. Yes and no differ from the texts “true” and “false”; an empty cell is no value.${more}`;
}

function select(options, value, onchange) {
  const element = h("select", { onchange: () => onchange(element.value) }, options.map(([each, text]) => h("option", { value: each }, text)));
  element.value = String(value);
  return element;
}

const short = (text) => isolated(text.length > 40 ? `${text.slice(0, 40)}…` : text);

/** The customer for a list without ages or licenses: `{ element, show, suggest, value }`. */
export function customerBeside(onchange) {
  let isTyped = false;
  const changed = () => {
    isTyped = true;
    ageField.showFault(!age.checkValidity() && AGE_FAULT);
    onchange();
  };
  const age = h("input", { type: "number", inputmode: "numeric", min: 0, max: 150, step: 1, placeholder: "not asked", oninput: changed });
  const ageField = field("For a customer of age", age);
  const ids = h("input", { spellcheck: "false", autocomplete: "off", dir: "auto", placeholder: "separated by commas", "aria-label": "Licenses of the customer", oninput: changed });
  let asked = "no";
  const ask = choice("With licenses", [["no", "Not asked"], ["none", "None"], ["yes", "These"]], asked, (value) => {
    asked = value;
    ids.hidden = value !== "yes";
    changed();
  });
  ids.hidden = true;
  const licenses = h("div", { class: "stack tight" }, ask, ids);
  const split = () => ids.value.split(/[\s,;]+/).filter((text) => text !== "");

  const fill = ({ age: years, licenses: held }) => {
    age.value = years ?? "";
    ids.value = held?.join(", ") ?? "";
    asked = held === undefined ? "no" : held.length > 0 ? "yes" : "none";
    ask.choose(asked);
    ids.hidden = asked !== "yes";
  };

  return {
    element: h("div", { class: "columns" }, ageField, licenses),
    /** Shows the fields for which the list has no column. */
    show(needs) {
      ageField.hidden = !needs.age;
      licenses.hidden = !needs.licenses;
    },
    /** Starts with a customer until another one is entered. */
    suggest: (customer) => isTyped || fill(customer),
    entered: () => (isTyped ? value() : undefined),
    restore: (customer) => (fill(customer), (isTyped = true)),
    value,
  };

  function value() {
    const years = age.value === "" || !age.checkValidity() ? undefined : Number(age.value);
    return { age: years, licenses: { no: undefined, none: [], yes: split() }[asked] };
  }
}
