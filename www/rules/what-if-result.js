/**
 * The result for a list: the number of changed decisions, as buttons that filter, the rows, and all of it as a file.
 */

import { button, debounce, h, notify } from "../shared/dom.js";
import { downloadCsv, endingOf } from "../shared/download.js";
import { icon } from "../shared/icon.js";
import { foundText } from "../shared/list.js";
import { figure, isolated } from "../shared/locale.js";
import { longList } from "../shared/long-list.js";
import { counted, valueText } from "../shared/messages.js";
import { inSlices } from "../shared/slices.js";
import { pairOf, writing } from "./what-if-decisions.js";
import { doneText, pairText } from "./what-if-words.js";
import { DECISIONS } from "./wording.js";

/** Further rows are found by the filter, and are in the file. */
const MAX_SHOWN = 10_000;

/** The most named properties without a column. */
const MAX_NAMED = 4;

const [ALL, CHANGED, SAME] = ["all", "changed", "same"];

const isChanged = ({ before, after }) => before !== after;

/** The result: `{ element, show, close }`. */
export const whatIfResult = () => new Result();

class Result {
  #said = h("p", { class: "effect", role: "status" });
  #counts = h("div", { class: "inline counts", role: "group", "aria-label": "Show only" });
  #filter = h("input", { type: "search", placeholder: "Filter", "aria-label": "Filter the list", dir: "auto", spellcheck: "false", oninput: debounce(100, () => this.#find()) });
  #count = h("p", { class: "hint" });
  #save = button("Download as CSV", { onclick: () => this.#download() });
  #rows = longList({ name: "what-if-rows", keyOf: ({ at }) => at, rowOf: (entry) => this.#row(entry), shownOf: () => [] });
  #scroll = h("div", { class: "scroll", role: "group", tabindex: "0", "aria-label": "Decisions about the list" }, this.#rows.element);
  #whole;
  /** The shown rows, and the user's choice. */
  #chosen;
  #wanted;
  #entries = [];
  #found = [];
  #detail;
  #header;
  #name;
  #delimiter;

  constructor() {
    const toolbar = h("div", { class: "toolbar" }, h("div", { class: "search" }, icon("search"), this.#filter), this.#save);
    this.#whole = h("div", { class: "stack tight", hidden: true }, this.#counts, toolbar, this.#count, this.#scroll);
    this.element = h("div", { class: "stack tight" }, this.#said, this.#whole);
  }

  close() {
    this.#rows.close();
  }

  say(sentence) {
    this.#said.textContent = sentence;
    this.#whole.hidden = true;
  }

  /**
   * Shows the decisions. `header` names the columns, `name` and `delimiter` are the list's, `checked` is what the rules check,
   * `assumed` what has no column, and `left` the number of unreadable lines.
   */
  show({ entries, counts }, { header, name, delimiter, checked, assumed, left }) {
    [this.#entries, this.#header, this.#name, this.#delimiter] = [entries, header, name, delimiter];
    this.#detail = (row) => detailText(row, checked);
    const changed = [...counts].map(([pair, count]) => [...pair.split(" "), count]).filter(([before, after]) => before !== after);
    const total = changed.reduce((sum, [, , count]) => sum + count, 0);
    this.#said.textContent = [saidText(total, entries.length), leftText(left), entries.length > 0 && assumedText(assumed)].filter(Boolean).join(" ");
    this.#whole.hidden = entries.length === 0;
    const options = [
      [ALL, `All ${counted(entries.length, "line")}`],
      ...(changed.length > 1 ? [[CHANGED, `${counted(total, "change")}`]] : []),
      ...changed.map(([before, after, count]) => [pairOf(before, after), `${figure(count)} ${pairText(before, after)}`]),
      ...(total > 0 && total < entries.length ? [[SAME, `${figure(entries.length - total)} as today`]] : []),
    ];
    // Changes first, if there are any.
    this.#chosen = (options.find(([value]) => value === this.#wanted) ?? options[1] ?? options[0])[0];
    const choose = (value) => {
      this.#chosen = this.#wanted = value;
      this.#press();
      this.#find();
    };
    this.#counts.replaceChildren(...options.map(([value, text]) => button(text, { class: "offer", "data-value": value, onclick: () => choose(value) })));
    this.#press();
    this.#find();
  }

  #press() {
    for (const each of this.#counts.children) each.setAttribute("aria-pressed", String(each.dataset.value === this.#chosen));
  }

  #find() {
    const sought = this.#filter.value.trim().toLowerCase();
    const isChosen = { [ALL]: () => true, [CHANGED]: isChanged, [SAME]: (entry) => !isChanged(entry) }[this.#chosen] ?? ((entry) => pairOf(entry.before, entry.after) === this.#chosen);
    this.#found = this.#entries.filter((entry) => isChosen(entry) && entry.text.includes(sought));
    const isLong = this.#found.length > MAX_SHOWN;
    this.#count.textContent = `${foundText(this.#found.length, this.#entries.length, "line")}.${isLong ? ` The first ${counted(MAX_SHOWN, "line")} are shown, the file has all.` : ""}`;
    this.#save.disabled = this.#found.length === 0;
    // Other rows are no news, so none flashes.
    this.#rows.show([]);
    this.#rows.show(isLong ? this.#found.slice(0, MAX_SHOWN) : this.#found);
  }

  #row(entry) {
    const { tone, image } = DECISIONS[entry.after] ?? { tone: "none", image: "alert" };
    const text = isChanged(entry) ? pairText(entry.before, entry.after) : `${doneText(entry.after)}, as today`;
    return h(
      "li",
      { "data-tone": tone },
      h("span", { class: "dot" }, icon(image)),
      h("span", { class: "what-if-id" }, h("b", { dir: "auto" }, entry.row.id), h("span", { class: "hint" }, this.#detail(entry.row))),
      h("span", {}, text),
    );
  }

  /** The found rows, as a file like the source of the list. */
  async #download() {
    const parts = await inSlices(writing(this.#found, this.#header, this.#delimiter));
    downloadCsv(`${this.#name.replace(/\.[^.]*$/, "")}-what-changes${endingOf(this.#delimiter)}`, parts);
    notify(`${counted(this.#found.length, "line")} downloaded.`);
  }
}

/** The number of changed decisions. */
function saidText(changed, all) {
  if (all === 0) return "There is no line to decide about.";
  if (changed === 0) return all === 1 ? "The decision about this line stays as it is." : `No decision about these ${counted(all, "line")} changes.`;
  return `The decision changes for ${figure(changed)} of ${counted(all, "line")}.`;
}

const leftText = (left) => left > 0 && `${counted(left, "line")} could not be read.`;

/** The assumptions for every line, from no column. */
function assumedText({ row, checked, without }) {
  const names = without.slice(0, MAX_NAMED).map((name) => `no ${isolated(name)}`);
  const more = without.length > MAX_NAMED ? [`and ${figure(without.length - MAX_NAMED)} more`] : [];
  const texts = [detailText(row, checked), ...names, ...more].filter(Boolean);
  return texts.length > 0 && `Assumed for every line: ${texts.join(", ").replaceAll(" · ", ", ")}.`;
}

/** The checked data of an item or a customer. */
function detailText({ customer_age: age, licenses, additionalProperties = {} }, checked) {
  const ofLicenses = licenses === undefined ? "licenses not asked" : licenses.length === 0 ? "no license" : licenses.join(", ");
  return [
    checked.age && (age === undefined ? "age not asked" : `age ${age}`),
    checked.licenses && ofLicenses,
    ...Object.entries(additionalProperties).map(([name, value]) => `${isolated(name)}: ${propertyText(value)}`),
  ].filter(Boolean).join(" · ");
}

/** A value; a text that reads like yes or no is marked as text. */
const propertyText = (value) => (typeof value === "string" && /^\s*(true|false|yes|no)\s*$/i.test(value) ? `the text “${value}”` : valueText(value));
