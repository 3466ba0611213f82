/**
 * A list with a filter, which shows the changes of others as they arrive.
 */

import { button, h } from "./dom.js";
import { icon } from "./icon.js";
import { counted } from "./messages.js";

/** The mark of something that has a draft. */
export const draftTag = () => h("span", { class: "tag draft-tag", title: "You have changed this, and not saved it" }, "Draft");

/**
 * The list: `read` returns the entries and `row` the element of one, given what the filter seeks. `key` identifies an
 * entry, `text` is what the filter searches, and `create` returns what creates an entry, unless the user may not.
 * `templates` returns what an empty list offers to start from. `labels` are `{ title, noun, empty, about, refused }`.
 */
export function list({ read, row, key, text, create, templates, labels }) {
  const filter = h("input", { type: "search", placeholder: "Filter", "aria-label": `Filter ${labels.title.toLowerCase()}`, spellcheck: "false", oninput: draw });
  const count = h("p", { class: "hint", role: "status" });
  const rows = h("ul", { class: "rows" });
  const emptyState = h("div", { class: "empty-state" });
  const createButton = button(`New ${labels.noun}`, { image: "plus", class: "primary", onclick: () => create()?.() });
  const refused = h("p", { class: "hint refused" }, icon("lock"), labels.refused);
  const toolbar = h("div", { class: "toolbar" }, h("div", { class: "search" }, icon("search"), filter), count);
  let known = new Map();

  function draw() {
    const all = read();
    const sought = filter.value.trim().toLowerCase();
    const found = all.filter((entry) => text(entry).toLowerCase().includes(sought));
    createButton.hidden = !create();
    refused.hidden = !createButton.hidden;
    const focused = document.activeElement?.closest?.("[data-key]")?.dataset.key;
    const label = document.activeElement?.textContent;
    rows.replaceChildren(
      ...found.map((entry) => {
        const element = row(entry, sought);
        element.dataset.key = key(entry);
        if (known.size > 0 && known.get(key(entry)) !== JSON.stringify(entry)) element.classList.add("changed");
        return element;
      }),
    );
    refocus(focused, label);
    known = new Map(all.map((entry) => [key(entry), JSON.stringify(entry)]));
    count.textContent = found.length === all.length ? counted(all.length, labels.noun) : `${found.length} of ${counted(all.length, labels.noun)}`;
    emptyState.hidden = found.length > 0;
    toolbar.hidden = all.length === 0;
    if (all.length === 0) emptyState.replaceChildren(h("h2", {}, labels.empty), h("p", {}, labels.about), templates() ?? "");
    else emptyState.replaceChildren(icon("search"), h("p", {}, `No ${labels.noun} matches “${filter.value}”.`));
  }

  /** Focuses the control that had the focus before the rows were drawn again. */
  const refocus = (id, label) => {
    const element = [...rows.children].find(({ dataset }) => dataset.key === id);
    const controls = element?.querySelectorAll("button, a") ?? [];
    [...controls].find(({ textContent }) => textContent === label)?.focus();
  };

  const element = h("div", {}, h("div", { class: "heading" }, h("h1", { tabindex: "-1" }, labels.title), createButton), refused, toolbar, rows, emptyState);
  draw();
  return { title: labels.title, element, refresh: draw };
}
