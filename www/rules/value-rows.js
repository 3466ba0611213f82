/**
 * The rows of a list of values. Only those in sight are elements, all of one height; all are printed. Follows the pattern of a
 * multi-select listbox (ARIA Authoring Practices): one tab stop, arrows to move, Space to select.
 */

import { h } from "../shared/dom.js";

/** The rows drawn beyond those in sight. */
const BEYOND = 8;

/** The height of a row until one was measured. */
const GUESS_PX = 36;

/** The browser prints what is drawn between these. */
const PRINTING = ["beforeprint", "afterprint"];

let lists = 0;

/**
 * The list. `textOf` returns the text of an entry, `tagsOf` the words beside it, `onchoose` is called when the selection has
 * changed, and `onremove` when Delete is pressed.
 */
export const valueRows = (options) => new ValueRows(options);

class ValueRows {
  #textOf;
  #tagsOf;
  #onchoose;
  #entries = [];
  #chosen = new Set();
  #active = -1;
  #anchor = 0;
  #height = GUESS_PX;
  #frame;
  #isPrinted = false;
  #onprint = ({ type }) => {
    this.#isPrinted = type === "beforeprint";
    if (this.element.isConnected) this.#draw();
    else for (const each of PRINTING) removeEventListener(each, this.#onprint);
  };
  #id = `values-${(lists += 1)}`;
  #rows = h("div", { role: "presentation" });
  #column = h("div", { role: "presentation", class: "value-column" }, this.#rows);

  constructor({ label, textOf, tagsOf, onchoose, onremove }) {
    this.#textOf = textOf;
    this.#tagsOf = tagsOf;
    this.#onchoose = onchoose;
    const onkeydown = (event) => (event.key === "Delete" ? onremove() : this.#onkey(event));
    this.element = h(
      "div",
      { class: "value-rows", role: "listbox", "aria-label": label, "aria-multiselectable": "true", tabindex: "0", onkeydown, onscroll: () => this.#drawSoon() },
      this.#column,
    );
    this.#rows.addEventListener("click", (event) => this.#onclick(event));
    new ResizeObserver(() => this.#drawSoon()).observe(this.element);
  }

  /** The selected entries. */
  get chosen() {
    return this.#chosen;
  }

  /** Shows entries; none is selected. */
  show(entries) {
    this.#entries = entries;
    this.#chosen = new Set();
    this.#active = Math.min(this.#active, entries.length - 1);
    this.#draw();
    this.#onchoose();
  }

  chooseAll() {
    this.#chosen = new Set(this.#entries);
    this.#changed();
  }

  chooseNone() {
    this.#chosen = new Set();
    this.#changed();
  }

  #changed() {
    this.#draw();
    this.#onchoose();
  }

  #drawSoon() {
    this.#frame ??= requestAnimationFrame(() => {
      this.#frame = undefined;
      this.#draw();
    });
  }

  #draw() {
    const { scrollTop, clientHeight } = this.element;
    this.#column.style.height = `${this.#entries.length * this.#height}px`;
    const { length } = this.#entries;
    const first = this.#isPrinted ? 0 : Math.max(0, Math.min(Math.floor(scrollTop / this.#height), length - 1) - BEYOND);
    const last = this.#isPrinted ? length : Math.min(length, Math.ceil((scrollTop + clientHeight) / this.#height) + BEYOND);
    // A list that is removed from the page and put back is drawn again.
    for (const type of PRINTING) addEventListener(type, this.#onprint);
    this.#rows.replaceChildren(...this.#entries.slice(first, last).map((entry, at) => this.#row(entry, first + at)));
    this.#rows.style.transform = `translateY(${first * this.#height}px)`;
    const isDrawn = this.#active >= first && this.#active < last;
    if (isDrawn) this.element.setAttribute("aria-activedescendant", `${this.#id}-${this.#active}`);
    else this.element.removeAttribute("aria-activedescendant");
    const { height } = this.#rows.firstElementChild?.getBoundingClientRect() ?? { height: 0 };
    if (height === 0 || Math.abs(height - this.#height) < 0.01) return;
    this.#height = height;
    this.#drawSoon();
  }

  #row(entry, at) {
    return h(
      "div",
      {
        role: "option",
        id: `${this.#id}-${at}`,
        class: at === this.#active ? "value-row active" : "value-row",
        "aria-selected": String(this.#chosen.has(entry)),
        "aria-posinset": at + 1,
        "aria-setsize": this.#entries.length,
      },
      h("i", { "aria-hidden": "true" }),
      h("span", { dir: "auto" }, this.#textOf(entry)),
      this.#tagsOf(entry).map((text) => h("span", { class: "tag" }, text)),
    );
  }

  #onclick(event) {
    const row = event.target.closest("[role=option]");
    if (!row) return;
    const at = Number(row.getAttribute("aria-posinset")) - 1;
    if (event.shiftKey) this.#chooseTo(at);
    else this.#toggle(at);
  }

  #toggle(at) {
    const entry = this.#entries[at];
    if (!this.#chosen.delete(entry)) this.#chosen.add(entry);
    this.#anchor = this.#active = at;
    this.#changed();
  }

  /** Selects everything from the last entry selected singly. */
  #chooseTo(at) {
    const [from, to] = [Math.min(this.#anchor, at), Math.max(this.#anchor, at)];
    for (const entry of this.#entries.slice(from, to + 1)) this.#chosen.add(entry);
    this.#active = at;
    this.#changed();
  }

  #onkey(event) {
    const last = this.#entries.length - 1;
    const page = Math.max(1, Math.floor(this.element.clientHeight / this.#height) - 1);
    const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    const isCommand = event.ctrlKey || event.metaKey;
    if (last < 0) return;
    if (Object.hasOwn(moves, event.key)) this.#moveTo(Math.max(0, Math.min(last, this.#active + moves[event.key])), event.shiftKey);
    else if (event.key === " " && this.#active >= 0) this.#toggle(this.#active);
    else if (isCommand && event.key.toLowerCase() === "a") this.chooseAll();
    else return;
    event.preventDefault();
  }

  #moveTo(at, isChosen) {
    const top = at * this.#height;
    const { scrollTop, clientHeight } = this.element;
    if (top < scrollTop) this.element.scrollTop = top;
    else if (top + this.#height > scrollTop + clientHeight) this.element.scrollTop = top + this.#height - clientHeight;
    if (isChosen) return this.#chooseTo(at);
    this.#active = this.#anchor = at;
    this.#draw();
  }
}
