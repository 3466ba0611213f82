/**
 * One delivery: its attempts with their answers, why it failed, when it is tried again, and what is sent. New attempts appear
 * while it is open.
 */

import { copy } from "../shared/copy.js";
import { curlOf } from "../shared/curl.js";
import { arrange, button, h, keepFocus, notify } from "../shared/dom.js";
import { icon } from "../shared/icon.js";
import { settled } from "../shared/lost.js";
import { durationText, recentText, timeText } from "../shared/time.js";
import { deliveriesHref, deliveryHref, signatureHref } from "./address.js";
import { attemptLine } from "./attempt.js";
import { isUnsettled } from "./deliveries.js";
import { dataText, readEnvelope } from "./event-data.js";
import { STATUSES, eventTypeText, explain, failureText, waitText } from "./wording.js";

const REPLAY_OFF = "Its webhook is switched off or was deleted. Switch it on first.";

/** A settled delivery changes only if it is sent again, so it is read less often. */
const SETTLED_MS = 10_000;

export const deliveryPage = (desk) => new DeliveryPage(desk);

class DeliveryPage {
  needsDeliveries = true;
  #desk;
  #id;
  #delivery;
  #readAt;
  /** The drawn content, by name, and the lines of the attempts. */
  #drawn = {};
  #lines = new Map();
  #back = h("a", { class: "button plain back" }, "All deliveries");
  #title = h("h2", { class: "unit-title", tabindex: "-1", "data-start": true });
  #state = h("p", { class: "delivery-state", role: "status" });
  #next = h("p", { class: "hint" });
  #facts = h("dl", { class: "facts" });
  #actions = h("div", { class: "inline" });
  #attempts = h("ol", { class: "attempts" });
  #none = h("p", { class: "hint" }, "Not sent yet.");
  #sent = h("div", { class: "stack" });
  #message = h("div", { class: "empty-state", hidden: true });
  #body = h(
    "div",
    { class: "stack" },
    h("div", { class: "card stack" }, h("div", { class: "stack tight" }, this.#state, this.#next), this.#facts, this.#actions),
    h("section", { class: "card stack", "aria-label": "Attempts" }, h("h3", {}, "Attempts"), this.#attempts, this.#none),
    h("section", { class: "card stack", "aria-label": "What is sent" }, h("h3", {}, "What is sent"), this.#sent),
  );
  element = h("div", { class: "stack delivery" }, h("div", { class: "stack tight" }, this.#back, this.#title), this.#message, this.#body);

  constructor(desk) {
    this.#desk = desk;
  }

  title() {
    return "A delivery";
  }

  open({ id }) {
    if (id === this.#id) return;
    this.#id = id;
    this.#delivery = this.#readAt = undefined;
    this.#drawn = {};
    this.#lines = new Map();
    this.#title.textContent = "A delivery";
    this.#back.href = deliveriesHref();
    this.#attempts.replaceChildren();
    this.#message.hidden = this.#body.hidden = true;
  }

  async read() {
    const asked = this.#id;
    const isDue = this.#delivery === undefined || isUnsettled(this.#delivery) || Date.now() - this.#readAt >= SETTLED_MS;
    if (!isDue) return;
    try {
      const answer = await this.#desk.host.delivery(asked);
      if (asked !== this.#id) return;
      this.#delivery = answer;
      this.#readAt = Date.now();
      this.#draw();
    } catch (error) {
      if (error.status !== 404 || asked !== this.#id) throw error;
      this.#refuse("There is no such delivery", "Deliveries are kept for 30 days.");
    }
  }

  fail(sentence) {
    if (this.#delivery === undefined) this.#refuse("This cannot be shown", sentence);
  }

  /** Draws changes: an opened answer stays open. */
  #draw() {
    const { eventType, webhookId, request, attempts } = this.#delivery;
    const isAnswered = attempts.some(({ status }) => status !== undefined);
    const actions = this.#actions;
    this.#message.hidden = true;
    this.#body.hidden = false;
    this.#title.textContent = eventTypeText(eventType);
    this.#drawState();
    this.#once("facts", [this.#delivery, this.#desk.name(webhookId)], () => this.#facts.replaceChildren(...factsOf(this.#desk, this.#delivery)));
    this.#once("actions", [request, this.#mayReplay()], () => keepFocus(actions, () => actions.replaceChildren(...this.#actionsOf())));
    this.#once("sent", [request, isAnswered], () => this.#sent.replaceChildren(...sentParts(request, isAnswered)));
    this.#drawAttempts();
  }

  /** An attempt never changes, but if a delivery is sent again often, its oldest attempts are forgotten. */
  #drawAttempts() {
    const next = new Map(this.#delivery.attempts.map((attempt, at) => [`${at} ${attempt.at}`, () => attemptLine(attempt, at + 1)]));
    this.#lines = new Map([...next].map(([key, make]) => [key, this.#lines.get(key) ?? make()]));
    arrange(this.#attempts, [...this.#lines.values()]);
    this.#none.hidden = this.#lines.size > 0;
  }

  #drawState() {
    const { status, lastError, webhookId } = this.#delivery;
    const { word, image, tone, sentence } = STATUSES[status];
    const why = status === "FAILED" && lastError ? failureText(lastAttemptOr(this.#delivery)) : "";
    this.#once("state", [status, why], () => {
      this.#state.dataset.tone = tone ?? "";
      this.#state.replaceChildren(h("span", { class: "dot" }, icon(image)), h("span", {}, h("b", {}, `${word}. `), [why, sentence].filter(Boolean).join(" ")));
    });
    this.#next.textContent = nextText(this.#delivery, this.#desk.hold(webhookId));
    this.#next.hidden = this.#next.textContent === "";
  }

  /** Runs `make` if its input has changed. */
  #once(name, on, make) {
    const text = JSON.stringify(on);
    if (this.#drawn[name] === text) return;
    this.#drawn[name] = text;
    make();
  }

  #mayReplay() {
    return this.#desk.may("exe.delivery.replay");
  }

  #actionsOf() {
    const { id, request } = this.#delivery;
    const curl = request && button("Copy as curl", { image: "copy", onclick: () => copy(curlOf(request), "The command") });
    const check = request && h("a", { class: "button", href: signatureHref(id) }, icon("key"), "Check its signature");
    return [this.#mayReplay() && button("Send again", { image: "retry", onclick: () => this.#replay() }), curl, check].filter(Boolean);
  }

  async #replay() {
    try {
      const advice = "If it is, there is another attempt. Its receiver may get it twice, with the same event id.";
      const { answer } = await settled(() => this.#desk.host.replay(this.#id), { whether: "it is being sent again", advice });
      this.#readAt = 0;
      if (answer === undefined) return await this.#desk.reread();
      notify("It is being sent again.");
      if (answer.id === this.#id) await this.#desk.reread();
      else this.#desk.go(deliveryHref(answer.id));
    } catch (error) {
      notify(explain(error, REPLAY_OFF));
    }
  }

  #refuse(heading, sentence) {
    this.#message.replaceChildren(icon("alert"), h("h2", {}, heading), h("p", {}, sentence));
    this.#message.hidden = false;
    this.#body.hidden = true;
  }
}

/** The last attempt, which knows its status; deliveries given up without one only have an error. */
const lastAttemptOr = ({ attempts, lastError }) => attempts.findLast(({ error }) => error?.kind === lastError.kind) ?? { error: lastError };

/** The time of the next attempt, or what it waits for if its status does not say so. */
function nextText(delivery, hold) {
  const { status, nextAttemptAt: at } = delivery;
  if (status === "HELD") return "";
  if (status !== "RETRYING" || hold.isOff || hold.pausedUntil !== undefined || at === undefined) return waitText(delivery, hold);
  const ms = Date.parse(at) - Date.now();
  return ms > 0 ? `Next attempt in ${durationText(ms)}, at ${recentText(at)}.` : `The next attempt was due at ${recentText(at)}.`;
}

function factsOf(desk, { id, webhookId, eventId, eventType, createdAt, request }) {
  const rows = [
    ["Webhook", h("a", { href: deliveriesHref({ webhookId }) }, desk.name(webhookId))],
    request && ["Address", h("span", { class: "id" }, request.url)],
    ["Accepted", h("time", { datetime: createdAt, title: createdAt }, timeText(createdAt))],
    ["Event type", h("span", { class: "id" }, eventType)],
    ["Event", h("a", { class: "id", href: deliveriesHref({ eventId }) }, eventId)],
    ["Delivery", h("span", { class: "id" }, id)],
  ];
  return rows.filter(Boolean).flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]);
}

const UNSIGNED = "Its signatures appear once the endpoint has answered: until then, anyone who has one could impersonate this service.";

/** What is sent: the decoded data first, because people look for it. */
function sentParts(request, isAnswered) {
  if (request === undefined) return [h("p", { class: "hint" }, "It is no longer stored.")];
  const envelope = readEnvelope(request.body);
  const data = envelope && dataText(envelope);
  const part = (name, text, isOpen) => h("details", { class: "exchange", open: isOpen }, h("summary", {}, name), h("pre", { tabindex: "0", "aria-label": name }, text));
  const headers = Object.entries(request.headers).map(([name, value]) => `${name}: ${value}`);
  return [
    data !== undefined && part("The event’s data, decoded", data, true),
    part("The headers", [`${request.method} ${request.url}`, ...headers].join("\n")),
    part("The body as it is sent", request.body),
    !isAnswered && h("p", { class: "hint" }, UNSIGNED),
  ].filter(Boolean);
}
