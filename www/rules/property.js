/**
 * The value of an item's property: a text, yes or no, or a number, because the text “true” is not the value yes. The values
 * that a rule names are offered as they are.
 */

import { h } from "../shared/dom.js";
import { valueText } from "../shared/messages.js";

const KINDS = [["text", "text"], ["flag", "yes or no"], ["number", "number"]];

/** The most values offered beside the field; others are suggestions. */
const MAX_CHIPS = 6;

/** The kind of a value. */
const kindOf = (value) => ({ boolean: "flag", number: "number" })[typeof value] ?? "text";

/**
 * The control. `known` are the values that rules name, `given` the first value (undefined: not set), and `name` its name.
 * `read` returns the value, undefined without one, and `enter` enters one.
 */
export function propertyValue({ known = [], given, name, onchange }) {
  const onlyFlags = known.length > 0 && known.every((value) => typeof value === "boolean");
  const texts = known.filter((value) => typeof value === "string");
  const kinds = h("select", { class: "kind", "aria-label": "Kind of value" }, KINDS.map(([value, text]) => h("option", { value }, text)));
  kinds.value = given === undefined ? (onlyFlags ? "flag" : "text") : kindOf(given);
  const text = h("input", { spellcheck: "false", autocomplete: "off", placeholder: "not set", dir: "auto", oninput: changed });
  const number = h("input", { type: "number", step: "any", placeholder: "not set", oninput: changed });
  const flag = h("select", { onchange: changed }, [["", "not set"], ["true", "yes"], ["false", "no"]].map(([value, name]) => h("option", { value }, name)));
  const controls = { text, number, flag };
  const chips = h("div", { class: "offers", role: "group", "aria-label": "Values in the rules" });
  const joined = h("div", { class: "joined" });
  const element = h("div", { class: "property-value" }, joined, chips);
  for (const control of Object.values(controls)) control.setAttribute("aria-label", name);
  kinds.addEventListener("change", () => (show(), changed()));

  function show() {
    joined.replaceChildren(controls[kinds.value], kinds);
  }

  function set(value) {
    kinds.value = kindOf(value);
    controls[kinds.value].value = String(value);
    show();
  }

  function read() {
    const { value } = controls[kinds.value];
    if (value === "") return undefined;
    return { text: () => value, number: () => Number(value), flag: () => value === "true" }[kinds.value]();
  }

  function press() {
    for (const chip of chips.children) chip.setAttribute("aria-pressed", String(JSON.stringify(read()) === chip.dataset.value));
  }

  function changed() {
    press();
    onchange();
  }

  const offer = (value) =>
    h("button", { type: "button", class: "offer", "data-value": JSON.stringify(value), dir: "auto", onclick: () => (set(value), changed()) }, valueText(value));
  chips.append(...known.slice(0, MAX_CHIPS).map(offer));
  chips.hidden = known.length === 0;
  if (texts.length > MAX_CHIPS) element.append(suggestions(text, texts));
  if (given !== undefined) set(given);
  show();
  press();

  const enter = (value) => {
    if (value === undefined) controls[kinds.value].value = "";
    else set(value);
    changed();
  };

  return { element, read, enter };
}

let lists = 0;

function suggestions(input, values) {
  const list = h("datalist", { id: `suggestions-${(lists += 1)}` }, values.slice(0, 200).map((value) => h("option", { value })));
  input.setAttribute("list", list.id);
  return list;
}
