/**
 * The list of webhooks by name, failing ones first: what each gets, its health in the last 24 hours, and the actions on it. A
 * changed webhook flashes. Below it are the consumers.
 */

import { button, h } from "../shared/dom.js";
import { filterInAddress } from "../shared/filter-address.js";
import { icon } from "../shared/icon.js";
import { draftTag, foundText, searching } from "../shared/list.js";
import { compareNames } from "../shared/locale.js";
import { longList } from "../shared/long-list.js";
import { LIST, deliveriesHref, deliveryHref } from "./address.js";
import { consumerList } from "./consumers.js";
import { conditionText } from "./event-filter.js";
import { healthChart } from "./health-chart.js";
import { pingNow, remove, resume, rotate } from "./webhook-actions.js";
import { createWebhook, draftKey, editWebhook } from "./webhook-editor.js";
import { eventTypeText, eventTypesText, isFailing, oldKeyText, securityText, stateOf } from "./wording.js";

const ABOUT = "A webhook sends each event to your address as it happens: a changed condition, for example, or an event that you publish.";

export function webhookList(desk) {
  const filter = h("input", { type: "search", placeholder: "Filter", "aria-label": "Filter webhooks", dir: "auto", spellcheck: "false", oninput: () => draw() });
  const inAddress = filterInAddress(filter, LIST);
  const count = h("p", { class: "hint", role: "status" });
  const create = button("New webhook", { image: "plus", class: "primary", onclick: () => createWebhook(desk) });
  const rows = longList({ name: "webhook-rows", keyOf: idOf, rowOf: (webhook) => webhookRow(desk, webhook, desk.health(webhook.id)), shownOf });
  const empty = h("div", { class: "empty-state" });
  const toolbar = h("div", { class: "toolbar" }, h("div", { class: "search" }, icon("search"), filter), count, create);
  const consumers = consumerList(desk);
  const element = h("div", {}, toolbar, rows.element, empty, consumers.element);
  const search = searching(textOf);
  let readFor;

  function draw() {
    const all = desk.webhooks ?? [];
    const rank = (webhook) => (isFailing(webhook, desk.health(webhook.id)) ? 0 : 1);
    const found = [...search(all, filter.value.trim().toLowerCase())].sort((one, other) => rank(one) - rank(other) || compareNames(one.name, other.name, one.id, other.id));
    rows.element.hidden = found.length === 0;
    rows.show(found, all);
    count.textContent = foundText(found.length, all.length, "webhook");
    create.hidden = !desk.may("exe.webhook.write");
    create.lastChild.data = hasDraft(desk, {}) ? "New webhook (draft)" : "New webhook";
    filter.closest(".search").hidden = count.hidden = all.length === 0;
    showEmpty(all, found);
  }

  /** The other content of a webhook's row. */
  function shownOf(webhook) {
    return [desk.health(webhook.id), desk.may("exe.webhook.write"), desk.may("exe.delivery.read"), hasDraft(desk, webhook)];
  }

  function showEmpty(all, found) {
    empty.hidden = found.length > 0 || desk.webhooks === undefined;
    if (all.length === 0) empty.replaceChildren(icon("send"), h("h2", {}, "No webhooks yet"), h("p", {}, ABOUT));
    else empty.replaceChildren(icon("search"), h("p", {}, `No webhook matches “${filter.value}”.`));
  }

  return {
    element,
    title: () => "Webhooks",
    open({ query }) {
      readFor = undefined;
      inAddress.take(query);
      draw();
    },
    redraw: draw,
    close: () => rows.close(),
    async read() {
      if (readFor === desk.webhooks) return;
      const asking = await consumers.read();
      readFor = desk.webhooks;
      draw();
      consumers.show(asking);
    },
    fail(sentence) {
      rows.element.hidden = true;
      consumers.show(undefined);
      empty.hidden = false;
      empty.replaceChildren(icon("alert"), h("h2", {}, "This cannot be shown"), h("p", {}, sentence));
    },
  };
}

const idOf = ({ id }) => id;

const hasDraft = (desk, { id }) => desk.memory.get(draftKey(id)) !== undefined;

const textOf = ({ name, callbackUrl, eventTypes }) => [name, callbackUrl, ...eventTypes, ...eventTypes.map(eventTypeText)].join(" ");

function webhookRow(desk, webhook, health) {
  const { name, callbackUrl, eventTypes, filter, maxPerSecond, previousSharedKeyEndsAt, enabled } = webhook;
  const state = stateOf(webhook, health);
  const about = [eventTypesText(eventTypes), filter && `only where ${filter.map(conditionText).join(" and ")}`, securityText(webhook), maxPerSecond && `at most ${maxPerSecond} a second`].filter(Boolean).join(" · ").replace(/^all /, "All ");
  return h(
    "li",
    { class: "webhook" },
    h(
      "div",
      { class: "webhook-text" },
      h("div", { class: "webhook-name" }, h("h2", { title: name, dir: "auto" }, name), !enabled && h("span", { class: "tag" }, "Off"), hasDraft(desk, webhook) && draftTag(), h("p", { class: "id", title: callbackUrl }, callbackUrl)),
      h("p", { class: "hint webhook-about", title: `${about}\n${eventTypes.join(", ")}` }, about),
      previousSharedKeyEndsAt && h("p", { class: "hint" }, `Its shared key was replaced. ${oldKeyText(previousSharedKeyEndsAt)}`),
    ),
    state.text !== "" && h("p", { class: "webhook-state", "data-tone": state.tone }, h("span", { class: "dot" }, icon(state.image)), h("span", {}, state.text)),
    health?.delivered + health?.failed > 0 && healthChart(health),
    h("div", { class: "row-actions" }, actionsOf(desk, webhook, isPaused(webhook, health))),
  );
}

const isPaused = ({ enabled }, health) => enabled && (health?.breaker ?? "CLOSED") !== "CLOSED";

function actionsOf(desk, webhook, mayResume) {
  const { id, name, enabled } = webhook;
  const mayWrite = desk.may("exe.webhook.write");
  const plain = (text, image, onclick, label) => button(text, { image, class: "plain", "aria-label": label, onclick });
  return [
    desk.may("exe.delivery.read") && h("a", { class: "button plain", href: deliveriesHref({ webhookId: id }), "aria-label": `Deliveries of ${name}` }, icon("eye"), "Deliveries"),
    mayWrite && mayResume && plain("Resume now", "retry", () => resume(desk, webhook), `Resume now: ${name}`),
    mayWrite && plain("Edit", "pencil", () => editWebhook(desk, id), `Edit ${name}`),
    mayWrite && enabled && plain("Ping", "send", () => pingNow(desk, webhook, (to) => desk.go(deliveryHref(to))), `Ping ${name}`),
    mayWrite && plain("New key", "key", () => rotate(desk, webhook), `New key for ${name}`),
    mayWrite && button(`Delete ${name}`, { image: "trash", iconOnly: true, class: "plain", onclick: () => remove(desk, webhook) }),
  ];
}
