/**
 * What can be done with a webhook without its form: a ping, a new shared key, deleting it.
 */

import { copy } from "../shared/copy.js";
import { button, confirmed, field, h, notify, openDialog } from "../shared/dom.js";
import { NOT_DELETED } from "../shared/messages.js";
import { explain } from "./wording.js";

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
export async function rotate(desk, { id, name, hasSharedKey }) {
  const [question, action] = hasSharedKey ? [`Replace the shared key of ${name}?`, "Replace"] : [`Generate a shared key for ${name}?`, "Generate"];
  const detail = hasSharedKey
    ? "Deliveries are signed with the new key at once. Until the receiver knows it, it will reject them."
    : "Deliveries are then signed, so that the receiver can tell that they are not forged.";
  if (!(await confirmed(question, detail, action))) return;
  try {
    await showSharedKey(name, await desk.host.rotateSharedKey(id));
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

/** Shows a shared key, which the host does not tell again. Closing it by accident needs more than a key press. */
export function showSharedKey(name, sharedKey) {
  const key = h("input", { value: sharedKey, readonly: true, class: "secret", spellcheck: "false", autocomplete: "off", onfocus: () => key.select() });
  const done = button("Done", { class: "primary", onclick: () => dialog.close("") });
  const copyKey = button("Copy", { image: "copy", autofocus: true, onclick: async () => (await copy(key.value, "The shared key")) && done.focus() });
  const dialog = h(
    "dialog",
    { class: "small", "aria-labelledby": "secret-title", "aria-describedby": "secret-detail", oncancel: (event) => event.preventDefault() },
    h("h2", { id: "secret-title" }, `The shared key of ${name}`),
    h("p", { id: "secret-detail" }, "Give it to the receiver and keep it safe. It is shown only now; later it can only be replaced."),
    h("div", { class: "stack" }, field("Shared key", key), h("div", { class: "actions" }, copyKey, done)),
  );
  return openDialog(dialog);
}
