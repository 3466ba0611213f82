/**
 * The values of a rule in its form: a few as lines of a field, with those beside it that cannot be a line, and many as a long
 * list, which is loaded on first use. Unchanged values are read as given.
 */

import { button, field, h, notify } from "../shared/dom.js";
import { counted, valueText } from "../shared/messages.js";

/** The most values that are lines of a field; more are a list. */
const MAX_LINES = 200;

/** A longer paste opens the list, however few lines it has. */
const MAX_PASTE = 20_000;

/** True if a value can be a line of a field, and be read from there again. */
export const isLine = (value) => typeof value === "string" && value.trim() !== "" && !/[\r\n]/.test(value);

const isMany = (text) => text.length > MAX_PASTE || text.includes("\t") || text.split("\n", MAX_LINES + 1).length > MAX_LINES;

/**
 * The fields. `stored` are the values in force, `nameOf` returns a name for their file, and `onchange` is called when they may
 * differ. `element` has the lines or the list, `beside` what stands below them; `show` takes the kinds of a rule.
 */
export function valueFields({ given, stored, nameOf, onchange }) {
  const isLong = given.length > MAX_LINES;
  const kept = new Set(isLong ? [] : given.filter((value) => typeof value === "string" && !isLine(value)));
  const rows = Math.min(8, Math.max(3, given.length));
  const lines = isLong ? "" : given.filter(isLine).join("\n");
  const texts = h("textarea", { rows, spellcheck: "false", dir: "auto", value: lines, oninput: onchange, onpaste, ondragover, ondrop });
  const textsField = field("Values, one per line", texts);
  const asList = button("Open as a list", { class: "link", onclick: async () => (await open())?.focus() });
  const place = h("div", { class: "value-place", hidden: true });
  const oddValues = h("div", { class: "odd-values" });
  // The values yes and no are booleans, not the texts.
  const toggle = ({ target }) => (list ? list.toggle(target.dataset.flag === "true", target.checked) : onchange());
  const boxes = [true, false].map((flag) => h("input", { type: "checkbox", checked: given.includes(flag), "data-flag": String(flag), onchange: toggle }));
  const labels = boxes.map((box) => h("label", { class: "check" }, box, box.dataset.flag === "true" ? "yes" : "no"));
  const flags = h("div", { class: "inline", role: "group", "aria-label": "And" }, h("span", { class: "hint" }, "and"), labels);
  const chosenFlags = () => boxes.filter(({ checked }) => checked).map(({ dataset }) => dataset.flag);
  const typed = () => JSON.stringify([texts.value, [...kept], chosenFlags()]);
  const before = isLong ? undefined : typed();
  let has = { texts: true, flags: true };
  let list;
  let opening;

  textsField.append(asList);

  /** The list, which replaces the lines from now on; undefined if it cannot be loaded. */
  async function open() {
    opening ??= import("./value-list-editor.js").catch(() => undefined);
    const module = await opening;
    if (list) return list;
    if (!module) {
      opening = undefined;
      notify("The host cannot be reached, so the list cannot be loaded. Try again in a moment.");
      return undefined;
    }
    list = module.valueListEditor({ values: read(), stored, nameOf, onchange: sync });
    kept.clear();
    place.replaceChildren(list.element);
    draw();
    return list;
  }

  function sync() {
    for (const box of boxes) box.checked = list.has(box.dataset.flag === "true");
    onchange();
    // For listeners of the form, because a paste into the list is no event of a field.
    place.dispatchEvent(new Event("change", { bubbles: true }));
  }

  /** Opens the list for a paste that needs it. */
  async function onpaste(event) {
    const text = event.clipboardData.getData("text/plain");
    if (!isMany(text)) return;
    event.preventDefault();
    texts.setRangeText("");
    (await open())?.take(text);
  }

  function ondragover(event) {
    if (event.dataTransfer.types.includes("Files")) event.preventDefault();
  }

  async function ondrop(event) {
    const [file] = event.dataTransfer.files;
    if (!file) return;
    event.preventDefault();
    (await open())?.takeFile(file);
  }

  function draw() {
    const isList = isLong || list !== undefined;
    textsField.hidden = !has.texts || isList;
    place.hidden = !has.texts || !isList;
    flags.hidden = !has.flags;
    oddValues.hidden = kept.size === 0 || !has.texts;
    const chip = (value) => {
      const remove = button(`Remove ${valueText(value)}`, { image: "close", iconOnly: true, class: "plain", onclick: () => (kept.delete(value), draw()) });
      return h("li", { dir: "auto" }, valueText(value), remove);
    };
    oddValues.replaceChildren(h("span", { class: "hint" }, "and these values, which a line cannot show"), h("ul", {}, [...kept].map(chip)));
    onchange();
  }

  function read() {
    if (list) return list.read();
    if (isLong || typed() === before) return given;
    const filled = texts.value.split("\n").filter((text) => text.trim() !== "");
    return [...filled, ...kept, ...chosenFlags().map((flag) => flag === "true")];
  }

  if (isLong) {
    place.append(h("p", { class: "hint" }, `${counted(given.length, "value")}. `, button("Show them", { class: "link", onclick: open })));
    open();
  }
  return {
    element: [textsField, place],
    beside: [oddValues, flags],
    /** Shows the fields of a type of rule: a label for its `texts`, if any, and whether it has `flags`. */
    show({ texts: label, flags: hasFlags }) {
      has = { texts: label !== undefined, flags: hasFlags };
      textsField.querySelector("label").textContent = `${label ?? "Values"}, one per line`;
      draw();
    },
    read,
    /** True if the values are lines: those of a list show their own warnings. */
    isLines: () => !isLong && list === undefined,
  };
}
