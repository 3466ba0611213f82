/**
 * The form of a webhook: creating one, and changing one. It can be tried with a ping before it is saved.
 */

import { TillgateError } from "../../js/src/browser.js";
import { h, notify } from "../dom.js";
import { edit } from "../editor.js";
import { pingCheck } from "./ping-check.js";
import { showSharedKey } from "./webhook-actions.js";
import { webhookFields } from "./webhook-fields.js";
import { explain, webhookText } from "./wording.js";

/** A new webhook, as the form shows it first. */
const newWebhook = () => ({ name: "", callbackUrl: "", eventTypes: ["*"], authentication: { type: "BEARER" }, hasSharedKey: false, enabled: true });

/** Creates a webhook. */
export async function createWebhook(desk) {
  const fields = webhookFields(desk, newWebhook(), { isNew: true });
  let made;
  const save = async (webhook) => {
    fields.check();
    made = await desk.host.create(webhook);
  };
  const isSaved = await editFields(desk, { title: "New webhook", fields, save, latest: async () => undefined });
  if (!isSaved) return;
  desk.reread();
  if (made.sharedKey !== undefined) await showSharedKey(made.name, made.sharedKey);
}

/** Changes a webhook. */
export async function editWebhook(desk, id) {
  let read;
  try {
    read = await desk.host.webhook(id);
  } catch (error) {
    return notify(explain(error));
  }
  const fields = webhookFields(desk, read.body, { isNew: false });
  let saved;
  const save = async (webhook, version) => {
    fields.check();
    saved = await desk.host.replace(id, webhook, required(version));
  };
  const isSaved = await editFields(desk, { title: `Edit ${read.body.name}`, fields, save, etag: read.etag, id, latest: () => desk.host.webhook(id).catch(ignoreNotFound) });
  desk.reread();
  if (isSaved && saved.sharedKey !== undefined) await showSharedKey(saved.name, saved.sharedKey);
}

/** Opens the form with a ping below it. */
function editFields(desk, { fields, id, ...rest }) {
  const ping = pingCheck(desk, { fields, id });
  const describe = (webhook) => webhookText({ hasSharedKey: fields.hasSharedKey(), ...webhook });
  return edit({ ...rest, fields: { ...fields, element: h("div", { class: "stack" }, fields.element, ping) }, describe, wide: true, saved: "Saved.", explain });
}

/** Someone has deleted the webhook, so there is no version to replace. */
function required(version) {
  if (version !== undefined) return version;
  throw new TillgateError({ code: "not_found", message: "the webhook does not exist" });
}

const ignoreNotFound = (error) => {
  if (error.code !== "not_found") throw error;
};
