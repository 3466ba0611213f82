/**
 * The form that creates or changes a webhook. It can be tried with a ping before it is saved.
 */

import { TillgateError } from "../../js/src/index.js";
import { changeList } from "../shared/difference.js";
import { h, notify } from "../shared/dom.js";
import { editWithDraft } from "../shared/draft.js";
import { edit } from "../shared/editor.js";
import { isolated } from "../shared/locale.js";
import { tell } from "../shared/lost.js";
import { storedBy } from "../shared/reason.js";
import { pingCheck } from "./ping-check.js";
import { showSharedKey } from "./webhook-actions.js";
import { hasSaved, webhookChanges, webhookReview } from "./webhook-changes.js";
import { webhookFields } from "./webhook-fields.js";
import { explain } from "./wording.js";

/** The key of a webhook's draft; without an id, that of a new one. */
export const draftKey = (id = "") => `webhook:${id}`;

const KEY_LOST = "It was only in the host’s answer, which was lost, and deliveries are signed with it. Choose “New key” to replace it.";

export const createWebhook = (desk) =>
  openEditor(desk, { title: "New webhook", write: (webhook) => desk.host.create(webhook), latest: async () => undefined, advice: adviceOnNew });

/** The host assigns the ids of webhooks, so a second attempt would create another one. */
const adviceOnNew = ({ sharedKey }) =>
  "Close this and look for it in the list, which is read again. What you entered is kept as a draft, to be saved again if it is not there." +
  (sharedKey === "generate" ? " If it is there, its shared key was lost with the answer: choose “New key”." : "");

export async function editWebhook(desk, id) {
  let read;
  try {
    read = await desk.host.webhook(id);
  } catch (error) {
    return notify(explain(error));
  }
  const write = (webhook, version) => desk.host.replace(id, webhook, required(version));
  const latest = () => desk.host.webhook(id).catch(ignoreNotFound);
  await openEditor(desk, { title: `Edit ${isolated(read.body.name)}`, id, base: read.body, etag: read.etag, write, latest, isSaved: hasSaved });
}

/** Opens the form with a ping below it. `write` saves a webhook over a version and returns it. */
async function openEditor(desk, { title, id, base, etag, write, ...versions }) {
  const formOf = (draft) => webhookFields(desk, base, draft);
  let sent;
  let made;
  let saved;
  const open = ({ fields, ...form }) =>
    edit({
      ...form,
      title,
      etag,
      base,
      ...versions,
      follow: etag && desk.follow,
      lastBy: async (theirs) => (await storedBy(theirs)) ?? (theirs?.disabledReason && "The host"),
      explain,
      wide: true,
      saved: "Saved.",
      fields: { ...fields, element: h("div", { class: "stack" }, fields.element, pingCheck(desk, { fields, id })) },
      review(webhook, theirs) {
        fields.check();
        return webhookReview(theirs ?? base, webhook);
      },
      compare: (one, other) => changeList(webhookChanges(one, other)),
      async save(webhook, version) {
        made = fields.madeKey();
        sent = webhook;
        saved = await write({ ...webhook, ...(made && { sharedKey: made.sharedKey }) }, version);
      },
    });
  const isSaved = await editWithDraft(desk.memory, draftKey(id), formOf, open);
  desk.reread();
  const key = { ...saved, ...made };
  if (isSaved && saved === undefined && made === undefined && sent.sharedKey === "generate") await tell(`The new shared key of ${sent.name} is not known`, KEY_LOST);
  else if (isSaved && key.sharedKey !== undefined) await showSharedKey(sent.name, key);
}

/** Another user may have deleted the webhook: then there is no version to replace. */
function required(version) {
  if (version !== undefined) return version;
  throw new TillgateError({ code: "webhook_not_found", status: 404, message: "the webhook does not exist" });
}

const ignoreNotFound = (error) => {
  if (error.status !== 404) throw error;
};
