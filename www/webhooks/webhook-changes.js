/**
 * The changes of saving a webhook, and their consequences. Secrets are never shown, only that they change.
 */

import { change, changeList, listChange } from "../shared/difference.js";
import { h } from "../shared/dom.js";
import { isolated } from "../shared/locale.js";
import { conditionText } from "./event-filter.js";
import { ALL, eventTypeText, signInText } from "./wording.js";

/** The difference between a stored version, if any, and a stored one or the form's: `[{ label, removed, added }]`. */
export function webhookChanges(before, after) {
  return [
    change("Name", before?.name, after.name),
    change("Address", before?.callbackUrl, after.callbackUrl),
    listChange("Events", before?.eventTypes.map(eventText) ?? [], after.eventTypes.map(eventText)),
    listChange("Only where", before?.filter?.map(conditionText) ?? [], after.filter?.map(conditionText) ?? []),
    change("Signing in", before && signInText(before), signInText(after)),
    before?.authentication.type === "BASIC" && after.authentication.password !== undefined && replaced("Password"),
    keyChange(before?.hasSharedKey === true, after),
    change("Header of the signature", before?.signatureHeader, after.signatureHeader),
    change("At most per second", before?.maxPerSecond, after.maxPerSecond),
    change("Switched on", before?.enabled, after.enabled),
  ].filter(Boolean);
}

/** True if a stored webhook equals the form, except for secrets, which are not shown. */
export function hasSaved(stored, { sharedKey, authentication: { password, ...authentication }, ...rest }) {
  const hasSharedKey = sharedKey === undefined ? stored.hasSharedKey : sharedKey !== null;
  return webhookChanges(stored, { ...rest, authentication, hasSharedKey }).length === 0;
}

/** The differences, shown before saving; a sentence if there are none. */
export function webhookReview(before, after) {
  const changes = webhookChanges(before, after);
  if (changes.length === 0) return "You have not changed anything.";
  const title = before ? "What changes" : `A new webhook: ${isolated(after.name)}`;
  const notes = notesOf(before, after).map((note) => h("p", { class: "hint" }, note));
  return h("div", { class: "stack" }, h("h3", { dir: "auto" }, title), changeList(changes), h("div", { class: "stack tight" }, notes));
}

const eventText = (type) => (type === ALL ? "all events" : `${eventTypeText(type)} (${type})`);

const replaced = (label) => ({ label, removed: ["the present one"], added: ["a new one"] });

/** The change of the shared key. A stored version says if it has one, the form what becomes of it. */
function keyChange(had, { hasSharedKey, sharedKey }) {
  const label = "Shared key";
  if (typeof sharedKey === "string") return had ? replaced(label) : { label, removed: [], added: [sharedKey === "generate" ? "a generated one" : "your own"] };
  const has = sharedKey === null ? false : (hasSharedKey ?? had);
  if (had === has) return undefined;
  return { label, removed: had ? ["the present one"] : [], added: has ? ["a new one"] : [] };
}

function notesOf(before, after) {
  const { sharedKey, enabled } = after;
  const isSigned = typeof sharedKey === "string" || (sharedKey === undefined && before?.hasSharedKey);
  return [
    typeof sharedKey === "string" && before?.hasSharedKey && "Until the receiver knows the new key, it will reject deliveries.",
    typeof sharedKey === "string" && before?.previousSharedKeyEndsAt && "The key that was replaced before stops working at once as well.",
    sharedKey === "generate" && "The key is shown once, after saving.",
    !isSigned && "Deliveries are not signed.",
    before && enabled && !before.enabled && "The deliveries that were held are sent then.",
    after.filter !== undefined && JSON.stringify(after.filter) !== JSON.stringify(before?.filter) && "Events that do not match the conditions are not delivered later either.",
    !enabled && "While it is switched off, deliveries are held for seven days.",
  ].filter(Boolean);
}
