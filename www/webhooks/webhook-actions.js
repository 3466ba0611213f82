/**
 * What can be done with a webhook without its form: a ping, a new shared key, deleting it.
 */

import { button, confirmed, h, notify, openDialog } from "../shared/dom.js";
import { NOT_DELETED } from "../shared/messages.js";
import { askOverlap } from "./key-rotation.js";
import { sharedKeyFields } from "./shared-key.js";
import { explain, oldKeyText } from "./wording.js";

const OFF = "It is switched off. Switch it on first.";

/** Sends a ping as an ordinary delivery; `onsent` gets the id of that if the user may see it. */
export async function pingNow(desk, { id, name }, onsent) {
  try {
    const { deliveryId } = await desk.host.ping(id);
    notify(`A ping to ${name} is on its way.`);
    if (desk.may("exe.delivery.read")) onsent(deliveryId);
  } catch (error) {
    notify(explain(error, OFF));
  }
}

/** Replaces the shared key of a webhook by a generated one, and shows it once. */
export async function rotate(desk, webhook) {
  const { id, name, hasSharedKey } = webhook;
  const detail = "Deliveries are then signed, so that the receiver can tell that they are not forged.";
  const overlap = hasSharedKey ? await askOverlap(webhook) : (await confirmed(`Generate a shared key for ${name}?`, detail, "Generate")) && "0s";
  if (!overlap) return;
  try {
    await showSharedKey(name, await desk.host.rotateSharedKey(id, overlap));
  } catch (error) {
    notify(explain(error));
  }
  desk.reread();
}

/** Deletes a webhook after asking. */
export async function remove(desk, { id, name }) {
  try {
    const { etag } = await desk.host.webhook(id);
    const detail = "What has not been delivered to it yet will not be delivered.";
    if (!(await confirmed(`Delete ${name}?`, detail, "Delete"))) return;
    await desk.host.remove(id, etag);
    notify(`${name} was deleted.`);
  } catch (error) {
    notify(error.code === "outdated" ? NOT_DELETED : explain(error));
  }
  desk.reread();
}

/**
 * Shows a shared key, as such and as libraries take it. The host does not tell it again. Closing it by accident needs more
 * than a key press.
 */
export function showSharedKey(name, key) {
  const done = button("Done", { class: "primary", onclick: () => dialog.close("") });
  const { fields, copyKey, copySecret } = sharedKeyFields(key, { oncopy: () => done.focus() });
  const dialog = h(
    "dialog",
    { class: "small", "aria-labelledby": "secret-title", "aria-describedby": "secret-detail", oncancel: (event) => event.preventDefault() },
    h("h2", { id: "secret-title" }, `The shared key of ${name}`),
    h("p", { id: "secret-detail" }, "Give it to the receiver and keep it safe. It is shown only now; later it can only be replaced."),
    key.previousSharedKeyEndsAt && h("p", {}, oldKeyText(key.previousSharedKeyEndsAt)),
    h("div", { class: "stack" }, fields, h("div", { class: "actions" }, copyKey, copySecret, done)),
  );
  return openDialog(dialog);
}
