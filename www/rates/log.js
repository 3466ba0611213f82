/**
 * The messages of the topic as subscribers get them, for a shop or for all shops below a unit, newest first. The initial state
 * is sent from here.
 */

import { writeCsv } from "../shared/csv.js";
import { button, confirmed, h, notify } from "../shared/dom.js";
import { downloadCsv } from "../shared/download.js";
import { icon } from "../shared/icon.js";
import { figure } from "../shared/locale.js";
import { settled } from "../shared/lost.js";
import { counted } from "../shared/messages.js";
import { recentText, timeText } from "../shared/time.js";
import { unitName } from "./unit-name.js";
import { TYPES, explain, rateText } from "./wording.js";

/** The most messages that are kept and shown. */
const MAX_KEPT = 500;
const MAX_SHOWN = 200;

const LISTS = [["createdRates", "created"], ["updatedRates", "updated"], ["deletedRates", "deleted"]];

/** The messages received while the view is open: `{ message, text }`, newest first. */
export class Received {
  #list = [];
  #ids = new Set();

  /** Adds a message; returns true if it was new. A message may arrive more than once. */
  add(entry) {
    const { messageId } = entry.message;
    if (this.#ids.has(messageId)) return false;
    this.#ids.add(messageId);
    const at = this.#list.findIndex(({ message }) => message.publishTime <= entry.message.publishTime);
    this.#list.splice(at < 0 ? this.#list.length : at, 0, entry);
    for (const { message } of this.#list.splice(MAX_KEPT)) this.#ids.delete(message.messageId);
    return true;
  }

  all() {
    return this.#list;
  }
}

/** The tab; `received` are the messages, `refresh` draws new ones. */
export function messageLog(desk, received) {
  const list = h("ol", { class: "messages" });
  const about = h("p", { class: "hint", role: "status" });
  const send = button("Send initial state", { image: "send", class: "primary", onclick: () => sendInitialState(desk) });
  const read = button("Show messages of past days", { class: "plain", onclick: () => desk.topic?.follow(desk.id, "earliest") });
  const save = button("Download as CSV", { class: "plain", onclick: () => downloadCsv(`Messages of ${desk.name(desk.id)}.csv`, [messagesCsv(desk, concerned())]) });
  const empty = h("div", { class: "empty-state" });
  const element = h("div", { class: "stack" }, h("div", { class: "toolbar" }, about, h("div", { class: "toolbar-actions" }, save, read, send)), list, empty);
  const drawn = new Map();
  let drawnFor;
  let isAsked = false;

  const concerned = () => received.all().filter(({ message }) => desk.concerns(message.data.businessUnitId));

  /** Draws new messages beside the existing ones, which may be open. */
  function refresh() {
    isAsked = false;
    if (drawnFor !== desk.id) drawn.clear();
    drawnFor = desk.id;
    const found = concerned();
    const shown = found.slice(0, MAX_SHOWN);
    for (const entry of shown) if (!drawn.has(entry.message.messageId)) drawn.set(entry.message.messageId, messageLine(desk, entry));
    const lines = shown.map(({ message }) => drawn.get(message.messageId));
    for (const line of [...list.children]) if (!lines.includes(line)) line.remove();
    // From tomorrow on, today's messages show their day.
    lines.forEach((line, at) => (line.querySelector("time").textContent = recentText(shown[at].message.publishTime)));
    lines.forEach((line, at) => list.children[at] === line || list.insertBefore(line, list.children[at] ?? null));
    list.hidden = save.hidden = found.length === 0;
    empty.hidden = found.length > 0;
    about.textContent = aboutText(desk, found.length);
    empty.replaceChildren(...emptyTexts(desk));
    send.hidden = !desk.may("exr.initial-state.create") || !desk.may("exr.rate.read");
    read.hidden = desk.topic === undefined || !desk.isShop();
  }

  return {
    element,
    show: refresh,
    /** Draws at most once per frame: a large change brings many messages at once. */
    refresh() {
      if (isAsked) return;
      isAsked = true;
      requestAnimationFrame(() => isAsked && refresh());
    },
  };
}

function aboutText(desk, count) {
  if (desk.topic === undefined || count === 0) return "";
  return count > MAX_SHOWN ? `The last ${figure(MAX_SHOWN)} of ${counted(count, "message")} received` : `${counted(count, "message")} received`;
}

function emptyTexts(desk) {
  if (desk.topic === undefined) {
    const why = "That needs the permission exr.rates-changed.subscribe, for example from the role exr.subscriber.";
    return [icon("lock"), h("h2", {}, "You may not follow the messages"), h("p", {}, why)];
  }
  const shop = desk.isShop() ? "this shop" : "a shop below this unit";
  const about = `Each change of the rates of ${shop} appears here, as every subscriber gets it.`;
  return [h("h2", {}, "No messages yet"), h("p", {}, `${about} The initial state is a message with all of a shop’s rates.`)];
}

async function sendInitialState(desk) {
  const shops = desk.units?.shops(desk.id);
  const messages = desk.isShop() || shops === undefined ? "One message with all rates of this shop" : `${counted(shops, "message")}, one with all rates of each shop,`;
  const detail = `${messages} will go to every subscriber of this tenant. No rate changes.`;
  if (!(await confirmed("Send the initial state?", detail, "Send"))) return;
  try {
    const advice = "If it is, its messages appear here. It changes no rate, so you can send it again.";
    const { answer } = await settled(() => desk.host.sendInitialState(desk.id), { whether: "the initial state is being sent", advice });
    if (answer === undefined) return;
    desk.track(answer, `Initial state of ${desk.name(desk.id)}`);
    notify("The initial state is being sent.");
  } catch (error) {
    notify(explain(error));
  }
}

/** The messages as a file, with a line per rate. */
function messagesCsv(desk, entries) {
  const header = ["Published", "Shop", "Id", "What", "Type", "One", "In", "Rate", "With markup", "Change"];
  const lines = entries.flatMap(({ message: { publishTime, attributes, data } }) => {
    const about = [publishTime, desk.name(data.businessUnitId), data.businessUnitId];
    const correlation = attributes["Correlation-Id"] ?? "";
    const rates = LISTS.flatMap(([name, word]) => (data[name] ?? []).map((rate) => [word, rate]));
    if (rates.length === 0) return [[...about, "no rates", "", "", "", "", "", correlation]];
    return rates.map(([word, { exchangeRateType, sourceCurrencyCode, targetCurrencyCode, rateValue, rateValueWithMarkup }]) => [...about, word, TYPES[exchangeRateType] ?? exchangeRateType, targetCurrencyCode, sourceCurrencyCode, rateValue ?? "", rateValueWithMarkup ?? "", correlation]);
  });
  return writeCsv([header, ...lines]);
}

function messageLine(desk, { message, text }) {
  const { businessUnitId } = message.data;
  const lists = LISTS.map(([name, word]) => [word, message.data[name] ?? []]).filter(([, rates]) => rates.length > 0);
  const counts = lists.map(([word, rates]) => `${figure(rates.length)} ${word}`).join(", ") || "no rates";
  const body = h("div", { class: "stack tight" });
  const fill = () => body.childElementCount === 0 && body.append(...content(lists, message, text));
  return h(
    "li",
    { class: "changed" },
    h(
      "details",
      { ontoggle: fill },
      h(
        "summary",
        {},
        h("time", { datetime: message.publishTime, title: timeText(message.publishTime) }),
        h("span", { class: "message-shop" }, unitName(desk.name(businessUnitId), businessUnitId)),
        h("span", { class: "hint" }, counts),
      ),
      body,
    ),
  );
}

function content(lists, message, text) {
  const line = (rate) => {
    const { exchangeRateType, sourceCurrencyCode, targetCurrencyCode, rateValue, rateValueWithMarkup } = rate;
    const sentence = rateText({ currencyIdFrom: sourceCurrencyCode, currencyIdTo: targetCurrencyCode, rateValue });
    const markup = rateValueWithMarkup === rateValue ? "" : `, with markup ${rateValueWithMarkup}`;
    return h("li", {}, `${TYPES[exchangeRateType] ?? exchangeRateType}: ${sentence}`, h("span", { class: "hint" }, markup));
  };
  const capital = (word) => word.replace(/^./, (first) => first.toUpperCase());
  const correlation = message.attributes["Correlation-Id"] ?? "";
  return [
    ...lists.map(([word, rates]) => h("div", { class: "message-rates" }, h("h3", {}, capital(word)), h("ul", {}, rates.map(line)))),
    h("p", { class: "hint" }, `Published ${timeText(message.publishTime)} (${message.publishTime}) by change `, h("span", { class: "id" }, correlation)),
    h("details", { class: "exchange" }, h("summary", {}, "The message, for developers"), h("pre", { tabindex: "0" }, text)),
  ];
}
