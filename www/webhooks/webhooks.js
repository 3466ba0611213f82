/**
 * The Webhooks view: the webhooks, their deliveries, one delivery, and the signature check. Decides what is read when; the
 * parts draw what they are given.
 */

import { h } from "../shared/dom.js";
import { icon } from "../shared/icon.js";
import { Kept } from "../shared/kept.js";
import { isolated } from "../shared/locale.js";
import { polling } from "../shared/polling.js";
import { LIST, deliveriesHref, placeOf, signatureHref } from "./address.js";
import { deliveryPage } from "./delivery.js";
import { WebhooksHost } from "./host.js";
import { journal } from "./journal.js";
import { signatureCheck } from "./signature.js";
import { webhookList } from "./webhook-list.js";
import { ALL, OWN_EVENTS, explain } from "./wording.js";

/** The pause between two readings, and the lifetime of the webhooks' names. */
const PAUSE_MS = 2000;
const NAMES_MS = 10_000;

const TABS = [
  ["webhooks", "Webhooks", () => LIST],
  ["deliveries", "Deliveries", () => deliveriesHref()],
  ["signature", "Check a signature", () => signatureHref()],
];

const DELIVERY_READ = "exe.delivery.read";
const MAY_NOT = `That needs the permission ${DELIVERY_READ}, for example from the role exe.viewer.`;

/** The view; `rest` and `query` are the parts of the address that select the content. */
export const webhooks = (session, rest, query) => new WebhooksView(session, rest, query);

class WebhooksView {
  #session;
  #host;
  #kept = new Kept(({ id }) => id);
  /** The webhooks, and when they were read; undefined before that. */
  #known;
  #knownAt = -Infinity;
  #health = new Kept(({ webhookId }) => webhookId);
  #place = {};
  #parts;
  /** The part in the address. */
  #shown;
  #reading;
  #links = TABS.map(([tab, text, href]) => h("a", { href: href(), "data-tab": tab }, text));
  #message = h("div", { class: "empty-state", hidden: true });
  #body = h("div", {});
  #stops;

  constructor(session, rest, query) {
    this.#session = session;
    this.#host = new WebhooksHost(session);
    const onstate = () => session.poll(this.#reading);
    this.#reading = polling(() => this.#read(), { pauseMs: PAUSE_MS, isVisible: () => session.isVisible, onstate });
    const desk = this.#desk();
    this.#parts = { webhooks: webhookList(desk), deliveries: journal(desk), delivery: deliveryPage(desk), signature: signatureCheck(desk) };
    this.element = h(
      "div",
      { class: "webhooks" },
      h("h1", { tabindex: "-1" }, "Webhooks"),
      h("nav", { class: "tabs", "aria-label": "About webhooks" }, this.#links),
      this.#message,
      this.#body,
    );
    this.#stops = [
      session.on("state", () => session.isVisible && this.#reading.wake()),
      session.on("permissions", () => {
        this.#parts.webhooks.redraw();
        this.#reading.now();
      }),
    ];
    session.poll(this.#reading);
    this.navigate(rest, query);
  }

  /** Shared by the parts of the view: what is known, and what they can ask for. */
  #desk() {
    const view = this;
    const find = (id) => this.#kept.get(id);
    const typesOf = (known = []) => [...OWN_EVENTS.keys(), ...known.flatMap(({ eventTypes }) => eventTypes)];
    return {
      host: this.#host,
      memory: this.#session.memory,
      /** The webhooks; undefined before they are read. */
      get webhooks() {
        return view.#known;
      },
      may: (permission) => this.#session.may(permission),
      follow: (look) => this.#session.on("change", look),
      find,
      /** The health of a webhook, or undefined. */
      health: (id) => this.#health.get(id),
      /** The reasons why deliveries to a webhook wait. */
      hold: (id) => ({ isOff: find(id)?.enabled === false, pausedUntil: this.#health.get(id)?.pausedUntil }),
      name: (id) => (this.#known === undefined ? id : isolated(find(id)?.name ?? "a deleted webhook")),
      /** The known event types, except the one for all. */
      eventTypes: () => [...new Set(typesOf(this.#known))].filter((type) => type !== ALL),
      go: (href) => (location.hash === href ? this.#reread() : (location.hash = href)),
      reread: () => this.#reread(),
    };
  }

  navigate(address, query) {
    const hadFocus = this.#body.contains(document.activeElement);
    this.#place = { ...placeOf(address), query };
    const shown = this.#parts[this.#place.tab];
    this.#shown = shown;
    this.#showTabs();
    const isOther = this.#body.firstElementChild !== shown.element;
    if (isOther) this.#body.replaceChildren(shown.element);
    this.#showRefusal();
    shown.open(this.#place);
    document.title = `${shown.title(this.#place)} · Tillgate`;
    if (hadFocus && isOther) (shown.element.querySelector("[data-start]") ?? this.element.querySelector("h1")).focus();
    this.#reading.now();
  }

  /** The catalog has changed; this view shows nothing of it. */
  refresh() {}

  close() {
    this.#reading.close();
    this.#parts.webhooks.close();
    for (const stop of this.#stops) stop();
  }

  #showTabs() {
    const { tab } = this.#place;
    const current = tab === "delivery" ? "deliveries" : tab;
    for (const link of this.#links) {
      if (link.dataset.tab === current) link.setAttribute("aria-current", tab === current ? "page" : "true");
      else link.removeAttribute("aria-current");
    }
  }

  /** Says which permission is missing, instead of showing deliveries. */
  #showRefusal() {
    const isRefused = this.#shown.needsDeliveries && !this.#session.may(DELIVERY_READ);
    if (isRefused) this.#message.replaceChildren(icon("lock"), h("h2", {}, "You may not see deliveries"), h("p", {}, MAY_NOT));
    this.#message.hidden = !isRefused;
    this.#body.hidden = isRefused;
    return isRefused;
  }

  /** Reads what is shown. Throws if the host cannot be reached. */
  async #read() {
    const reader = this.#shown;
    try {
      if (performance.now() - this.#knownAt > NAMES_MS) {
        const [known, health] = await Promise.all([this.#host.webhooks(), this.#host.health()]);
        this.#health.update(health);
        this.#known = this.#kept.update(known);
        this.#knownAt = performance.now();
      }
      if (this.#showRefusal() || reader !== this.#shown) return;
      await reader.read();
      this.#session.changed();
    } catch (error) {
      if (error.isTemporary) throw error;
      if (reader === this.#shown && !this.#reading.isClosed && error.code !== "unauthenticated") reader.fail(explain(error));
    }
  }

  /** Reads everything again, including the webhooks. */
  async #reread() {
    this.#knownAt = -Infinity;
    return this.#reading.now();
  }
}
