/**
 * The conditions or projects that are deleted now, the latest first: each leads to its history, from which it can be restored.
 */

import { button, h, openDialog } from "../shared/dom.js";
import { icon } from "../shared/icon.js";
import { counted, errorText } from "../shared/messages.js";
import { timeText } from "../shared/time.js";

/** The number read at once. */
const AT_ONCE = 50;

/**
 * Opens the list and returns once it is closed. `groups` are `{ title?, path, args }`: their path on the host, and the
 * arguments of `hrefOf` after an id, for the address of a history. An abort of `signal` closes it.
 */
export async function openDeleted(session, { noun, groups, hrefOf }, signal) {
  const close = button("Close", { onclick: () => dialog.close("") });
  const parts = groups.map((group) => deletedGroup(session, group, { noun, hrefOf }));
  const title = h("h2", { id: "deleted-title" }, `Deleted ${noun}s`);
  const about = h("p", { class: "hint" }, "Deleted in the last 400 days. The history of each has its last version, which those who may change it can restore.");
  const dialog = h("dialog", { class: "wide", "aria-labelledby": "deleted-title" }, h("div", { class: "stack" }, title, about, parts, h("div", { class: "actions" }, close)));
  signal.addEventListener("abort", () => dialog.close("left"));
  const result = await openDialog(dialog);
  return { isKept: result === "kept" || result === "left" };
}

/** The list of a group, which is read page by page. */
function deletedGroup(session, { title, path, args }, { noun, hrefOf }) {
  const rows = h("ul", { class: "moments", "aria-label": title ?? `Deleted ${noun}s` });
  const status = h("p", { class: "hint", role: "status" }, "Reading…");
  const more = button("Show earlier ones", { hidden: true, onclick: load });
  let next;

  async function load() {
    more.disabled = true;
    try {
      const response = await session.request(`${path}?limit=${AT_ONCE}${next === undefined ? "" : `&cursor=${encodeURIComponent(next)}`}`);
      const page = await response.json();
      const drawn = page.items.map((item) => row(item, { href: hrefOf([item.id, ...args]), level: title ? "h4" : "h3" }));
      rows.append(...drawn);
      next = page.next;
      more.hidden = next === undefined;
      more.textContent = "Show earlier ones";
      status.textContent = rows.childElementCount === 0 ? "Nothing was deleted." : `${next === undefined ? "" : "More than "}${counted(rows.childElementCount, noun)}`;
      // The button that had the focus is gone.
      if (more.hidden && rows.childElementCount > drawn.length) drawn[0]?.querySelector("a").focus();
    } catch (error) {
      status.textContent = errorText(error);
      more.hidden = false;
      more.textContent = "Try again";
    }
    more.disabled = false;
  }

  load();
  return h("section", { class: "stack tight", "aria-label": title }, title && h("h3", {}, title), status, rows, more);
}

function row({ id, name = id, at, by }, { href, level }) {
  return h(
    "li",
    { class: "moment" },
    h("div", { class: "moment-head" }, h(level, { dir: "auto" }, name)),
    h("p", { class: "hint" }, "Deleted by ", h("bdi", { title: by.clientId }, by.name ?? by.clientId), ", ", h("time", { datetime: at }, timeText(at))),
    h("a", { class: "button", href, "aria-label": `History of ${name}` }, icon("clock"), "History"),
  );
}
