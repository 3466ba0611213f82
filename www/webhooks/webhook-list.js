/**
 * The list of webhooks, those that fail first: what each gets, how it fared in the last 24 hours, and what can be done with
 * it. A webhook that has changed flashes. Below it are the receivers that ask for events instead.
 */

import { arrange, button, h, keepFocus } from "../shared/dom.js";
import { icon } from "../shared/icon.js";
import { draftTag } from "../shared/list.js";
import { counted } from "../shared/messages.js";
import { deliveriesHref, deliveryHref } from "./address.js";
import { consumerList } from "./consumers.js";
import { conditionText } from "./event-filter.js";
import { healthChart } from "./health-chart.js";
import { pingNow, remove, rotate } from "./webhook-actions.js";
import { createWebhook, draftKey, editWebhook } from "./webhook-editor.js";
import { eventTypesText, isFailing, oldKeyText, securityText, stateOf } from "./wording.js";

const ABOUT = "A webhook sends each event to an address of yours, as it happens: that a condition changed, or what you publish yourself.";

/** The part of the view. */
export function webhookList(desk) {
  const filter = h("input", { type: "search", placeholder: "Filter", "aria-label": "Filter webhooks", spellcheck: "false", oninput: () => draw() });
  const count = h("p", { class: "hint", role: "status" });
  const create = button("New webhook", { image: "plus", class: "primary", onclick: () => createWebhook(desk) });
  const rows = h("ul", { class: "webhook-rows" });
  const empty = h("div", { class: "empty-state" });
  const toolbar = h("div", { class: "toolbar" }, h("div", { class: "search" }, icon("search"), filter), count, create);
  const consumers = consumerList(desk);
  const element = h("div", {}, toolbar, rows, empty, consumers.element);
  let health = new Map();
  let drawn = new Map();
  let readFor;

  /** The rows that have not changed stay. */
  function draw() {
    const all = desk.webhooks ?? [];
    const wanted = filter.value.trim().toLowerCase();
    const rank = (webhook) => (isFailing(webhook, health.get(webhook.id)) ? 0 : 1);
    const found = all.filter((webhook) => textOf(webhook).toLowerCase().includes(wanted)).sort((one, other) => rank(one) - rank(other));
    const next = new Map(found.map((webhook) => [webhook.id, rowOf(webhook)]));
    keepFocus(rows, () => arrange(rows, [...next.values()].map(({ row }) => row)));
    drawn = next;
    count.textContent = found.length === all.length ? counted(all.length, "webhook") : `${found.length} of ${counted(all.length, "webhook")}`;
    create.hidden = !desk.may("exe.webhook.write");
    filter.closest(".search").hidden = count.hidden = all.length === 0;
    rows.hidden = found.length === 0;
    showEmpty(all, found);
  }

  function rowOf(webhook) {
    const before = drawn.get(webhook.id);
    const text = JSON.stringify([webhook, health.get(webhook.id), desk.may("exe.webhook.write"), desk.may("exe.delivery.read"), hasDraft(desk, webhook)]);
    if (before?.text === text) return before;
    const isChanged = drawn.size > 0 && before?.version !== JSON.stringify(webhook);
    return { row: webhookRow(desk, webhook, health.get(webhook.id), isChanged), text, version: JSON.stringify(webhook) };
  }

  function showEmpty(all, found) {
    empty.hidden = found.length > 0 || desk.webhooks === undefined;
    if (all.length === 0) empty.replaceChildren(icon("send"), h("h2", {}, "No webhooks yet"), h("p", {}, ABOUT));
    else empty.replaceChildren(icon("search"), h("p", {}, `No webhook matches “${filter.value}”.`));
  }

  return {
    element,
    title: () => "Webhooks",
    open: draw,
    redraw: draw,
    async read() {
      if (readFor === desk.webhooks) return;
      const [answer, asking] = await Promise.all([desk.host.health(), consumers.read()]);
      readFor = desk.webhooks;
      health = new Map(answer.map((each) => [each.webhookId, each]));
      draw();
      consumers.show(asking);
    },
    fail(sentence) {
      rows.hidden = true;
      consumers.show(undefined);
      empty.hidden = false;
      empty.replaceChildren(icon("alert"), h("h2", {}, "This cannot be shown"), h("p", {}, sentence));
    },
  };
}

const hasDraft = (desk, { id }) => desk.memory.get(draftKey(id)) !== undefined;

const textOf = ({ name, callbackUrl, eventTypes }) => [name, callbackUrl, ...eventTypes].join(" ");

function webhookRow(desk, webhook, health, isChanged) {
  const { name, callbackUrl, eventTypes, filter, maxPerSecond, previousSharedKeyEndsAt, enabled } = webhook;
  const state = stateOf(webhook, health);
  const about = [eventTypesText(eventTypes), filter && `only where ${filter.map(conditionText).join(" and ")}`, securityText(webhook), maxPerSecond && `at most ${maxPerSecond} a second`].filter(Boolean).join(" · ").replace(/^all /, "All ");
  return h(
    "li",
    { class: isChanged ? "webhook changed" : "webhook" },
    h(
      "div",
      { class: "webhook-text" },
      h("div", { class: "webhook-name" }, h("h2", { title: name }, name), !enabled && h("span", { class: "tag" }, "Off"), hasDraft(desk, webhook) && draftTag(), h("p", { class: "id", title: callbackUrl }, callbackUrl)),
      h("p", { class: "hint webhook-about", title: about }, about),
      previousSharedKeyEndsAt && h("p", { class: "hint" }, `Its shared key was replaced. ${oldKeyText(previousSharedKeyEndsAt)}`),
    ),
    state.text !== "" && h("p", { class: "webhook-state", "data-tone": state.tone }, h("span", { class: "dot" }, icon(state.image)), h("span", {}, state.text)),
    health?.delivered + health?.failed > 0 && healthChart(health),
    h("div", { class: "row-actions" }, actionsOf(desk, webhook)),
  );
}

function actionsOf(desk, webhook) {
  const { id, name, enabled } = webhook;
  const mayWrite = desk.may("exe.webhook.write");
  const plain = (text, image, onclick, label) => button(text, { image, class: "plain", "aria-label": label, onclick });
  return [
    desk.may("exe.delivery.read") && h("a", { class: "button plain", href: deliveriesHref({ webhookId: id }), "aria-label": `Deliveries of ${name}` }, icon("eye"), "Deliveries"),
    mayWrite && plain("Edit", "pencil", () => editWebhook(desk, id), `Edit ${name}`),
    mayWrite && enabled && plain("Ping", "send", () => pingNow(desk, webhook, (to) => desk.go(deliveryHref(to))), `Ping ${name}`),
    mayWrite && plain("New key", "key", () => rotate(desk, webhook), `New key for ${name}`),
    mayWrite && button(`Delete ${name}`, { image: "trash", iconOnly: true, class: "plain", onclick: () => remove(desk, webhook) }),
  ];
}
