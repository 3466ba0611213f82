/**
 * The tree of business units with its search. One item is in the tab order; the arrow keys move through the tree, letters
 * jump to names.
 */

import { button, h } from "../shared/dom.js";
import { icon } from "../shared/icon.js";
import { KINDS } from "./wording.js";

/** The most units that are listed below one, and found by a search, until more are asked for. */
const PAGE = 200;

/** The tree; `onchoose` gets the id of a unit, `oncreate` begins a new one. */
export function unitTree({ onchoose, oncreate }) {
  const about = { placeholder: "Search by name or id", "aria-label": "Search business units", spellcheck: "false" };
  const search = h("input", { type: "search", ...about, oninput: () => draw(), onkeydown: onsearchkey });
  const status = h("p", { class: "hint", role: "status" });
  const items = h("ul", { role: "tree", "aria-label": "Business units", onkeydown: onkey, onclick });
  const create = button("New unit", { image: "plus", class: "plain", onclick: oncreate });
  const element = h("div", { class: "tree" }, h("div", { class: "search" }, icon("search"), search), items, h("div", { class: "tree-foot" }, status, create));
  const opened = new Set();
  const limits = new Map();
  let units;
  let chosen;
  let current;
  let typed = { text: "", at: 0 };

  /** The rows in their order: `{ id, unit, level, size, position, isOpen, isMore }`. */
  function rows() {
    const text = search.value.trim();
    if (text === "") return childRows(undefined, 1, (id) => opened.has(id));
    const found = units.search(text).slice(0, PAGE);
    const seen = new Set(found.flatMap(({ id }) => units.path(id).map((unit) => unit.id)));
    return childRows(undefined, 1, (id) => units.children(id).some((child) => seen.has(child.id)), seen);
  }

  function childRows(parent, level, isOpened, seen) {
    const all = units.children(parent).filter(({ id }) => seen === undefined || seen.has(id));
    const limit = limits.get(parent) ?? PAGE;
    const listed = all.slice(0, limit).flatMap((unit, at) => {
      const isOpen = isOpened(unit.id);
      const row = { id: unit.id, unit, level, size: all.length, position: at + 1, isOpen };
      return [row, ...(isOpen ? childRows(unit.id, level + 1, isOpened, seen) : [])];
    });
    if (all.length > limit) listed.push({ id: `\n${parent}`, parent, level, size: all.length, position: limit + 1, isMore: all.length - limit });
    return listed;
  }

  function draw() {
    if (units === undefined) return;
    const hadFocus = items.contains(document.activeElement);
    const all = rows();
    if (!all.some(({ id }) => id === current)) current = (all.find(({ id }) => id === chosen) ?? all[0])?.id;
    items.replaceChildren(...all.map(item));
    items.hidden = all.length === 0;
    search.parentElement.hidden = units.size === 0;
    status.textContent = statusText(search.value.trim());
    if (hadFocus) focus(current);
  }

  function statusText(text) {
    if (units.size === 0) return "Nothing here yet: create a company.";
    if (text === "") return "";
    const found = units.search(text).length;
    if (found === 0) return "Nothing matches";
    if (found > PAGE) return `The first ${PAGE} of ${found.toLocaleString("en")} matches`;
    return found === 1 ? "1 match" : `${found} matches`;
  }

  function item(row) {
    const { id, unit, level, size, position, isOpen, isMore } = row;
    const place = { "aria-level": level, "aria-setsize": size, "aria-posinset": position };
    const attributes = { role: "treeitem", "data-id": id, ...place, tabindex: id === current ? "0" : "-1" };
    if (isMore) return indented(h("li", { ...attributes, class: "more" }, `Show ${Math.min(isMore, PAGE).toLocaleString("en")} more`), level);
    const hasChildren = units.children(id).length > 0;
    const hidden = (text) => h("span", { class: "visually-hidden" }, text);
    const element = h(
      "li",
      { ...attributes, "aria-expanded": hasChildren ? String(isOpen) : undefined, "aria-selected": String(id === chosen) },
      h("span", { class: "twisty" }, hasChildren && icon("chevron")),
      icon(KINDS[unit.type].image),
      h("span", { class: "tree-name" }, unit.name ?? id, unit.name && h("span", { class: "id" }, id)),
      hidden(KINDS[unit.type].word),
      unit.type !== "STORE" && h("span", { class: "tree-count" }, units.shops(id).toLocaleString("en"), hidden(units.shops(id) === 1 ? " shop" : " shops")),
    );
    return indented(element, level);
  }

  function indented(element, level) {
    element.style.setProperty("--level", level - 1);
    return element;
  }

  function focus(id) {
    current = id;
    for (const element of items.children) element.tabIndex = element.dataset.id === id ? 0 : -1;
    const element = itemOf(id);
    element?.focus();
    element?.scrollIntoView({ block: "nearest" });
  }

  const itemOf = (id) => [...items.children].find(({ dataset }) => dataset.id === id);

  function open(id, isOpen) {
    if (isOpen) opened.add(id);
    else opened.delete(id);
    draw();
  }

  /** Chooses an item, or lists more. */
  function act(id) {
    const more = rows().find((row) => row.id === id)?.isMore;
    current = id;
    if (!more) return onchoose(id);
    const parent = rows().find((row) => row.id === id).parent;
    limits.set(parent, (limits.get(parent) ?? PAGE) + PAGE);
    draw();
  }

  function onclick(event) {
    const id = event.target.closest("[data-id]")?.dataset.id;
    if (id === undefined) return;
    if (event.target.closest(".twisty") && units.children(id).length > 0) {
      current = id;
      return open(id, itemOf(id).getAttribute("aria-expanded") !== "true");
    }
    act(id);
    focus(id);
  }

  function onkey(event) {
    const all = rows();
    const at = all.findIndex(({ id }) => id === current);
    const row = all[at];
    if (row === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    const to = (index) => all[index] && focus(all[index].id);
    const hasChildren = row.unit !== undefined && units.children(row.id).length > 0;
    const keys = {
      ArrowDown: () => to(at + 1),
      ArrowUp: () => to(at - 1),
      Home: () => to(0),
      End: () => to(all.length - 1),
      ArrowRight: () => (hasChildren && !row.isOpen ? open(row.id, true) : hasChildren && to(at + 1)),
      ArrowLeft: () => (row.isOpen ? open(row.id, false) : to(all.findLastIndex(({ level }, index) => index < at && level < row.level))),
      Enter: () => act(row.id),
      " ": () => act(row.id),
    };
    const letter = event.key.length === 1 && event.key !== " ";
    if (!letter && keys[event.key] === undefined) return;
    event.preventDefault();
    if (letter) jump(event.key, all, at);
    else keys[event.key]();
  }

  /** Focuses the next item whose name begins with the letters that were typed quickly after each other. */
  function jump(letter, all, at) {
    const text = (performance.now() - typed.at < 700 ? typed.text : "") + letter.toLowerCase();
    typed = { text, at: performance.now() };
    const after = [...all.slice(at + (text.length > 1 ? 0 : 1)), ...all];
    const found = after.find(({ unit }) => unit && [unit.name ?? "", unit.id].some((name) => name.toLowerCase().startsWith(text)));
    if (found) focus(found.id);
  }

  /** From the search, the arrow goes to the tree and Enter to the first match. */
  function onsearchkey(event) {
    if (event.key === "ArrowDown" && items.children.length > 0) {
      event.preventDefault();
      focus(current);
    }
    if (event.key === "Enter" && search.value.trim() !== "") {
      const [first] = units.search(search.value);
      if (first) onchoose(first.id);
    }
  }

  return {
    element,
    /** Shows the units, with the path to the chosen one opened. */
    show({ units: shown, id, mayCreate }) {
      const isOther = id !== chosen;
      units = shown;
      chosen = id;
      create.hidden = !mayCreate;
      if (isOther) for (const { id: above } of units.path(id).slice(1)) opened.add(above);
      if (opened.size === 0) for (const unit of units.children()) opened.add(unit.id);
      if (isOther && id !== undefined) current = id;
      draw();
      if (isOther) itemOf(id)?.scrollIntoView?.({ block: "nearest" });
    },
  };
}
