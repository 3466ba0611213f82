/**
 * The question before a shared key is replaced: the lifetime of the old one.
 */

import { button, choice, h, openDialog } from "../shared/dom.js";

const AT_ONCE = "0s";

/** The lifetimes of the old key, as the host reads them, and in words. */
const OVERLAPS = [
  [AT_ONCE, "Nothing"],
  ["1h", "1 hour"],
  ["24h", "24 hours"],
  ["7d", "7 days"],
];

const HINT_AT_ONCE = "Deliveries are signed with the new key at once. Until the receiver knows it, it will reject them.";
const HINT_LATER =
  "Give the receiver the new key within that time. One that verifies Standard Webhooks, or has both keys, accepts every delivery meanwhile. " +
  "Headers with one signature, such as X-Service-Signature, are signed with the old key until it ends.";

/** Asks whether to replace the key of a webhook; resolves with the lifetime of the old one, or false for no. */
export async function askOverlap({ name, previousSharedKeyEndsAt }) {
  let overlap = "24h";
  const hint = h("p", { id: "rotation-detail" });
  const show = () => (hint.textContent = overlap === AT_ONCE ? HINT_AT_ONCE : HINT_LATER);
  const overlaps = choice("Old key keeps working for", OVERLAPS, overlap, (chosen) => ((overlap = chosen), show()));
  show();
  const dialog = h(
    "dialog",
    { class: "small", "aria-labelledby": "rotation-title", "aria-describedby": "rotation-detail" },
    h("h2", { id: "rotation-title" }, `Replace the shared key of ${name}?`),
    previousSharedKeyEndsAt && h("p", {}, "An earlier key still works. It ends at once."),
    h("div", { class: "rotation-overlap" }, overlaps),
    hint,
    h(
      "div",
      { class: "actions" },
      button("Cancel", { class: "plain", autofocus: true, onclick: () => dialog.close("") }),
      button("Replace", { class: "danger", onclick: () => dialog.close("yes") }),
    ),
  );
  return (await openDialog(dialog)) === "yes" && overlap;
}
