/**
 * A field to choose one of many: the input is searched, and the best matches are listed below it. Follows the pattern of an
 * editable combobox with a listbox (ARIA Authoring Practices), for keyboards and screen readers.
 */

import { field, h } from "./dom.js";
import { figure } from "./locale.js";

/** The most entries that are listed. */
const MAX_LISTED = 50;

/**
 * The entries whose text contains a text, `{ listed, count }`: the best of them, and how many there are. Those that begin with
 * it come first. An entry is `[value, text]`.
 */
export function matching(entries, text, most = MAX_LISTED) {
  const sought = text.trim().toLowerCase();
  const hits = entries.map((entry) => [entry, entry[1].toLowerCase().indexOf(sought)]).filter(([, at]) => at >= 0);
  const best = [...hits.filter(([, at]) => at === 0), ...hits.filter(([, at]) => at > 0)];
  return { listed: best.slice(0, most).map(([entry]) => entry), count: hits.length };
}

let lists = 0;

/**
 * The control. `read` returns the current entries, `[value, text]`, and `textOf` the text of a value. `last` are entries that
 * end every list. `onchange` gets the chosen value. Other properties are the input's. `show` shows a value without choosing
 * it.
 */
export const picker = (options) => new Picker(options);

/** The control with its label, as `field` makes one. */
export function pickerField(label, control, options) {
  const element = field(label, control.input, options);
  control.input.replaceWith(control.element);
  control.element.prepend(control.input);
  return element;
}

class Picker {
  #read;
  #textOf;
  #last;
  #onchange;
  #value;
  /** The listed entries, the number of the one that Enter chooses, and whether the user typed since the list was opened. */
  #listed = [];
  #active = -1;
  #isTyped = false;
  #list = h("ul", { role: "listbox", "aria-label": "Choices", id: `choices-${(lists += 1)}` });
  #more = h("p", { class: "hint", "aria-hidden": "true" });
  #popup = h("div", { class: "choices", hidden: true }, this.#list, this.#more);
  #status = h("p", { class: "visually-hidden", role: "status" });

  constructor({ read, textOf, last = [], onchange, ...properties }) {
    this.#read = read;
    this.#textOf = textOf;
    this.#last = last;
    this.#onchange = onchange;
    this.input = h("input", {
      role: "combobox",
      "aria-autocomplete": "list",
      "aria-expanded": "false",
      "aria-controls": this.#list.id,
      autocomplete: "off",
      spellcheck: "false",
      dir: "auto",
      ...properties,
      onfocus: () => this.input.select(),
      onclick: () => this.#popup.hidden && this.#open(),
      oninput: () => this.#search(),
      onkeydown: (event) => this.#onkey(event),
      onblur: () => this.#leave(),
    });
    // The focus stays in the input.
    this.#popup.addEventListener("mousedown", (event) => event.preventDefault());
    this.#list.addEventListener("click", ({ target }) => this.#choose([...this.#list.children].indexOf(target.closest("li"))));
    this.element = h("div", { class: "picker" }, this.input, this.#popup, this.#status);
  }

  get value() {
    return this.#value;
  }

  /** Shows a value. Text being typed stays. */
  show(value) {
    this.#value = value;
    if (!this.#isTyped) this.#showText();
  }

  #showText() {
    const text = this.#value === undefined ? "" : this.#textOf(this.#value);
    if (this.input.value !== text) this.input.value = text;
  }

  /** Lists everything, from the chosen entry on if that is too far down. */
  #open() {
    this.input.select();
    const entries = this.#read();
    const at = entries.findIndex(([value]) => value === this.#value);
    const from = at < MAX_LISTED ? 0 : at;
    this.#draw(entries.slice(from, from + MAX_LISTED), entries.length);
    this.#activate(this.#listed.findIndex(([value]) => value === this.#value));
  }

  #search() {
    this.#isTyped = true;
    const { listed, count } = matching(this.#read(), this.input.value);
    this.#draw(listed, count);
    this.#activate(count > 0 ? 0 : -1);
  }

  #draw(listed, count) {
    this.#listed = [...listed, ...this.#last];
    const option = ([value, text], at) =>
      h("li", { role: "option", id: `${this.#list.id}-${at}`, "aria-selected": String(value === this.#value), dir: "auto" }, text);
    this.#list.replaceChildren(...this.#listed.map(option));
    const [shown, all] = [listed.length, count].map((each) => figure(each));
    const said = count > listed.length ? `${shown} of ${all} are listed. Type to find others.` : count === 0 ? "Nothing matches." : "";
    this.#more.textContent = said;
    this.#status.textContent = said || `${all} ${count === 1 ? "choice" : "choices"}`;
    this.#popup.hidden = false;
    this.#list.hidden = this.#listed.length === 0;
    this.input.setAttribute("aria-expanded", String(!this.#list.hidden));
  }

  #activate(at) {
    this.#list.children[this.#active]?.classList.remove("active");
    this.#active = at;
    const option = this.#list.children[at];
    option?.classList.add("active");
    option?.scrollIntoView({ block: "nearest" });
    if (option) this.input.setAttribute("aria-activedescendant", option.id);
    else this.input.removeAttribute("aria-activedescendant");
  }

  #onkey(event) {
    const isOpen = !this.#popup.hidden;
    const count = this.#listed.length;
    const moves = {
      ArrowDown: () => (isOpen ? this.#activate((this.#active + 1) % count) : this.#open()),
      ArrowUp: () => (isOpen ? this.#activate((Math.max(this.#active, 0) + count - 1) % count) : this.#open()),
      Enter: isOpen && (() => this.#choose(this.#active)),
      Escape: isOpen && (() => this.#close()),
    };
    const move = Object.hasOwn(moves, event.key) && !event.isComposing && moves[event.key];
    if (!move) return;
    event.preventDefault();
    move();
  }

  #choose(at) {
    const chosen = this.#listed[at];
    if (this.#popup.hidden || chosen === undefined) return;
    this.#value = chosen[0];
    this.#close();
    this.#onchange(this.#value);
  }

  /** A user who typed the whole text of an entry has chosen it. */
  #leave() {
    const typed = this.input.value.trim().toLowerCase();
    const at = this.#isTyped ? this.#listed.findIndex(([, text]) => text.trim().toLowerCase() === typed) : -1;
    if (at >= 0 && this.#listed[at][0] !== this.#value) this.#choose(at);
    else this.#close();
  }

  /** Closes the list, and shows the text of the chosen value. */
  #close() {
    this.#isTyped = false;
    this.#popup.hidden = true;
    this.#listed = [];
    this.#list.replaceChildren();
    this.#activate(-1);
    this.#status.textContent = "";
    this.input.setAttribute("aria-expanded", "false");
    this.#showText();
  }
}
