/**
 * The Webhooks view: the webhooks, their deliveries, one delivery, and the signature check. Decides what is read when; the
 * parts draw what they are given.
 */

import { h } from "../shared/dom.js";
import { icon } from "../shared/icon.js";
import { LIST, deliveriesHref, placeOf, signatureHref } from "./address.js";
import { deliveryPage } from "./delivery.js";
import { WebhooksHost } from "./host.js";
import { journal } from "./journal.js";
import { polling } from "./polling.js";
import { signatureCheck } from "./signature.js";
import { webhookList } from "./webhook-list.js";
import { ALL, OWN_EVENTS, explain } from "./wording.js";

/** The pause between two readings, and how long the names of the webhooks are good for. */
const PAUSE_MS = 2000;
const NAMES_MS = 10_000;

const TABS = [
  ["webhooks", "Webhooks", () => LIST],
  ["deliveries", "Deliveries", () => deliveriesHref()],
  ["signature", "Check a signature", () => signatureHref()],
];

const DELIVERY_READ = "exe.delivery.read";
const MAY_NOT = `That needs the permission ${DELIVERY_READ}, for example by the role exe.viewer.`;

/** The view; `rest` is the part of the address that says what is shown. */
export function webhooks(session, rest) {
  const host = new WebhooksHost(session);
  let place = {};
  let known;
  let knownAt = -Infinity;
  let shown;

  /** What the parts of the view share: what is known, and what the others can be asked for. */
  const desk = {
    host,
    memory: session.memory,
    /** The webhooks; undefined before they are read. */
    get webhooks() {
      return known;
    },
    may: (permission) => session.may(permission),
    find: (id) => known?.find((webhook) => webhook.id === id),
    name: (id) => (known === undefined ? id : (desk.find(id)?.name ?? "a deleted webhook")),
    /** The event types that are known here, except the one that stands for all. */
    eventTypes: () => [...new Set([...Object.keys(OWN_EVENTS), ...(known ?? []).flatMap(({ eventTypes }) => eventTypes)])].filter((type) => type !== ALL),
    go: (href) => (location.hash === href ? reread() : (location.hash = href)),
    reread,
  };

  const reading = polling(read, { pauseMs: PAUSE_MS, isVisible: () => session.isVisible, onstate: () => session.poll(reading) });
  const parts = { webhooks: webhookList(desk), deliveries: journal(desk), delivery: deliveryPage(desk), signature: signatureCheck(desk) };
  const links = TABS.map(([tab, text, href]) => h("a", { href: href(), "data-tab": tab }, text));
  const message = h("div", { class: "empty-state", hidden: true });
  const body = h("div", {});
  const element = h(
    "div",
    { class: "webhooks" },
    h("h1", { tabindex: "-1" }, "Webhooks"),
    h("nav", { class: "tabs", "aria-label": "About webhooks" }, links),
    message,
    body,
  );

  /** Shows what an address names. */
  function navigate(address) {
    const hadFocus = body.contains(document.activeElement);
    place = placeOf(address);
    shown = parts[place.tab];
    showTabs();
    const isOther = body.firstElementChild !== shown.element;
    if (isOther) body.replaceChildren(shown.element);
    showRefusal();
    shown.open(place);
    document.title = `${shown.title(place)} · Tillgate`;
    if (hadFocus && isOther) (shown.element.querySelector("[data-start]") ?? element.querySelector("h1")).focus();
    reading.now();
  }

  function showTabs() {
    const current = place.tab === "delivery" ? "deliveries" : place.tab;
    for (const link of links) {
      if (link.dataset.tab === current) link.setAttribute("aria-current", place.tab === current ? "page" : "true");
      else link.removeAttribute("aria-current");
    }
  }

  /** Says which permission is missing, instead of showing deliveries. */
  function showRefusal() {
    const isRefused = shown.needsDeliveries && !session.may(DELIVERY_READ);
    if (isRefused) message.replaceChildren(icon("lock"), h("h2", {}, "You may not see deliveries"), h("p", {}, MAY_NOT));
    message.hidden = !isRefused;
    body.hidden = isRefused;
    return isRefused;
  }

  /** Reads what is shown. What keeps the host from being reached is thrown. */
  async function read() {
    const reader = shown;
    try {
      if (performance.now() - knownAt > NAMES_MS) {
        known = await host.webhooks();
        knownAt = performance.now();
      }
      if (showRefusal() || reader !== shown) return;
      await reader.read();
    } catch (error) {
      if (error.code === "unavailable") throw error;
      if (reader === shown && !reading.isClosed && error.code !== "unauthenticated") reader.fail(explain(error));
    }
  }

  /** Reads everything again, the webhooks too. */
  async function reread() {
    knownAt = -Infinity;
    return reading.now();
  }

  const stops = [
    session.on("state", () => session.isVisible && reading.wake()),
    session.on("permissions", () => {
      parts.webhooks.redraw();
      reading.now();
    }),
  ];
  session.poll(reading);
  navigate(rest);

  return {
    element,
    navigate,
    /** The catalog has changed, of which nothing is shown here. */
    refresh() {},
    close() {
      reading.close();
      for (const stop of stops) stop();
    },
  };
}
