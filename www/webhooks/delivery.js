/**
 * One delivery: its attempts with what was answered, why it failed, when it is tried again, and what is sent. New attempts
 * appear while it is open.
 */

import { copy } from "../shared/copy.js";
import { arrange, button, h, keepFocus, notify } from "../shared/dom.js";
import { icon } from "../shared/icon.js";
import { durationText, recentText, secondText, timeText } from "../shared/time.js";
import { deliveriesHref, deliveryHref, signatureHref } from "./address.js";
import { attemptLine } from "./attempt.js";
import { curlOf } from "./curl.js";
import { isUnsettled } from "./deliveries.js";
import { dataText, readEnvelope } from "./event-data.js";
import { STATUSES, explain, failureText } from "./wording.js";

const REPLAY_OFF = "Its webhook is switched off or was deleted. Switch it on first.";

/** A settled delivery changes only when it is sent again, which is looked for less often. */
const SETTLED_MS = 10_000;

/** The part of the view. */
export function deliveryPage(desk) {
  const back = h("a", { class: "button plain back" }, "All deliveries");
  const title = h("h2", { class: "unit-title", tabindex: "-1", "data-start": true });
  const state = h("p", { class: "delivery-state", role: "status" });
  const next = h("p", { class: "hint" });
  const facts = h("dl", { class: "facts" });
  const actions = h("div", { class: "inline" });
  const attempts = h("ol", { class: "attempts" });
  const none = h("p", { class: "hint" }, "It was not sent yet.");
  const sent = h("div", { class: "stack" });
  const message = h("div", { class: "empty-state", hidden: true });
  const head = h("div", { class: "card stack" }, h("div", { class: "stack tight" }, state, next), facts, actions);
  const attemptCard = h("section", { class: "card stack", "aria-label": "Attempts" }, h("h3", {}, "Attempts"), attempts, none);
  const sentCard = h("section", { class: "card stack", "aria-label": "What is sent" }, h("h3", {}, "What is sent"), sent);
  const body = h("div", { class: "stack" }, head, attemptCard, sentCard);
  const element = h("div", { class: "stack delivery" }, h("div", { class: "stack tight" }, back, title), message, body);
  let id;
  let delivery;
  let drawn = {};
  let lines = new Map();
  let readAt;

  /** Draws what has changed: an answer that was opened stays open. */
  function draw() {
    message.hidden = true;
    body.hidden = false;
    title.textContent = delivery.eventType;
    drawState();
    once("facts", [delivery, desk.name(delivery.webhookId)], () => facts.replaceChildren(...factsOf(desk, delivery)));
    once("actions", [delivery.request, mayReplay()], () => keepFocus(actions, () => actions.replaceChildren(...actionsOf())));
    once("sent", delivery.request, () => sent.replaceChildren(...sentParts(delivery.request)));
    drawAttempts();
  }

  /** An attempt never changes, but of a delivery that is sent again and again the oldest ones are forgotten. */
  function drawAttempts() {
    const next = new Map(delivery.attempts.map((attempt, at) => [`${at} ${attempt.at}`, () => attemptLine(attempt, at + 1)]));
    lines = new Map([...next].map(([key, make]) => [key, lines.get(key) ?? make()]));
    arrange(attempts, [...lines.values()]);
    none.hidden = lines.size > 0;
  }

  function drawState() {
    const { status, nextAttemptAt, lastError } = delivery;
    const { word, image, tone, sentence } = STATUSES[status];
    const why = status === "FAILED" && lastError ? failureText(lastAttemptOr(delivery)) : "";
    once("state", [status, why], () => {
      state.dataset.tone = tone ?? "";
      state.replaceChildren(h("span", { class: "dot" }, icon(image)), h("span", {}, h("b", {}, `${word}. `), [why, sentence].filter(Boolean).join(" ")));
    });
    next.hidden = status !== "RETRYING" || nextAttemptAt === undefined;
    if (!next.hidden) next.textContent = nextText(nextAttemptAt);
  }

  /** Runs `make` when what it depends on has changed. */
  function once(name, on, make) {
    const text = JSON.stringify(on);
    if (drawn[name] === text) return;
    drawn[name] = text;
    make();
  }

  const mayReplay = () => desk.may("exe.delivery.replay");

  function actionsOf() {
    const curl = delivery.request && button("Copy as curl", { image: "copy", onclick: () => copy(curlOf(delivery.request), "The command") });
    const check = delivery.request && h("a", { class: "button", href: signatureHref(delivery.id) }, icon("key"), "Check its signature");
    return [mayReplay() && button("Send again", { image: "retry", onclick: () => replay() }), curl, check].filter(Boolean);
  }

  async function replay() {
    try {
      const made = await desk.host.replay(id);
      notify("It is being sent again.");
      readAt = 0;
      if (made.id === id) await desk.reread();
      else desk.go(deliveryHref(made.id));
    } catch (error) {
      notify(explain(error, REPLAY_OFF));
    }
  }

  function fail(heading, sentence) {
    message.replaceChildren(icon("alert"), h("h2", {}, heading), h("p", {}, sentence));
    message.hidden = false;
    body.hidden = true;
  }

  return {
    element,
    needsDeliveries: true,
    title: () => "A delivery",
    open(place) {
      if (place.id === id) return;
      id = place.id;
      delivery = readAt = undefined;
      drawn = {};
      lines = new Map();
      title.textContent = "A delivery";
      back.href = deliveriesHref();
      attempts.replaceChildren();
      message.hidden = body.hidden = true;
    },
    async read() {
      const asked = id;
      const isDue = delivery === undefined || isUnsettled(delivery) || Date.now() - readAt >= SETTLED_MS;
      if (!isDue) return;
      try {
        const answer = await desk.host.delivery(asked);
        if (asked !== id) return;
        delivery = answer;
        readAt = Date.now();
        draw();
      } catch (error) {
        if (error.code !== "not_found" || asked !== id) throw error;
        fail("There is no such delivery", "Deliveries are kept for 30 days.");
      }
    },
    fail: (sentence) => delivery === undefined && fail("This cannot be shown", sentence),
  };
}

/** The last attempt, which knows its status; deliveries that were given up without one have an error only. */
const lastAttemptOr = ({ attempts, lastError }) => attempts.findLast(({ error }) => error?.kind === lastError.kind) ?? { error: lastError };

function nextText(at) {
  const ms = Date.parse(at) - Date.now();
  return ms > 0 ? `Next attempt in ${durationText(ms)}, at ${secondText(at)}.` : `The next attempt was due at ${recentText(at)}.`;
}

function factsOf(desk, { id, webhookId, eventId, createdAt, request }) {
  const rows = [
    ["Webhook", h("a", { href: deliveriesHref({ webhookId }) }, desk.name(webhookId))],
    request && ["Address", h("span", { class: "id" }, request.url)],
    ["Accepted", h("time", { datetime: createdAt, title: createdAt }, timeText(createdAt))],
    ["Event", h("span", { class: "id" }, eventId)],
    ["Delivery", h("span", { class: "id" }, id)],
  ];
  return rows.filter(Boolean).flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]);
}

/** What is sent: the decoded data first, because it is what people look for. */
function sentParts(request) {
  if (request === undefined) return [h("p", { class: "hint" }, "It is not kept any more.")];
  const envelope = readEnvelope(request.body);
  const data = envelope && dataText(envelope);
  const part = (name, text, isOpen) => h("details", { class: "exchange", open: isOpen }, h("summary", {}, name), h("pre", { tabindex: "0", "aria-label": name }, text));
  const headers = Object.entries(request.headers).map(([name, value]) => `${name}: ${value}`);
  return [
    data !== undefined && part("The event’s data, decoded", data, true),
    part("The headers", [`${request.method} ${request.url}`, ...headers].join("\n")),
    part("The body as it is sent", request.body),
  ].filter(Boolean);
}
