/**
 * A list that is filtered as one types, and shows what others changed as it arrives.
 */

import { button, h, icon } from "./dom.js";
import { counted } from "./words.js";

/**
 * The list: `read` answers the things, `row` shows one, `key` and `text` are what it is known by and found by; `make`
 * makes a new one. `words` are `{ title, noun, empty, about }`.
 */
export function list({ read, row, key, text, make, words }) {
  const filter = h("input", { type: "search", placeholder: "Filter", "aria-label": `Filter ${words.title.toLowerCase()}`, spellcheck: "false", oninput: draw });
  const count = h("p", { class: "hint", role: "status" });
  const rows = h("ul", { class: "rows" });
  const nothing = h("div", { class: "nothing" });
  const create = () => button(`New ${words.noun}`, { image: "plus", class: "primary", onclick: make });
  const toolbar = h("div", { class: "toolbar" }, h("div", { class: "search" }, icon("search"), filter), count);
  let known = new Map();

  function draw() {
    const all = read();
    const found = all.filter((thing) => text(thing).toLowerCase().includes(filter.value.trim().toLowerCase()));
    const focused = document.activeElement?.closest?.("[data-key]")?.dataset.key;
    const label = document.activeElement?.textContent;
    rows.replaceChildren(
      ...found.map((thing) => {
        const element = row(thing);
        element.dataset.key = key(thing);
        if (known.size > 0 && known.get(key(thing)) !== JSON.stringify(thing)) element.classList.add("arrived");
        return element;
      }),
    );
    refocus(focused, label);
    known = new Map(all.map((thing) => [key(thing), JSON.stringify(thing)]));
    count.textContent = found.length === all.length ? counted(all.length, words.noun) : `${found.length} of ${counted(all.length, words.noun)}`;
    nothing.hidden = found.length > 0;
    toolbar.hidden = all.length === 0;
    if (all.length === 0) nothing.replaceChildren(h("h2", {}, words.empty), h("p", {}, words.about));
    else nothing.replaceChildren(icon("search"), h("p", {}, `No ${words.noun} matches “${filter.value}”.`));
  }

  /** What was focused before the rows were drawn anew. */
  const refocus = (id, label) => {
    const element = [...rows.children].find(({ dataset }) => dataset.key === id);
    const controls = element?.querySelectorAll("button, a") ?? [];
    [...controls].find(({ textContent }) => textContent === label)?.focus();
  };

  const element = h("div", {}, h("div", { class: "heading" }, h("h1", { tabindex: "-1" }, words.title), create()), toolbar, rows, nothing);
  draw();
  return { title: words.title, element, refresh: draw };
}
