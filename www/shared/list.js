/**
 * A list with a filter, which shows others' changes as they arrive.
 */

import { button, h } from "./dom.js";
import { filterInAddress } from "./filter-address.js";
import { icon } from "./icon.js";
import { figure, isolated } from "./locale.js";
import { longList } from "./long-list.js";
import { counted } from "./messages.js";

/** The mark of something with a draft. */
export const draftTag = () => h("span", { class: "tag draft-tag", title: "You have changed this but not saved it" }, "Draft");

/**
 * The list: `read` returns the entries, each the same object until it changes, and `row` the element of one, given the
 * filter's text; `shown` returns the other content of a row, as a list. `key` identifies an entry, `text` is what the filter
 * searches, and `create` returns the control that creates an entry, unless the user may not. `hasDraft` tells if an entry has
 * a draft, or without one, a new entry. `templates` returns the templates of an empty list. `labels` are
 * `{ title, noun, empty, about, refused }`. `href` is the address of the list, `query` that of the current address.
 */
export function list({ read, row, shown, key, text, create, hasDraft, templates, labels, href, query }) {
  const filter = h("input", { type: "search", placeholder: "Filter", "aria-label": `Filter ${labels.title.toLowerCase()}`, dir: "auto", spellcheck: "false", oninput: draw });
  const count = h("p", { class: "hint", role: "status" });
  const emptyState = h("div", { class: "empty-state" });
  const createButton = button(`New ${labels.noun}`, { image: "plus", class: "primary", onclick: () => create()?.() });
  const refused = h("p", { class: "hint refused" }, icon("lock"), labels.refused);
  const toolbar = h("div", { class: "toolbar" }, h("div", { class: "search" }, icon("search"), filter), count);
  const search = searching(text);
  const deleted = h("a", { class: "button plain", href: `${href}/deleted` }, icon("trash"), "Deleted");
  const inAddress = filterInAddress(filter, href);
  // These may belong to a session that has ended. A row whose draft is saved while the list is open stays in place.
  const first = new Set(read().filter(hasDraft).map(key));
  let sought = "";
  const rows = longList({ name: "rows", keyOf: key, rowOf: (entry) => row(entry, sought), shownOf: (entry) => shown(entry, sought) });

  function draw() {
    const all = read();
    sought = filter.value.trim().toLowerCase();
    const matching = search(all, sought);
    const found = first.size === 0 ? matching : [true, false].flatMap((isFirst) => matching.filter((entry) => first.has(key(entry)) === isFirst));
    createButton.hidden = !create();
    createButton.lastChild.data = `New ${labels.noun}${hasDraft() ? " (draft)" : ""}`;
    refused.hidden = !createButton.hidden;
    rows.show(found, all);
    count.textContent = foundText(found.length, all.length, labels.noun);
    emptyState.hidden = found.length > 0;
    toolbar.hidden = all.length === 0;
    if (all.length === 0) emptyState.replaceChildren(h("h2", {}, labels.empty), h("p", {}, labels.about), templates() ?? "");
    else emptyState.replaceChildren(icon("search"), h("p", {}, `No ${labels.noun} matches “${isolated(filter.value)}”.`));
  }

  const element = h("div", {}, h("div", { class: "heading" }, h("h1", { tabindex: "-1" }, labels.title), h("div", { class: "inline" }, deleted, createButton)), refused, toolbar, rows.element, emptyState);
  const seek = (given) => (inAddress.take(given), draw());
  seek(query);
  return { title: labels.title, element, refresh: draw, seek, address: inAddress.address, close: () => rows.close() };
}

/** The number of entries found. */
export const foundText = (found, all, noun) => (found === all ? counted(all, noun) : `${figure(found)} of ${counted(all, noun)}`);

/** Finds the entries whose text contains a text in lower case. The text of an entry is made once. */
export function searching(textOf) {
  const texts = new WeakMap();
  const lowerOf = (entry) => {
    if (!texts.has(entry)) texts.set(entry, textOf(entry).toLowerCase());
    return texts.get(entry);
  };
  return (entries, sought) => (sought === "" ? entries : entries.filter((entry) => lowerOf(entry).includes(sought)));
}
