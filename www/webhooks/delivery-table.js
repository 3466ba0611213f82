/**
 * Deliveries as a table. A row stays the same element while it is shown, so that changes lose neither the focus nor the scroll
 * position; new and changed rows flash.
 */

import { arrange, h } from "../shared/dom.js";
import { icon } from "../shared/icon.js";
import { counted } from "../shared/messages.js";
import { recentText } from "../shared/time.js";
import { deliveryHref } from "./address.js";
import { STATUSES, eventTypeText, failureText, lastAnswerText, waitText } from "./wording.js";

/** The table; `show` draws deliveries, `clear` forgets the shown ones. */
export function deliveryTable(desk) {
  const head = ["Accepted", "Event", "Webhook", "Status", "Last attempt"];
  const body = h("tbody", { role: "rowgroup" });
  const element = h(
    "table",
    { class: "deliveries", role: "table", "aria-label": "Deliveries, newest first" },
    h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, head.map((text) => h("th", { role: "columnheader", scope: "col" }, text)))),
    body,
  );
  let rows = new Map();
  let isFirst = true;

  return {
    element,
    /** With `isQuiet` nothing flashes: deliveries that were asked for are no news. */
    show(deliveries, isQuiet) {
      const next = new Map(deliveries.map((delivery) => [delivery.id, rows.get(delivery.id) ?? deliveryRow(desk)]));
      const changed = deliveries.map((delivery) => next.get(delivery.id)).filter(({ draw }, at) => draw(deliveries[at]));
      arrange(body, [...next.values()].map(({ row }) => row));
      if (!isFirst && !isQuiet) for (const { row } of changed) flash(row);
      rows = next;
      isFirst = isFirst && deliveries.length === 0;
    },
    clear() {
      rows = new Map();
      isFirst = true;
      body.replaceChildren();
    },
  };
}

/** The roles are explicit because narrow screens show the rows as cards. */
const cell = (name, ...content) => h("td", { role: "cell", class: name }, content);

/** A row: `draw` draws a delivery in it, and returns true if it was new or has changed. */
function deliveryRow(desk) {
  const time = h("time", {});
  const link = h("a", {});
  const type = h("small", { class: "id" });
  const webhook = h("span", {});
  const status = h("span", { class: "status" });
  const why = h("small", {});
  const answer = h("span", {});
  const attempts = h("small", {});
  const row = h(
    "tr",
    { role: "row" },
    h("th", { role: "rowheader", scope: "row", class: "delivery-time" }, time),
    cell("delivery-event", link, type),
    cell("delivery-webhook", webhook),
    cell("delivery-status", status, why),
    cell("delivery-attempts", answer, attempts),
  );
  let drawn;

  return {
    row,
    draw(delivery) {
      const hold = desk.hold(delivery.webhookId);
      const text = JSON.stringify([delivery, hold]);
      webhook.textContent = desk.name(delivery.webhookId);
      time.textContent = recentText(delivery.createdAt);
      if (text === drawn) return false;
      drawn = text;
      const { word, image, tone } = STATUSES[delivery.status];
      time.dateTime = time.title = delivery.createdAt;
      link.href = deliveryHref(delivery.id);
      link.textContent = eventTypeText(delivery.eventType);
      type.textContent = delivery.eventType;
      status.dataset.tone = tone ?? "";
      status.replaceChildren(h("span", { class: "dot" }, icon(image)), word);
      why.textContent = whyText(delivery, hold);
      why.hidden = why.textContent === "";
      answer.textContent = lastAnswerText(delivery);
      attempts.textContent = counted(delivery.attemptCount, "attempt");
      return true;
    },
  };
}

/** Why it failed, and what it waits for. */
function whyText(delivery, hold) {
  const { status, lastError } = delivery;
  const hasFailed = lastError !== undefined && status !== "DELIVERED" && status !== "PENDING";
  return [hasFailed && failureText({ error: lastError }), waitText(delivery, hold)].filter(Boolean).join(" ");
}

function flash(row) {
  row.classList.remove("changed");
  // Reading the layout restarts the animation.
  void row.offsetWidth;
  row.classList.add("changed");
}
