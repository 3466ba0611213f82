/**
 * The tree of business units with its search. One item is in the tab order; arrow keys move through the tree, letters jump to
 * names.
 */

import { button, h } from "../shared/dom.js";
import { icon } from "../shared/icon.js";
import { figure } from "../shared/locale.js";
import { PAGE, TreeRows } from "./tree-rows.js";
import { KINDS } from "./wording.js";

/** The longest pause between letters that belong together. */
const TYPING_MS = 700;

/** The tree; `onchoose` gets the id of a unit, `oncreate` starts a new one, and `onpaste` many. */
export const unitTree = (options) => new UnitTree(options);

class UnitTree {
  #onchoose;
  #rows = new TreeRows();
  #units;
  /** The unit shown beside the tree, and the item in the tab order. */
  #chosen;
  #current;
  #typed = { text: "", at: 0 };
  #search;
  #status = h("p", { class: "hint", role: "status" });
  #items;
  #create;
  #paste;

  constructor({ onchoose, oncreate, onpaste }) {
    const about = { placeholder: "Search by name or id", "aria-label": "Search business units", dir: "auto", spellcheck: "false" };
    this.#onchoose = onchoose;
    this.#search = h("input", { type: "search", ...about, oninput: () => this.#draw(), onkeydown: (event) => this.#onsearchkey(event) });
    this.#items = h("ul", { role: "tree", "aria-label": "Business units", onkeydown: (event) => this.#onkey(event), onclick: (event) => this.#onclick(event) });
    this.#create = button("New unit", { image: "plus", class: "plain", onclick: oncreate });
    this.#paste = button("Paste units", { image: "paste", class: "plain", onclick: onpaste });
    const search = h("div", { class: "search" }, icon("search"), this.#search);
    this.element = h("div", { class: "tree" }, search, this.#items, h("div", { class: "tree-foot" }, this.#status, this.#paste, this.#create));
  }

  /**
   * Shows the units, with an open path to the chosen one. `drafts` tells if there is a draft of a `new` one, and `pasted`
   * ones.
   */
  show({ units, id, mayCreate, drafts }) {
    const isOther = id !== this.#chosen;
    this.#units = units;
    this.#chosen = id;
    this.#create.hidden = this.#paste.hidden = !mayCreate;
    this.#create.lastChild.data = drafts.new ? "New unit (draft)" : "New unit";
    this.#paste.lastChild.data = drafts.pasted ? "Paste units (draft)" : "Paste units";
    this.#rows.show(units, id, isOther);
    if (isOther && id !== undefined) this.#current = id;
    this.#draw();
    if (isOther) this.#itemOf(id)?.scrollIntoView?.({ block: "nearest" });
  }

  #all() {
    return this.#rows.all(this.#search.value.trim());
  }

  #draw() {
    if (this.#units === undefined) return;
    const hadFocus = this.#items.contains(document.activeElement);
    const all = this.#all();
    if (!all.some(({ id }) => id === this.#current)) this.#current = (all.find(({ id }) => id === this.#chosen) ?? all[0])?.id;
    this.#items.replaceChildren(...all.map((row) => treeItem(row, { units: this.#units, current: this.#current, chosen: this.#chosen })));
    this.#items.hidden = all.length === 0;
    this.#search.parentElement.hidden = this.#units.size === 0;
    this.#status.textContent = statusText(this.#units, this.#search.value.trim());
    if (hadFocus) this.#focus(this.#current);
  }

  #focus(id) {
    this.#current = id;
    for (const element of this.#items.children) element.tabIndex = element.dataset.id === id ? 0 : -1;
    const element = this.#itemOf(id);
    element?.focus();
    element?.scrollIntoView({ block: "nearest" });
  }

  #itemOf(id) {
    return [...this.#items.children].find(({ dataset }) => dataset.id === id);
  }

  #open(id, isOpen) {
    this.#rows.open(id, isOpen);
    this.#draw();
  }

  /** Chooses an item, or lists more. */
  #act(id) {
    const row = this.#all().find((each) => each.id === id);
    this.#current = id;
    if (!row?.isMore) return this.#onchoose(id);
    this.#rows.listMore(row.parent);
    this.#draw();
  }

  #onclick(event) {
    const id = event.target.closest("[data-id]")?.dataset.id;
    if (id === undefined) return;
    if (event.target.closest(".twisty") && this.#units.children(id).length > 0) {
      this.#current = id;
      return this.#open(id, this.#itemOf(id).getAttribute("aria-expanded") !== "true");
    }
    this.#act(id);
    this.#focus(id);
  }

  #onkey(event) {
    const all = this.#all();
    const at = all.findIndex(({ id }) => id === this.#current);
    if (all[at] === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    const isLetter = event.key.length === 1 && event.key !== " ";
    const move = this.#moves(all, at)[event.key];
    if (!isLetter && move === undefined) return;
    event.preventDefault();
    if (isLetter) this.#jump(event.key, all, at);
    else move();
  }

  /** The action of each key at a row. */
  #moves(all, at) {
    const row = all[at];
    const to = (index) => all[index] && this.#focus(all[index].id);
    const hasChildren = row.unit !== undefined && this.#units.children(row.id).length > 0;
    return {
      ArrowDown: () => to(at + 1),
      ArrowUp: () => to(at - 1),
      Home: () => to(0),
      End: () => to(all.length - 1),
      ArrowRight: () => (hasChildren && !row.isOpen ? this.#open(row.id, true) : hasChildren && to(at + 1)),
      ArrowLeft: () => (row.isOpen ? this.#open(row.id, false) : to(all.findLastIndex(({ level }, index) => index < at && level < row.level))),
      Enter: () => this.#act(row.id),
      " ": () => this.#act(row.id),
    };
  }

  /** Focuses the next item whose name begins with the quickly typed letters. */
  #jump(letter, all, at) {
    const text = (performance.now() - this.#typed.at < TYPING_MS ? this.#typed.text : "") + letter.toLowerCase();
    this.#typed = { text, at: performance.now() };
    const after = [...all.slice(at + (text.length > 1 ? 0 : 1)), ...all];
    const found = after.find(({ unit }) => unit && [unit.name ?? "", unit.id].some((name) => name.toLowerCase().startsWith(text)));
    if (found) this.#focus(found.id);
  }

  /** In the search, the down arrow goes to the tree and Enter to the first match. */
  #onsearchkey(event) {
    if (event.key === "ArrowDown" && this.#items.children.length > 0) {
      event.preventDefault();
      this.#focus(this.#current);
    }
    if (event.key === "Enter" && this.#search.value.trim() !== "") {
      const [first] = this.#units.search(this.#search.value);
      if (first) this.#onchoose(first.id);
    }
  }
}

function statusText(units, text) {
  if (units.size === 0) return "Nothing here yet: create a company.";
  if (text === "") return "";
  const found = units.search(text).length;
  if (found === 0) return "Nothing matches";
  if (found > PAGE) return `The first ${PAGE} of ${figure(found)} matches`;
  return found === 1 ? "1 match" : `${figure(found)} matches`;
}

/** The element of a row. */
function treeItem({ id, unit, level, size, position, isOpen, isMore }, { units, current, chosen }) {
  const place = { "aria-level": level, "aria-setsize": size, "aria-posinset": position };
  const attributes = { role: "treeitem", "data-id": id, ...place, tabindex: id === current ? "0" : "-1" };
  if (isMore) return indented(h("li", { ...attributes, class: "more" }, `Show ${figure(Math.min(isMore, PAGE))} more`), level);
  const hasChildren = units.children(id).length > 0;
  const hidden = (text) => h("span", { class: "visually-hidden" }, text);
  const element = h(
    "li",
    { ...attributes, "aria-expanded": hasChildren ? String(isOpen) : undefined, "aria-selected": String(id === chosen) },
    h("span", { class: "twisty" }, hasChildren && icon("chevron")),
    icon(KINDS[unit.type].image),
    h("span", { class: "tree-name" }, h("bdi", {}, unit.name ?? id), unit.name && h("span", { class: "id" }, id)),
    hidden(KINDS[unit.type].word),
    unit.type !== "STORE" && h("span", { class: "tree-count" }, figure(units.shops(id)), hidden(units.shops(id) === 1 ? " shop" : " shops")),
  );
  return indented(element, level);
}

function indented(element, level) {
  element.style.setProperty("--level", level - 1);
  return element;
}
