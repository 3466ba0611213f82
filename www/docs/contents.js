/**
 * The contents: every operation by its tag and every channel of events, with a search over all of them.
 */

import { h } from "../shared/dom.js";
import { icon } from "../shared/icon.js";
import { figure } from "../shared/locale.js";
import { methodTag, pathText } from "./operation.js";

const NOTHING = "Nothing found. Search for a word, part of a path, a field, a permission or a role.";

/**
 * The list: `{ element, mark, focus }`. A group is `{ name, entries }`, an entry `{ id, title, sought, alsoSought }` and its
 * label.
 */
export function contents(groups) {
  const input = h("input", { type: "search", placeholder: "Search", "aria-label": "Search operations and events", spellcheck: "false", oninput: () => filter() });
  const count = h("p", { class: "hint", role: "status" });
  const links = new Map();
  const drawn = groups.map(({ name, entries }) => {
    const items = entries.map((entry) => {
      const link = h("a", { href: `#${encodeURIComponent(entry.id)}` }, entryText(entry));
      links.set(entry.id, link);
      return { entry, element: h("li", {}, link) };
    });
    const number = h("span", { class: "count" }, figure(entries.length));
    return { items, number, element: h("details", { class: "group" }, h("summary", {}, h("span", {}, name), number), h("ul", {}, items.map(({ element }) => element))) };
  });
  const all = drawn.flatMap(({ items }) => items);
  let current;

  const words = () => input.value.toLowerCase().split(/\s+/).filter(Boolean);
  const isNamed = ({ sought }) => words().every((word) => sought.includes(word));
  // The full text of an entry is only read by the first search that needs it.
  const isFound = (entry) => isNamed(entry) || words().every((word) => entry.sought.includes(word) || (entry.also ??= entry.alsoSought()).includes(word));

  function filter() {
    const isSearching = words().length > 0;
    for (const { entry, element } of all) element.hidden = !isFound(entry);
    for (const { items, number, element } of drawn) {
      const found = items.filter((item) => !item.element.hidden).length;
      number.textContent = figure(found);
      element.hidden = found === 0;
      element.open = isSearching || items.some(({ entry }) => entry.id === current);
    }
    const found = all.filter(({ element }) => !element.hidden).length;
    count.textContent = !isSearching ? "" : found === 0 ? NOTHING : `${figure(found)} found`;
  }

  const onsubmit = (event) => {
    event.preventDefault();
    const first = all.find(({ entry }) => isNamed(entry)) ?? all.find(({ element }) => !element.hidden);
    if (first && input.value.trim() !== "") location.hash = encodeURIComponent(first.entry.id);
  };
  filter();
  return {
    element: h("nav", { class: "contents", "aria-label": "Operations and events" }, h("form", { class: "search", role: "search", onsubmit }, icon("search"), input), count, drawn.map(({ element }) => element)),
    mark(id) {
      links.get(current)?.removeAttribute("aria-current");
      links.get(id)?.setAttribute("aria-current", "page");
      current = id;
      const group = drawn.find(({ items }) => items.some(({ entry }) => entry.id === id));
      if (group) group.element.open = true;
      links.get(id)?.scrollIntoView({ block: "nearest" });
    },
    /** Moves the focus to an entry that was shown before. */
    focus: (id) => (links.get(id) ?? input).focus(),
  };
}

const entryText = ({ title, method, path, address, deprecated }) => [
  h("span", { class: deprecated ? "entry-title old" : "entry-title" }, title),
  h("span", { class: "entry-path" }, method && methodTag(method), pathText(path ?? address ?? "")),
];
