/**
 * The effect of a change, shown before saving: each rate before and after, how many shops change, and the messages to the
 * first of them.
 */

import { h } from "../shared/dom.js";
import { icon } from "../shared/icon.js";
import { figure } from "../shared/locale.js";
import { counted } from "../shared/messages.js";
import { growth, growthText } from "./decimal.js";
import { unitName } from "./unit-name.js";
import { TYPES, effectText, keyOf, pairText, rateText } from "./wording.js";

/** From this change on, in hundredths of a percent, a rate may be a typing error: 10 %. */
const LARGE = 1000;

/** The most rates shown of a change, and of a shop. */
const MAX_CHANGES = 50;
const MAX_RATES = 8;

/**
 * The effect: `changes` are `{ rate, before?, after?, slip?, isLast? }`, `notes` are sentences, `dryRun` is the host's answer.
 * With `isRestoring` large steps need no confirmation.
 */
export function effect({ changes = [], isRestoring = false, notes = [], dryRun, kind, units }) {
  const shown = changes.slice(0, MAX_CHANGES);
  const more = changes.length - shown.length;
  return h(
    "div",
    { class: "stack effect" },
    h("p", { class: "effect-sentence", role: "status" }, icon(kind === "STORE" ? "shop" : "group"), h("span", {}, effectText(dryRun, kind))),
    shown.length > 0 && h("ul", { class: "effect-changes" }, shown.map((change) => changeLine(change, { isRestoring, kind })), more > 0 && h("li", {}, `and ${counted(more, "more rate")}`)),
    notes.map((note) => h("p", { class: "hint" }, note)),
    samples(dryRun, units),
    keeping(dryRun, units),
  );
}

function changeLine({ rate, before, after, slip, isLast }, { isRestoring, kind }) {
  const isLarge = before !== undefined && after !== undefined && Math.abs(growth(before, after) ?? 0) >= LARGE;
  const step = isLarge && !isRestoring ? "A large step. Is the decimal point right?" : undefined;
  const warning = isLast ? lastText(rate, kind) : (slip ?? step);
  const value = (rateValue) => (rateValue === undefined ? "not set" : `${rateValue} ${rate.currencyIdFrom}`);
  const spoken = (word) => h("span", { class: "visually-hidden" }, word);
  return h(
    "li",
    {},
    h("span", { class: "effect-pair" }, `${TYPES[rate.exchangeRateType]}: ${pairText(rate)}`),
    h("span", { class: "effect-values" }, h("s", {}, spoken("before: "), value(before)), " → ", h("b", {}, spoken("after: "), value(after))),
    before !== undefined && after !== undefined && h("span", { class: isLarge ? "growth large" : "growth" }, growthText(before, after)),
    warning && h("span", { class: "effect-warning" }, icon("alert"), h("span", {}, warning)),
  );
}

/** The consequence of deleting the last rate of a pair. */
function lastText({ exchangeRateType, currencyIdFrom, currencyIdTo }, kind) {
  const who = kind === "STORE" ? "This shop" : "Shops that use it";
  return `${who} can then no longer convert between ${currencyIdTo} and ${currencyIdFrom} (${TYPES[exchangeRateType]}).`;
}

/** The messages to the first shops. */
function samples({ sample, businessUnits }, units) {
  if (sample.length === 0) return undefined;
  const isPart = Number(businessUnits.affected) > sample.length;
  return h(
    "details",
    {},
    h("summary", {}, sample.length === 1 ? "What the shop gets" : `What the shops get${isPart ? `, the first ${figure(sample.length)}` : ""}`),
    h("ul", { class: "samples" }, sample.map((shop) => sampleOf(shop, units))),
  );
}

/** The first shops that keep their own rates, each beside the changed unit's rate. */
function keeping({ shielded = [], businessUnits, changes = [] }, units) {
  if (shielded.length === 0) return undefined;
  const here = new Map(changes.map((change) => [keyOf(change), change.new]));
  const more = Number(businessUnits.shielded) - shielded.length;
  return h(
    "section",
    { class: "stack tight", "aria-labelledby": "keeping" },
    h("h3", { id: "keeping" }, shielded.length === 1 && more === 0 ? "The shop that keeps its own rate" : "Shops that keep their own rate"),
    h("ul", { class: "samples" }, shielded.map((shop) => keptOf(shop, here, units)), more > 0 && h("li", {}, `and ${counted(more, "more shop")}`)),
  );
}

function keptOf({ businessUnitId, rates }, here, units) {
  const name = (id) => units?.name(id) ?? id;
  const line = (rate) => {
    const from = rate.setAt === businessUnitId ? "" : `, from ${name(rate.setAt)}`;
    const other = here.get(keyOf(rate));
    return h("li", {}, `${TYPES[rate.exchangeRateType]}: ${rateText(rate)}${from}; ${other === undefined ? "no longer set here" : `here ${other} ${rate.currencyIdFrom}`}`);
  };
  return h("li", {}, h("h3", {}, h("bdi", {}, unitName(name(businessUnitId), businessUnitId))), h("ul", {}, rates.map(line)));
}

function sampleOf({ businessUnitId, createdRates, updatedRates, deletedRates }, units) {
  const lists = [["new", createdRates], ["changed", updatedRates], ["gone", deletedRates]];
  const lines = lists.flatMap(([word, rates]) => (rates ?? []).map((rate) => sampleLine(word, rate)));
  const more = lines.length - MAX_RATES;
  return h(
    "li",
    {},
    h("h3", {}, unitName(units?.name(businessUnitId) ?? businessUnitId, businessUnitId)),
    h("ul", {}, lines.slice(0, MAX_RATES), more > 0 && h("li", {}, `and ${counted(more, "more rate")}`)),
  );
}

/** A rate as in messages. */
function sampleLine(word, { exchangeRateType, sourceCurrencyCode, targetCurrencyCode, rateValue, rateValueWithMarkup }) {
  const rate = rateText({ currencyIdFrom: sourceCurrencyCode, currencyIdTo: targetCurrencyCode, rateValue });
  const markup = rateValueWithMarkup === rateValue ? "" : `, with markup ${rateValueWithMarkup} ${sourceCurrencyCode}`;
  return h("li", {}, `${TYPES[exchangeRateType]}: ${rate}${word === "gone" ? " is gone" : markup}${word === "new" ? " (new)" : ""}`);
}
