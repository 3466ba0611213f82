/**
 * A list of the Platform view: its heading, a filter, the rows, and a text for an empty list. More is read on demand, and by a
 * filter until the end, because the host does not search.
 */

import { button, h } from "../shared/dom.js";
import { icon } from "../shared/icon.js";
import { foundText, searching } from "../shared/list.js";
import { longList } from "../shared/long-list.js";

/** A list with more pages is read again only after an action in it. */
const MAX_RENEWED = 4;

/**
 * The list. `labels` are `{ title, about, noun, empty, none }`, the last two for an empty list: heading and sentence. `rowOf`
 * makes the row of an entry, `shownOf` returns what else the row shows, and `textOf` what the filter searches; without it,
 * there is no filter. `compare` sorts the entries; `actions` stand beside the heading.
 */
export function entries({ labels, keyOf, rowOf, shownOf = () => [], textOf, compare, actions = [] }) {
  const { title, about, noun, empty, none } = labels;
  const filter = h("input", { type: "search", placeholder: "Filter", "aria-label": `Filter ${title.toLowerCase()}`, spellcheck: "false", dir: "auto", oninput: () => (draw(), search()) });
  const count = h("p", { class: "hint", role: "status" });
  const rows = longList({ name: "rows", keyOf, rowOf, shownOf });
  const emptyState = h("div", { class: "empty-state", hidden: true });
  const more = button("Show more", { class: "plain", onclick: () => readOn() });
  const toolbar = h("div", { class: "toolbar" }, textOf && h("div", { class: "search" }, icon("search"), filter), count);
  const element = h(
    "section",
    { class: "entries", "aria-label": title },
    h("div", { class: "heading" }, h("div", { class: "entries-title" }, h("h2", {}, title), h("p", { class: "hint" }, about)), actions),
    toolbar,
    rows.element,
    emptyState,
    h("div", { class: "more" }, more),
  );
  const find = textOf && searching(textOf);
  let pages;
  let isReading = false;
  let isSuspect = false;

  function draw() {
    const { hasMore } = pages;
    const all = compare ? pages.all.toSorted(compare) : pages.all;
    const sought = filter.value.trim().toLowerCase();
    const found = find ? find(all, sought) : all;
    rows.element.hidden = found.length === 0;
    rows.show(found, all);
    toolbar.hidden = all.length === 0;
    count.textContent = hasMore && isReading ? `${foundText(found.length, all.length, noun)}. Reading on…` : foundText(found.length, all.length, noun);
    more.hidden = !hasMore;
    emptyState.hidden = found.length > 0 || hasMore || pages.count === 0;
    if (all.length === 0) emptyState.replaceChildren(h("h3", {}, empty), none && h("p", {}, none));
    else emptyState.replaceChildren(icon("search"), h("p", { dir: "auto" }, `No ${noun} matches “${filter.value}”.`));
  }

  /** Reads the next entries; returns true if that worked. */
  async function readOn() {
    const asked = pages;
    isReading = true;
    // The connection's state shows that the host cannot be reached; the button stays.
    const isRead = await asked.more().then(
      () => true,
      () => false,
    );
    isReading = false;
    if (asked === pages) draw();
    return isRead;
  }

  /** Reads on while there is more and a filter is set, until reading fails. */
  async function search() {
    if (isReading) return;
    let isRead = true;
    while (isRead && filter.value.trim() !== "" && pages.hasMore) isRead = await readOn();
  }

  return {
    element,
    draw,
    open(other) {
      pages = other;
      draw();
    },
    /** Causes the whole list to be read again, however long it is. */
    suspect: () => (isSuspect = true),
    async read() {
      if (!isSuspect && pages.count > MAX_RENEWED) return;
      const asked = pages;
      isSuspect = false;
      await asked.renew().catch((error) => {
        isSuspect = true;
        throw error;
      });
      if (asked !== pages) return;
      draw();
      search();
    },
    fail(sentence) {
      rows.element.hidden = toolbar.hidden = more.hidden = true;
      emptyState.hidden = false;
      emptyState.replaceChildren(icon("alert"), h("h3", {}, "This cannot be shown"), h("p", {}, sentence));
    },
    close: () => rows.close(),
  };
}
