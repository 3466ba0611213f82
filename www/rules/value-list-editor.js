/**
 * The values of a rule as a long list: searched, compared with what is stored, added from spreadsheets and files, removed, and
 * written as CSV. Untouched values stay as they are: blanks, case, order, and yes or no.
 */

import { button, h } from "../shared/dom.js";
import { downloadCsv, endingOf } from "../shared/download.js";
import { icon } from "../shared/icon.js";
import { foundText } from "../shared/list.js";
import { figure } from "../shared/locale.js";
import { counted, valueText } from "../shared/messages.js";
import { inSlices } from "../shared/slices.js";
import { adding, finding, leaving, listing, reportText, settling, writing } from "./value-list.js";
import { valueRows } from "./value-rows.js";
import { valueSource } from "./value-source.js";

/** The most changes that can be undone. */
const MAX_UNDOS = 10;

/** The list. `stored` are the values in force, `nameOf` returns a name for its file. */
export const valueListEditor = (options) => new ValueListEditor(options);

class ValueListEditor {
  #onchange;
  #list;
  #stored = new Set();
  #undos = [];
  /** The current work on the list, which is finished at once when its values are needed; until it is opened, they are known. */
  #work;
  #isOpened = false;
  /** The list of the rows, and the places found in it. */
  #shown;
  #found = [];
  #searches = 0;
  /** The delimiter of the table that values came from last. */
  #delimiter;
  #counts = h("p", { class: "value-counts" });
  #status = h("p", { class: "hint", role: "status" });
  #search = h("input", { type: "search", placeholder: "Search", "aria-label": "Search the values", dir: "auto", spellcheck: "false", oninput: () => this.#seek() });
  #show = h("select", { "aria-label": "Show", onchange: () => this.#seek() });
  #selectAll = button("Select all", { class: "plain", onclick: () => this.#toggleAll() });
  #removeChosen = button("", { image: "trash", onclick: () => this.#remove(this.#rows.chosen) });
  #removeFound = button("", { image: "trash", class: "plain", onclick: () => this.#remove(new Set(this.#found)) });
  #undo = button("", { image: "undo", class: "plain", onclick: () => this.#back() });
  #rows;
  #source;

  constructor({ values, stored, nameOf, onchange }) {
    this.#onchange = onchange;
    this.#list = this.#shown = { values, distinct: new Set(), repeats: new Set(), added: 0, removed: 0 };
    this.#rows = valueRows({
      label: "Values",
      textOf: (place) => valueText(this.#shown.values[place]),
      tagsOf: (place) => this.#tags(place),
      onchoose: () => this.#drawActions(),
      onremove: () => this.#remove(this.#rows.chosen),
    });
    this.#source = valueSource({ say: (sentence) => this.#say(sentence), onadd: (given, faults, delimiter) => this.#add(given, faults, delimiter) });
    const save = button("Download as CSV", { image: "copy", class: "plain", onclick: () => this.#write(nameOf()) });
    this.element = this.#build(save);
    this.#work = this.#opening(values, stored);
    inSlices(this.#work);
  }

  #build(save) {
    const ondragover = (event) => event.dataTransfer.types.includes("Files") && event.preventDefault();
    const ondrop = (event) => {
      const [file] = event.dataTransfer.files;
      if (!file) return;
      event.preventDefault();
      this.#source.takeFile(file);
    };
    return h(
      "div",
      { class: "value-list stack tight", role: "group", "aria-label": "Values", ondragover, ondrop },
      h("div", { class: "value-head" }, this.#counts, h("div", { class: "inline" }, this.#source.pick, save)),
      h("div", { class: "value-find" }, h("div", { class: "search" }, icon("search"), this.#search), this.#show),
      this.#rows.element,
      h("div", { class: "inline value-actions" }, this.#selectAll, this.#removeChosen, this.#removeFound, this.#undo),
      this.#status,
      this.#source.element,
    );
  }

  /** The values, in order. */
  read() {
    if (this.#isOpened) this.#finish();
    return this.#list.values;
  }

  has(value) {
    return this.#list.distinct.has(value);
  }

  /** Adds or removes yes or no. */
  toggle(flag, isIn) {
    const { values } = this.#list;
    if (isIn) this.#add([flag], []);
    else this.#change(this.#leaving(new Set([...values.keys()].filter((at) => values[at] === flag))));
  }

  /** Adds the values of a text or a file. */
  take(text) {
    this.#source.take(text);
  }

  takeFile(file) {
    this.#source.takeFile(file);
  }

  focus() {
    this.#source.focus();
  }

  *#opening(values, stored) {
    this.#stored = yield* settling(stored);
    this.#list = yield* listing(values, this.#stored);
    this.#isOpened = true;
    this.#changed();
  }

  #add(given, faults, delimiter) {
    this.#delimiter = delimiter || this.#delimiter;
    this.#change(this.#adding(given, faults));
  }

  *#adding(given, faults) {
    const { list, report } = yield* adding(this.#list, this.#stored, given);
    this.#say([reportText(report), ...faultTexts(faults)].join(" "));
    return [list, `Undo: ${counted(report.added, "value")} added`];
  }

  #remove(places) {
    // The places belong to the list on the page.
    if (places.size === 0 || this.#shown !== this.#list) return;
    this.#change(this.#leaving(places));
    this.#rows.element.focus();
  }

  *#leaving(places) {
    const removed = `${counted(places.size, "value")} removed`;
    const list = yield* leaving(this.#list, this.#stored, places);
    this.#say(`${removed}.`);
    return [list, `Undo: ${removed}`];
  }

  /** Takes the list that some steps return; undoing names it in words. */
  #change(steps) {
    this.#work = this.#changing(this.#work, steps);
    inSlices(this.#work);
  }

  *#changing(before, steps) {
    if (before) yield* before;
    const [list, undo] = yield* steps;
    this.#work = undefined;
    if (list === this.#list) return;
    this.#undos = [...this.#undos, { list: this.#list, undo }].slice(-MAX_UNDOS);
    this.#list = list;
    this.#changed();
    this.#onchange();
  }

  #say(sentence) {
    this.#status.textContent = sentence;
  }

  #finish() {
    const work = this.#work;
    if (work) while (!work.next().done);
  }

  #back() {
    this.#finish();
    const last = this.#undos.pop();
    this.#list = last.list;
    this.#say("Undone.");
    this.#changed();
    this.#onchange();
    if (this.#undos.length === 0) this.#source.focus();
  }

  #changed() {
    const { values, repeats, added, removed } = this.#list;
    const parts = [
      h("b", {}, counted(values.length, "value")),
      added > 0 && `${figure(added)} added`,
      removed > 0 && `${figure(removed)} removed`,
      repeats.size > 0 && `${figure(repeats.size)} repeated`,
    ];
    this.#counts.replaceChildren(...parts.filter(Boolean).flatMap((part, at) => (at > 0 ? [" · ", part] : [part])));
    this.#drawShow([["all", "All values"], ["added", `Added (${figure(added)})`], ["twice", `Repeated (${figure(repeats.size)})`]]);
    this.#find();
  }

  #drawShow(options) {
    const { value } = this.#show;
    this.#show.replaceChildren(...options.map(([key, text]) => h("option", { value: key }, text)));
    this.#show.value = value || "all";
  }

  /** Searches for the current text, and shows the number of values found. */
  async #seek() {
    if (!(await this.#find())) return;
    const { length } = this.#found;
    this.#say(length === 0 && this.#isFiltered() ? "No value matches." : foundText(length, this.#list.values.length, "value"));
  }

  /** Searches the list; answers false if another search has begun. */
  async #find() {
    const turn = (this.#searches += 1);
    const list = this.#list;
    const found = await inSlices(finding(list, this.#stored, { sought: this.#search.value, shown: this.#show.value }), () => turn === this.#searches);
    if (found === undefined) return false;
    this.#shown = list;
    this.#found = found;
    this.#rows.element.hidden = found.length === 0;
    this.#rows.show(found);
    return true;
  }

  #isFiltered() {
    return this.#search.value !== "" || this.#show.value !== "all";
  }

  #toggleAll() {
    if (this.#rows.chosen.size === this.#found.length) this.#rows.chooseNone();
    else this.#rows.chooseAll();
  }

  #drawActions() {
    const { size } = this.#rows.chosen;
    const count = this.#found.length;
    const text = (control, said) => (control.lastChild.data = said);
    text(this.#selectAll, size > 0 && size === count ? "Select none" : this.#isFiltered() ? `Select all ${figure(count)} found` : "Select all");
    text(this.#removeChosen, `Remove ${figure(size)} selected`);
    text(this.#removeFound, `Remove all ${figure(count)} found`);
    text(this.#undo, this.#undos.at(-1)?.undo ?? "");
    this.#selectAll.hidden = count === 0;
    this.#removeChosen.hidden = size === 0;
    this.#removeFound.hidden = !this.#isFiltered() || count === 0;
    this.#undo.hidden = this.#undos.length === 0;
  }

  #tags(place) {
    const value = this.#shown.values[place];
    return [typeof value === "boolean" && "yes or no", !this.#stored.has(value) && "new", this.#shown.repeats.has(place) && "repeated"].filter(Boolean);
  }

  async #write(name) {
    this.#finish();
    downloadCsv(`${name}${endingOf(this.#delimiter)}`, await inSlices(writing(this.#list, this.#delimiter)));
  }
}

/** Sentences about what could not be read. */
function faultTexts(faults) {
  const more = faults.length - 3;
  return [...faults.slice(0, 3).map(({ line, message }) => `Line ${figure(line)}: ${message}`), ...(more > 0 ? [`And ${figure(more)} more such lines.`] : [])];
}
