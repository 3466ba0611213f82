/**
 * The words of the Webhooks view: what a webhook gets, its health and why a delivery failed, in the terms of the endpoint's
 * operator.
 */

import { figure } from "../shared/locale.js";
import { counted, errorText } from "../shared/messages.js";
import { recentText, timeText } from "../shared/time.js";

/** The events that the service itself publishes, with their meaning. */
export const OWN_EVENTS = new Map([
  ["entity-conditions.events.v1", "A condition changed"],
  ["projects.events.v1", "A project changed"],
  ["webhooks.events.v1", "A webhook was switched off by the service"],
  ["deliveries.events.v1", "A delivery to another webhook has failed for good"],
]);

/** The event of a ping, which is for one webhook, whatever its filter is, and the empty parts of a name. */
export const PING = "exe.events.v1";
const EMPTY_PARTS = /^(events?|public|.|v\d+)$/;

/** An event type in words: its meaning, or its name, such as “Rates changed” for `public.event.rates-changed.v1`. */
export function eventTypeText(type) {
  if (type === PING) return "A ping";
  const words = type.split(".").filter((part) => !EMPTY_PARTS.test(part)).join(" ").replaceAll("-", " ");
  return OWN_EVENTS.get(type) ?? (words.replace(/^./, (first) => first.toUpperCase()) || type);
}

/** The event type for all events. */
export const ALL = "*";

/** The statuses of deliveries, in the order of every list. */
export const STATUSES = {
  PENDING: { word: "Waiting", image: "clock", sentence: "It is about to be sent." },
  DELIVERED: { word: "Delivered", image: "check", tone: "allow", sentence: "The endpoint has it." },
  RETRYING: { word: "Trying again", image: "retry", tone: "soft", sentence: "The last attempt failed. It is tried again." },
  FAILED: { word: "Failed", image: "stop", tone: "deny", sentence: "It is not tried again by itself." },
  HELD: { word: "Held", image: "pause", sentence: "Its webhook is switched off. It is sent once that is switched on, within seven days." },
};

const PHRASES = {
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  408: "Request Timeout",
  409: "Conflict",
  410: "Gone",
  413: "Content Too Large",
  415: "Unsupported Media Type",
  422: "Unprocessable Content",
  429: "Too Many Requests",
  500: "Internal Server Error",
  502: "Bad Gateway",
  503: "Service Unavailable",
  504: "Gateway Timeout",
};

/** The status of an answer: `503 Service Unavailable`. */
export const answerText = (status) => (PHRASES[status] ? `${status} ${PHRASES[status]}` : `${status}`);

const STATUS_ADVICE = {
  401: "It did not accept how the delivery signs in.",
  403: "It did not accept how the delivery signs in.",
  404: "Is the path of the address right?",
  405: "Deliveries are sent with POST.",
  415: "Deliveries are JSON.",
};

/** Why an attempt, or a delivery, failed: `{ status?, error: { kind, message } }`. */
export function failureText({ status, error }) {
  // A list has no status, but the host's message names it.
  const answered = status ?? Number(/\b[1-5]\d\d\b/.exec(error.message ?? "")?.[0]);
  switch (error.kind) {
    case "STATUS":
      return answered ? [`The endpoint answered ${answerText(answered)}.`, STATUS_ADVICE[answered]].filter(Boolean).join(" ") : "The endpoint answered with an error.";
    case "REDIRECT":
      return "The endpoint answered with a redirect, which is never followed. Use the address that it leads to.";
    case "GONE":
      return "The endpoint answered 410 Gone, so the webhook was switched off.";
    case "DEADLINE":
      return "The endpoint did not answer in time.";
    case "UNREACHABLE":
      return "The endpoint could not be reached.";
    case "REFUSED_ADDRESS":
      return "The address leads into a private network. Nothing is sent there.";
    case "ANSWER_TOO_LARGE":
      return "The endpoint’s answer was larger than 64 KiB.";
    case "BROKEN":
      return "The connection broke before the answer was complete.";
    case "WEBHOOK_DELETED":
      return "The webhook was deleted before this was delivered.";
    case "HELD_TOO_LONG":
      return "The webhook was switched off for more than seven days.";
    case "NO_TOKEN":
      return "No token could be signed for it, so it was not sent.";
    default:
      return error.message ?? "It failed.";
  }
}

/** The host's message about a failure, if it says more than the sentence. */
export const detailText = ({ kind, message }) => (message && kind !== "STATUS" && kind !== "GONE" ? `In detail: ${message}` : "");

/** The duration of an attempt. */
export const tookText = (ms) => (ms < 1000 ? `${ms} ms` : `${figure(ms / 1000, { minimumFractionDigits: 1, maximumFractionDigits: 1 })} s`);

/** Deliveries given up without a request. */
const UNSENT = new Set(["WEBHOOK_DELETED", "HELD_TOO_LONG", "NO_TOKEN"]);

/** The last answer to a delivery, and its duration: `503, 12 ms`. Empty if nothing was sent. */
export function lastAnswerText({ lastAttempt, lastError }) {
  if (lastAttempt === undefined || UNSENT.has(lastError?.kind)) return "";
  return `${lastAttempt.status ?? "No answer"}, ${tookText(lastAttempt.durationMs)}`;
}

/** What an unfinished delivery waits for; its webhook may be switched off, or paused until a time. */
export function waitText({ status, updatedAt, nextAttemptAt }, { isOff, pausedUntil }) {
  if (status === "HELD") return `Its webhook is switched off: it is held until ${timeText(nextAttemptAt)}.`;
  if (status !== "PENDING" && status !== "RETRYING") return "";
  if (isOff) return "Its webhook is switched off, so it will be held.";
  const isLater = pausedUntil === undefined || nextAttemptAt > pausedUntil;
  const next = nextAttemptAt === undefined || !isLater ? "" : `Next at ${recentText(nextAttemptAt)}.`;
  if (pausedUntil !== undefined) return `Its webhook is paused until ${recentText(pausedUntil)}, because one attempt after another failed. ${next}`.trim();
  if (status === "RETRYING") return next;
  return nextAttemptAt > updatedAt ? `Its webhook is paused, because one attempt after another failed. ${next}` : "";
}

/** Why the service switched a webhook off; undefined if it did not. */
function disabledText({ enabled, disabledReason, disabledAt }) {
  if (enabled || disabledReason === undefined) return undefined;
  const when = disabledAt === undefined ? "" : ` on ${timeText(disabledAt)}`;
  if (disabledReason === "GONE") return `Its endpoint answered 410 Gone, so it was switched off${when}.`;
  if (disabledReason === "FAILING") return `It failed for five days, so it was switched off${when}.`;
  return `It was switched off by the service${when}.`;
}

/** The number of deliveries that wait for a webhook that takes none, as far as counted. */
function waitingText({ waiting = 0, moreWaiting = false } = {}) {
  if (waiting === 0) return "";
  return ` ${moreWaiting ? "At least " : ""}${deliveriesText(waiting)} ${waiting === 1 ? "waits" : "wait"}.`;
}

/** The start and the end of a webhook's pause. */
function pausedText({ pausedSince, pausedUntil }) {
  const until = pausedUntil === undefined ? "The next delivery is tried" : `Nothing is sent until ${recentText(pausedUntil)}`;
  return `Paused since ${recentText(pausedSince)}, because one attempt after another failed. ${until}.`;
}

/** The state of a webhook: `{ text, tone?, image }`, from its settings and its health. */
export function stateOf(webhook, health) {
  const disabled = disabledText(webhook);
  const waiting = waitingText(health);
  if (disabled !== undefined) return { tone: "deny", image: "stop", text: `${disabled} Deliveries are held for seven days.${waiting}` };
  if (!webhook.enabled) return { image: "pause", text: `Switched off. Deliveries are held for seven days.${waiting}` };
  if (health === undefined) return { image: "clock", text: "" };
  const since = health.failingSince === undefined ? "" : ` Failing since ${timeText(health.failingSince)}.${waiting}`;
  if (health.breaker === "OPEN") return { tone: "deny", image: "pause", text: `${pausedText(health)}${since}` };
  if (health.breaker === "HALF_OPEN") return { tone: "soft", image: "retry", text: `Being tried again with one delivery at a time, after it was paused at ${recentText(health.pausedSince)}.${since}` };
  if (since !== "") return { tone: "soft", image: "alert", text: since.trim() };
  if (health.delivered + health.failed === 0) return { image: "clock", text: "Nothing was sent in the last 24 hours." };
  return { tone: "allow", image: "check", text: `Works. ${countsText(health)} in 24 hours.` };
}

/** True if a webhook fails, or was switched off for failing. */
export const isFailing = (webhook, health) => ["deny", "soft"].includes(stateOf(webhook, health).tone);

/** The numbers of delivered and failed in a time. */
export const countsText = ({ delivered, failed }) => `${figure(delivered)} delivered, ${counted(failed, "failed attempt")}`;

/** A count of deliveries. */
export const deliveriesText = (count) => `${figure(count)} ${count === 1 ? "delivery" : "deliveries"}`;

/** The event types of a webhook, in words. */
export function eventTypesText(types) {
  if (types.includes(ALL)) return "all events";
  const texts = types.map(eventTypeText);
  return texts.length > 3 ? `${texts.slice(0, 2).join(", ")} and ${figure(texts.length - 2)} more` : texts.join(", ");
}

/** The credentials of deliveries. */
export const signInText = ({ authentication: { type, username = "" } }) => (type === "BASIC" ? `user name “${username}” and password` : "bearer token");

/** The credentials of deliveries, and whether they are signed. */
export function securityText(webhook) {
  const { hasSharedKey, signatureHeader } = webhook;
  const signed = signatureHeader && hasSharedKey ? `signed, as ${signatureHeader}` : hasSharedKey ? "signed with a shared key" : "not signed";
  return `${signInText(webhook)}, ${signed}`;
}

/** The end of a replaced key. */
export const oldKeyText = (endsAt) => `The old key keeps working until ${timeText(endsAt)}.`;

/** A filter of deliveries in words: `Failed deliveries of “ERP”, of the last 24 hours`. */
export function filterText({ status, webhookId, eventType, eventId, period, since, until }, nameOf) {
  const parts = [status ? `${STATUSES[status]?.word ?? status} deliveries` : "All deliveries"];
  if (webhookId) parts.push(` to ${nameOf(webhookId)}`);
  if (eventType) parts.push(` of “${eventTypeText(eventType)}”`);
  if (eventId) parts.push(`, event ${eventId}`);
  if (Object.hasOwn(PERIODS, period)) parts.push(`, ${PERIODS[period].toLowerCase()}`);
  if (since) parts.push(`, from ${timeText(since)}`);
  if (until) parts.push(`, until ${timeText(until)}`);
  return parts.join("");
}

/** The periods to choose from. */
export const PERIODS = { "1h": "The last hour", "24h": "The last 24 hours", "7d": "The last 7 days" };

/** An error of the host in words; `conflict` is the meaning of a conflict here. */
export function explain(error, conflict) {
  if (error.status === 409) return conflict ?? `${error.message.replace(/^./, (first) => first.toUpperCase())}.`;
  return errorText(error);
}

/** How many of the last events a filter lets through; there is at least one. */
export function trialText(count, total) {
  if (total === 1) return `The last event would ${count === 1 ? "" : "not "}be delivered.`;
  const which = count === 0 ? "None" : count === total ? "All" : figure(count);
  return `${which} of the last ${counted(total, "event")} would be delivered.`;
}
