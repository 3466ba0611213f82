/**
 * The rows of a list that may be long: only those near the viewport are elements, and spaces above and below replace the
 * others. All are printed. A row stays unless its entry or other content changes. A changed row flashes. While a row is
 * pressed, none is drawn: the click on a replaced row would be lost.
 */

import { arrange, h, keepFocus } from "./dom.js";
import { sameList } from "./kept.js";
import { partOf } from "./part.js";

/** How far beyond the viewport rows are drawn, so that the keys and Tab find the next ones. */
const BEYOND_PX = 800;

/** The least number of rows, drawn over several frames: most lists are complete, also for the browser's own search. */
const LEAST = 60;
const STEP = 12;

/** The browser prints what is drawn between these. */
const PRINTING = ["beforeprint", "afterprint"];

/** The events that end a press; a menu may swallow the release. */
const RELEASING = ["pointerup", "pointercancel", "contextmenu"];

/** The height of a row until one was measured. */
const GUESS_PX = 82;

/**
 * The list; `keyOf` identifies an entry, which is another object once it has changed. `rowOf` makes the element of its row,
 * and `shownOf` returns the other content of that, as a list.
 */
export const longList = (options) => new LongList(options);

class LongList {
  #keyOf;
  #rowOf;
  #shownOf;
  #entries = [];
  /** The drawn rows, by key: `{ entry, shown, row }`. */
  #drawn = new Map();
  /** All entries, drawn or not, by key, and the keys of those that the last answer changed. */
  #known = new Map();
  #changed = new Set();
  #heights = new Map();
  #mean = GUESS_PX;
  #width = 0;
  #least = STEP;
  #frame;
  #isPrinted = false;
  /** What was to be shown while a row was pressed. */
  #held;
  #isPressed = false;
  #onrelease = () => {
    if (!this.#isPressed) return;
    // The click comes after this event.
    setTimeout(() => {
      this.#isPressed = false;
      if (this.#held) this.show(...this.#held);
      else this.#placeSoon();
    });
  };
  #above = h("div", {});
  #below = h("div", {});
  #rows;
  #observer = new ResizeObserver(() => this.#placeSoon());
  #onscroll = () => this.#placeSoon();
  #onprint = ({ type }) => {
    this.#isPrinted = type === "beforeprint";
    this.#place();
  };

  constructor({ name, keyOf, rowOf, shownOf }) {
    this.#keyOf = keyOf;
    this.#rowOf = rowOf;
    this.#shownOf = shownOf;
    this.#rows = h("ul", { class: name, onpointerdown: () => (this.#isPressed = true) });
    this.element = h("div", {}, this.#above, this.#rows, this.#below);
    this.#observer.observe(this.#rows);
    // The scrolled element may be around the list.
    addEventListener("scroll", this.#onscroll, { passive: true, capture: true });
    addEventListener("resize", this.#onscroll);
    for (const type of PRINTING) addEventListener(type, this.#onprint);
    for (const type of RELEASING) addEventListener(type, this.#onrelease);
  }

  /** Shows entries, which were found among `all`. */
  show(found, all = found) {
    this.#held = this.#isPressed ? [found, all] : undefined;
    if (this.#isPressed) return;
    const keyOf = this.#keyOf;
    if (this.#known.size > 0) this.#changed = new Set(all.filter((entry) => this.#known.get(keyOf(entry)) !== entry).map(keyOf));
    this.#known = new Map(all.map((entry) => [keyOf(entry), entry]));
    this.#entries = found;
    keepFocus(this.#rows, () => this.#place());
    this.#changed.clear();
  }

  close() {
    this.#held = undefined;
    this.#observer.disconnect();
    removeEventListener("scroll", this.#onscroll, { capture: true });
    removeEventListener("resize", this.#onscroll);
    for (const type of PRINTING) removeEventListener(type, this.#onprint);
    for (const type of RELEASING) removeEventListener(type, this.#onrelease);
    cancelAnimationFrame(this.#frame);
  }

  #placeSoon() {
    this.#frame ??= requestAnimationFrame(() => {
      this.#frame = undefined;
      this.#place();
    });
  }

  /** Draws the rows that are needed now, and in the next frame the rest of the least number. */
  #place() {
    const top = this.element.getBoundingClientRect().top;
    const space = { from: -top - BEYOND_PX, until: innerHeight - top + BEYOND_PX, least: this.#least };
    const heights = this.#entries.map((entry) => this.#heights.get(this.#keyOf(entry)) ?? this.#mean);
    const part = this.#isPrinted ? { begin: 0, end: heights.length, above: 0, below: 0 } : partOf(heights, space);
    const next = this.#entries.slice(part.begin, part.end).map((entry) => this.#drawnRow(entry));
    next.forEach(({ row }, at) => number(row, part.begin + at + 1, this.#entries.length));
    arrange(this.#rows, next.map(({ row }) => row));
    this.#drawn = new Map(next.map((each) => [this.#keyOf(each.entry), each]));
    this.#above.style.height = `${part.above}px`;
    this.#below.style.height = `${part.below}px`;
    this.#measure(next);
    if (this.#least >= LEAST || next.length === this.#entries.length) return;
    this.#least += STEP;
    this.#placeSoon();
  }

  #drawnRow(entry) {
    const key = this.#keyOf(entry);
    const shown = this.#shownOf(entry);
    const before = this.#drawn.get(key);
    if (before && (this.#isPressed || (before.entry === entry && sameList(before.shown, shown) === before.shown))) return before;
    const row = this.#rowOf(entry);
    if (this.#changed.has(key)) row.classList.add("changed");
    return { entry, shown, row };
  }

  /** Notes the heights of rows, with the gap below them. Heights at another width are forgotten. */
  #measure(next) {
    const width = this.#rows.clientWidth;
    if (width === 0 || next.length === 0) return;
    if (width !== this.#width) this.#heights.clear();
    const isFirst = this.#heights.size === 0;
    this.#width = width;
    const tops = next.map(({ row }) => row.offsetTop);
    next.forEach(({ entry, row }, at) => this.#heights.set(this.#keyOf(entry), at + 1 < tops.length ? tops[at + 1] - tops[at] : row.offsetHeight));
    if (isFirst) this.#mean = this.#rows.offsetHeight / next.length;
  }
}

/** Tells screen readers the position of a row and the number of rows. */
function number(row, position, size) {
  row.setAttribute("aria-posinset", position);
  row.setAttribute("aria-setsize", size);
}
