/**
 * A list of the Platform view: its heading, a filter, the rows, and what is there when it is empty. More is read on demand, and
 * by a filter until there is no more, because the host does not search.
 */

import { button, h } from "../shared/dom.js";
import { icon } from "../shared/icon.js";
import { foundText, searching } from "../shared/list.js";
import { longList } from "../shared/long-list.js";

/** A list of more pages than these is read again only when something was done in it. */
const MAX_RENEWED = 4;

/**
 * The list. `labels` are `{ title, about, noun, empty, none }`: none is the sentence for an empty list. `rowOf` makes the row of
 * an entry, `shownOf` returns what else that shows, and `textOf` what the filter searches; without it, there is none. `compare` sorts them.
 * `actions` stand beside the heading.
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
    if (all.length === 0) emptyState.replaceChildren(h("h3", {}, empty), h("p", {}, none));
    else emptyState.replaceChildren(icon("search"), h("p", { dir: "auto" }, `No ${noun} matches “${filter.value}”.`));
  }

  async function readOn() {
    const asked = pages;
    isReading = true;
    await asked.more().catch(() => {
      // The connection shows that the host cannot be reached, and the button is still there.
    });
    isReading = false;
    if (asked === pages) draw();
  }

  /** Reads on while there is more and something is sought. */
  async function search() {
    if (isReading) return;
    for (let [asked, before] = [pages, -1]; asked === pages && filter.value.trim() !== "" && pages.hasMore && pages.count > before; ) {
      before = pages.count;
      await readOn();
    }
  }

  return {
    element,
    draw,
    /** Shows another list. */
    open(other) {
      pages = other;
      filter.value = "";
      draw();
    },
    /** Has the whole list read again, however long. */
    suspect: () => (isSuspect = true),
    async read() {
      if (!isSuspect && pages.count > MAX_RENEWED) return;
      const asked = pages;
      isSuspect = false;
      await asked.renew();
      if (asked === pages) draw();
    },
    fail(sentence) {
      rows.element.hidden = toolbar.hidden = more.hidden = true;
      emptyState.hidden = false;
      emptyState.replaceChildren(icon("alert"), h("h3", {}, "This cannot be shown"), h("p", {}, sentence));
    },
    close: () => rows.close(),
  };
}
