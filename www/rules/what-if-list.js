/**
 * A list of items or customers to try a draft on: pasted, dropped or chosen as a file. It stays in the page's memory during
 * the session, and is processed in slices.
 */

import { button, debounce, field, h } from "../shared/dom.js";
import { icon } from "../shared/icon.js";
import { figure } from "../shared/locale.js";
import { counted, errorText } from "../shared/messages.js";
import { binaryText, decodeText, readingCsv } from "../shared/csv.js";
import { inSlices } from "../shared/slices.js";
import { NONE, checkedBy, columnsOf, propertyKey, rowReader, unmatched } from "./what-if-columns.js";
import { deciding } from "./what-if-decisions.js";
import { columnFields, columnNoun, customerBeside } from "./what-if-fields.js";
import { whatIfResult } from "./what-if-result.js";

/** The key of the list in memory. */
const KEY = "list";

const MAX_BYTES = 16 * 1024 * 1024;
const MAX_ROWS = 100_000;

/** A longer text is not shown in the field, which would be slow. */
const MAX_TYPED = 20_000;

const HINT = "Ids, one per line, or a table with a header, such as CSV from a spreadsheet. It stays in this browser.";

/** The list: `{ element, show, close }`. `show` gets the module's input: `{ before, after, witness }`. */
export const whatIfList = (session) => new List(session);

class List {
  #session;
  /** The compared documents, and the number of tasks begun: only the last one counts. */
  #documents;
  #turn = 0;
  #text = h("textarea", { rows: 4, spellcheck: "false", dir: "auto", oninput: debounce(300, () => this.#typed()), onpaste: (event) => this.#pasted(event) });
  #textField = field("Paste a list", this.#text, { hint: HINT });
  #file = h("input", { type: "file", accept: ".csv,.tsv,.txt,text/*", onchange: () => this.#fileChosen(this.#file.files) });
  #fileField = field("Or drop a file here, or choose one", this.#file);
  #name = h("p", {});
  #other = h("div", { class: "inline", hidden: true }, this.#name, button("Use another list", { class: "link", onclick: () => this.#forget() }));
  #customer = customerBeside(debounce(150, () => this.#customerChanged()));
  #columns = columnFields((key, value) => this.#choose(key, value));
  #faults = h("details", { class: "draft", hidden: true });
  #result = whatIfResult();
  #settings = h("div", { class: "stack tight", hidden: true }, this.#customer.element, this.#columns.element);

  constructor(session) {
    this.#session = session;
    const source = [this.#textField, this.#fileField, this.#other];
    const ondrop = (event) => {
      event.preventDefault();
      if (event.dataTransfer.files.length > 0) this.#fileChosen(event.dataTransfer.files);
      else this.#take(event.dataTransfer.getData("text/plain"), "Dropped list");
    };
    // Enter in a field of a form would review the draft.
    const onkeydown = (event) => event.key === "Enter" && event.target.matches("input") && event.preventDefault();
    const ondragover = (event) => event.preventDefault();
    this.element = h("div", { class: "stack tight", ondrop, ondragover, onkeydown }, source, this.#settings, this.#result.element, this.#faults);
    const { customer } = this.#list ?? {};
    if (customer) this.#customer.restore(customer);
    this.#showSource();
  }

  close = () => {
    this.#turn += 1;
    this.#result.close();
  };

  show(documents) {
    this.#documents = documents;
    const { customer_age: age, licenses } = documents.witness?.context?.customer ?? {};
    this.#customer.suggest({ age: age ?? undefined, licenses: licenses ?? undefined });
    this.#decide();
  }

  /** The list: `{ name, delimiter, rows, lines, faults, isCut, chosen, customer }`; undefined without one. */
  get #list() {
    return this.#session.memory.get(KEY);
  }

  #typed() {
    const { value } = this.#text;
    if (value.length > MAX_TYPED) this.#text.value = "";
    if (value.trim() === "") this.#session.memory.delete(KEY);
    return value.trim() === "" ? this.#decide() : this.#take(value, value.length > MAX_TYPED ? "Pasted list" : undefined);
  }

  #pasted(event) {
    const text = event.clipboardData?.getData("text/plain") ?? "";
    if (text.length <= MAX_TYPED) return;
    event.preventDefault();
    this.#take(text, "Pasted list");
  }

  async #fileChosen([file]) {
    this.#file.value = file === undefined ? this.#file.value : "";
    if (file === undefined) return;
    if (file.size > MAX_BYTES) return this.#fileField.showFault("The file is larger than 16 MiB. Split it, or leave out columns that the rules do not check.");
    const turn = this.#begin("Reading…");
    try {
      const bytes = new Uint8Array(await file.arrayBuffer());
      if (turn !== this.#turn) return;
      const refused = binaryText(bytes);
      if (refused) {
        this.#fileField.showFault(refused);
        return this.#decide();
      }
      await this.#take(decodeText(bytes), file.name);
    } catch {
      this.#result.say("The file could not be read. It may have been moved, or be open elsewhere.");
    }
  }

  /** Reads a text as the list; a typed one has no name. */
  async #take(text, name) {
    this.#fileField.showFault(text.length > MAX_BYTES && "The list is longer than 16 million characters.");
    if (text.length > MAX_BYTES) return;
    const turn = this.#begin("Reading…");
    const read = await inSlices(readingCsv(text, { maxRows: MAX_ROWS + 2 }), () => turn === this.#turn);
    if (read === undefined) return;
    const { delimiter, rows, lines, faults } = read;
    const isCut = rows.length > MAX_ROWS + 1;
    if (isCut) rows.length = MAX_ROWS + 1;
    this.#session.memory.set(KEY, { name, delimiter, rows, lines, faults, isCut, text: name === undefined ? text : "", chosen: {}, customer: this.#customer.entered() });
    this.#showSource();
    this.#decide();
  }

  /** Begins something that takes a moment, and ends what began before. */
  #begin(sentence) {
    this.#result.say(sentence);
    return (this.#turn += 1);
  }

  #forget() {
    this.#session.memory.delete(KEY);
    this.#text.value = "";
    this.#showSource();
    this.#decide();
    this.#text.focus();
  }

  /** Shows the field, or the name of the list if it has one. */
  #showSource() {
    const list = this.#list;
    const isNamed = list?.name !== undefined;
    const hadFocus = this.#textField.contains(document.activeElement) || this.#fileField.contains(document.activeElement);
    this.#textField.hidden = this.#fileField.hidden = isNamed;
    this.#other.hidden = !isNamed;
    if (isNamed && hadFocus) this.#other.querySelector("button").focus();
    if (isNamed) this.#name.replaceChildren(icon("paste"), h("b", { dir: "auto" }, list.name));
    else if (list !== undefined && this.#text.value === "") this.#text.value = list.text;
  }

  #choose(key, value) {
    const list = this.#list;
    // Other columns are detected depending on whether the first line names them.
    list.chosen = key === "hasHeader" ? { hasHeader: value } : { ...list.chosen, [key]: value };
    this.#decide();
  }

  #customerChanged() {
    if (this.#list) this.#list.customer = this.#customer.entered();
    this.#decide();
  }

  /** Decides about the list, and shows the result. */
  async #decide() {
    const list = this.#list;
    this.#settings.hidden = list === undefined || list.rows.length === 0;
    this.#faults.hidden = true;
    const turn = this.#begin(this.#settings.hidden ? (list ? "There is nothing in this list." : "") : "Deciding…");
    if (this.#settings.hidden || this.#documents === undefined) return;
    const { before, after } = this.#documents;
    const checked = checkedBy([before, after]);
    const columns = chosenColumns(list, checked);
    const asked = unmatched(list, checked, columns, list.chosen);
    this.#columns.show(list.rows[0], checked, columns, asked);
    this.#customer.show({ age: checked.age && columns.age === NONE, licenses: checked.licenses && columns.licenses === NONE });
    if (asked.length > 0) return this.#result.say(`Which column has ${columnNoun(asked[0])}? Choose it under “Columns”, or choose “not in the list”.`);
    try {
      const steps = deciding(list, { first: columns.hasHeader ? 1 : 0, reader: rowReader(columns, this.#customer.value()), before, after });
      const decided = await inSlices(steps, () => turn === this.#turn);
      if (decided === undefined) return;
      this.#result.show(decided, { header: headerOf(list, columns), name: list.name ?? "list", delimiter: list.delimiter, checked, assumed: assumedOf(checked, columns, this.#customer.value()), left: decided.left });
      this.#showFaults([...list.faults, ...decided.faults], decided.left, list.isCut);
    } catch (error) {
      this.#result.say(errorText(error));
    }
  }

  /** Names the lines that could not be read, or not as CSV. */
  #showFaults(faults, left, isCut) {
    this.#faults.hidden = faults.length === 0 && !isCut;
    const texts = faults.sort((one, other) => one.line - other.line).map(({ line, message }) => `Line ${figure(line)}: ${message.charAt(0).toLowerCase()}${message.slice(1)}`);
    if (isCut) texts.unshift(`Only the first ${counted(MAX_ROWS, "line")} were read.`);
    const title = left > 0 ? `${counted(left, "line")} could not be read` : "Check how the list was read";
    this.#faults.replaceChildren(h("summary", {}, icon("alert"), title), h("ul", { class: "rules" }, texts.map((text) => h("li", {}, text))));
  }
}

/** The detected columns, with the user's choices. */
function chosenColumns(list, checked) {
  const { hasHeader, ...chosen } = list.chosen;
  const columns = columnsOf(list, checked, hasHeader);
  for (const key of ["id", "age", "licenses"]) columns[key] = chosen[key] ?? columns[key];
  for (const [name, property] of Object.entries(columns.properties)) {
    property.column = chosen[propertyKey(name)] ?? property.column;
    property.kind = chosen[`kind ${name}`] ?? property.kind;
  }
  return columns;
}

/** The assumptions for all lines, from no column: a row, and which parts of it. */
function assumedOf(checked, columns, { age, licenses }) {
  const without = Object.keys(columns.properties).filter((name) => columns.properties[name].column === NONE);
  return { row: { customer_age: age, licenses }, checked: { age: checked.age && columns.age === NONE, licenses: checked.licenses && columns.licenses === NONE }, without };
}

/** The names of the columns in a file. */
function headerOf({ rows }, { hasHeader, id }) {
  if (hasHeader) return rows[0];
  return rows[0].map((_, at) => (at === id ? "id" : `column ${at + 1}`));
}
