/**
 * The actions on a webhook without its form: a ping, a new shared key, deleting it.
 */

import { button, confirmed, h, notify, openDialog } from "../shared/dom.js";
import { isolated } from "../shared/locale.js";
import { settled, tell } from "../shared/lost.js";
import { removeAfterAsking } from "../shared/remove.js";
import { askOverlap } from "./key-rotation.js";
import { sharedKeyFields } from "./shared-key.js";
import { explain, oldKeyText } from "./wording.js";

const KEY_LOST =
  "It was only in the host’s answer, which was lost, and deliveries are signed with it. Choose “New key” again; if the key before it still " +
  "works, that one then ends at once.";
const KEY_UNKNOWN = "This cannot be checked right now. If the key was replaced, it was lost with the answer: choose “New key” again.";

const OFF = "It is switched off. Switch it on first.";

/** Sends a ping as an ordinary delivery; `onsent` gets its id if the user may see it. */
export async function pingNow(desk, { id, name: given }, onsent) {
  const name = isolated(given);
  try {
    const advice = "If it was, it is among the deliveries.";
    const { answer } = await settled(() => desk.host.ping(id), { whether: `a ping to ${name} was sent`, advice });
    if (answer === undefined) return desk.reread();
    notify(`A ping to ${name} is on its way.`);
    if (desk.may("exe.delivery.read")) onsent(answer.deliveryId);
  } catch (error) {
    notify(explain(error, OFF));
  }
}

/** Ends the pause of a webhook at once. */
export async function resume(desk, { id, name }) {
  try {
    const advice = "Choose “Resume now” again: that does no harm.";
    const { isDone } = await settled(() => desk.host.resume(id), { whether: `${name} was resumed`, advice });
    if (isDone) notify(`${name} gets deliveries again. Those that waited are on their way.`);
  } catch (error) {
    notify(explain(error, OFF));
  }
  desk.reread();
}

/** Replaces the shared key of a webhook with a generated one, and shows it once. */
export async function rotate(desk, webhook) {
  const { id, hasSharedKey } = webhook;
  const name = isolated(webhook.name);
  const detail = "Deliveries are then signed, so that the receiver can tell that they are not forged.";
  const overlap = hasSharedKey ? await askOverlap({ ...webhook, name }) : (await confirmed(`Generate a shared key for ${name}?`, detail, "Generate")) && "0s";
  if (!overlap) return;
  try {
    const { etag } = await desk.host.webhook(id);
    const look = async () => (await desk.host.webhook(id)).etag !== etag;
    const [whether, no] = [`${name} got a new shared key`, `${name} did not get a new shared key.`];
    const write = () => desk.host.rotateSharedKey(id, overlap);
    const { answer, isDone } = await settled(write, { whether, yes: `${whether}.`, no, look, advice: KEY_UNKNOWN });
    if (answer !== undefined) await showSharedKey(name, answer);
    else if (isDone) await tell(`The new shared key of ${name} is not known`, KEY_LOST);
  } catch (error) {
    notify(explain(error));
  }
  desk.reread();
}

/** Deletes a webhook after asking. */
export async function remove(desk, { id, name }) {
  const detail = "Events not yet delivered to it will not be delivered.";
  const [read, removeIt] = [() => desk.host.webhook(id), (etag) => desk.host.remove(id, etag)];
  await removeAfterAsking({ name, detail, read, remove: removeIt, explain });
  desk.reread();
}

/**
 * Shows a shared key, plain and as libraries take it. The host does not tell it again. Closing it by accident takes more than
 * a key press.
 */
export function showSharedKey(name, key) {
  const done = button("Done", { class: "primary", onclick: () => dialog.close("") });
  const { fields, copyKey, copySecret } = sharedKeyFields(key, { oncopy: () => done.focus() });
  const dialog = h(
    "dialog",
    { class: "small", "data-once": true, "aria-labelledby": "secret-title", "aria-describedby": "secret-detail", oncancel: (event) => event.preventDefault() },
    h("h2", { id: "secret-title" }, `The shared key of ${isolated(name)}`),
    h("p", { id: "secret-detail" }, "Give it to the receiver and keep it safe. It is shown only now; later it can only be replaced."),
    key.previousSharedKeyEndsAt && h("p", {}, oldKeyText(key.previousSharedKeyEndsAt)),
    h("div", { class: "stack" }, fields, h("div", { class: "actions" }, copyKey, copySecret, done)),
  );
  return openDialog(dialog);
}
