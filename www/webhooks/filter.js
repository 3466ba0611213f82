/**
 * The filter of the deliveries: webhook, status, event type or event, and time.
 */

import { button, h } from "../shared/dom.js";
import { PERIODS, STATUSES, eventTypeText } from "./wording.js";

/** The fields; `onchange` gets the new filter. */
export function deliveryFilter(desk, onchange) {
  const select = (label, properties = {}) => h("select", { "aria-label": label, onchange: change, ...properties });
  const webhook = select("Webhook");
  const status = select("Status");
  const period = select("Time");
  const type = h("input", { type: "search", list: "event-types", placeholder: "Any event", "aria-label": "Event type", spellcheck: "false", autocomplete: "off", onchange: change });
  const id = h("input", { type: "search", placeholder: "Any event id", "aria-label": "Event id", maxlength: 256, spellcheck: "false", autocomplete: "off", onchange: change });
  const since = h("input", { type: "datetime-local", "aria-label": "From", onchange: change });
  const until = h("input", { type: "datetime-local", "aria-label": "Until", onchange: change });
  const own = h("div", { class: "own-period" }, h("span", { "aria-hidden": "true" }, "From"), since, h("span", { "aria-hidden": "true" }, "until"), until);
  const types = h("datalist", { id: "event-types" });
  const clear = button("Clear", { image: "close", class: "plain", onclick: () => onchange({}) });
  const element = h("div", { class: "delivery-filter", role: "group", "aria-label": "Filter" }, webhook, status, type, types, id, period, clear, own);
  let shown = {};
  let offered;

  const options = (select, entries, value) => {
    select.replaceChildren(...entries.map(([each, text]) => h("option", { value: each, dir: "auto" }, text)));
    select.value = value ?? "";
  };
  options(status, [["", "Any status"], ...Object.entries(STATUSES).map(([each, { word }]) => [each, word])]);
  options(period, [["", "Any time"], ...Object.entries(PERIODS), ["own", "From … until …"]]);

  /** Offers the current webhooks and event types. */
  function offer() {
    const text = JSON.stringify([desk.webhooks?.map(({ id, name }) => [id, name]), desk.eventTypes(), shown.webhookId]);
    if (offered === text) return;
    offered = text;
    const entries = (desk.webhooks ?? []).map(({ id, name }) => [id, name]);
    const isMissing = shown.webhookId !== undefined && !entries.some(([id]) => id === shown.webhookId);
    options(webhook, [["", "Any webhook"], ...entries, ...(isMissing ? [[shown.webhookId, desk.name(shown.webhookId)]] : [])], shown.webhookId);
    types.replaceChildren(...desk.eventTypes().map((each) => h("option", { value: each, label: eventTypeText(each) })));
  }

  function change() {
    const isOwn = period.value === "own";
    own.hidden = !isOwn;
    onchange({
      ...(webhook.value && { webhookId: webhook.value }),
      ...(status.value && { status: status.value }),
      ...(type.value.trim() && { eventType: type.value.trim() }),
      ...(id.value.trim() && { eventId: id.value.trim() }),
      ...(period.value && !isOwn && { period: period.value }),
      ...(isOwn && since.value && { since: new Date(since.value).toISOString() }),
      ...(isOwn && until.value && { until: new Date(until.value).toISOString() }),
    });
  }

  return {
    element,
    offer,
    value: () => shown,
    show(filter) {
      const isOwnKept = period.value === "own" && !filter.period;
      shown = filter;
      offer();
      webhook.value = filter.webhookId ?? "";
      status.value = filter.status ?? "";
      type.value = filter.eventType ?? "";
      id.value = filter.eventId ?? "";
      const isOwn = filter.since !== undefined || filter.until !== undefined || (isOwnKept && document.activeElement === period);
      period.value = isOwn ? "own" : (filter.period ?? "");
      since.value = localText(filter.since);
      until.value = localText(filter.until);
      own.hidden = !isOwn;
      clear.hidden = Object.keys(filter).length === 0;
    },
  };
}

/** A time for its field, in the time zone of the browser and to the minute. */
function localText(time) {
  const at = time === undefined ? Number.NaN : Date.parse(time);
  if (Number.isNaN(at)) return "";
  return new Date(at - new Date(at).getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
