/**
 * Finds rates of a change that look like typing errors, and shows the difference in money. The host refuses what is beyond its
 * tolerance (`rates.md`, "Guard against slips"); from 20 % on the page always asks. Knows no elements.
 */

import { TillgateError, calculate, convert } from "../../js/src/index.js";
import { counted } from "../shared/messages.js";
import { growth } from "./decimal.js";
import { keyOf, rateText } from "./wording.js";

/** From this change in percent on, the page asks. */
const ASKED_FROM = 20;

/** The limits before the page asks once more, in hundredths of a percent: twice, and half. */
const [TWICE, HALF] = [10_000, -5000];

/** The possible amounts of an example: a weak currency needs a large one. */
const AMOUNTS = ["100", "10000", "1000000", "100000000"];

const HINTS = { INVERTED: "Looks inverted", DECIMAL_POINT: "Looks like a slipped decimal point" };

/**
 * The changes, likely typing errors first, each with a `slip`, a sentence. `changes` are `{ rate, before?, after? }`, `set`
 * the rates set, `deviations` those that the host would refuse.
 */
export function withSlips(changes, set = [], deviations = []) {
  const isSet = new Set(set.map(keyOf));
  const refused = new Map(deviations.map((deviation) => [keyOf(deviation), deviation]));
  const known = new Set(changes.map(({ rate }) => keyOf(rate)));
  const others = deviations.filter((deviation) => !known.has(keyOf(deviation))).map((rate) => ({ rate, before: rate.old, after: rate.new }));
  const compared = (change) => (refused.has(keyOf(change.rate)) || isSet.has(keyOf(change.rate))) && change.before !== undefined && change.after !== undefined;
  const marked = [...others, ...changes].map((change) => (compared(change) ? { ...change, slip: slipOf(change, refused.has(keyOf(change.rate))) } : change));
  return [...marked.filter(({ slip }) => slip), ...marked.filter(({ slip }) => !slip)];
}

/** A step in a sentence; undefined if it needs no confirmation. */
function slipOf({ rate, before, after }, isRefused) {
  const [{ percent, hint }] = calculate([{ op: "deviation", old: before, new: after, tolerancePercentage: "0" }]);
  // A float suffices for a question: the host decides what is refused.
  if (!isRefused && Math.abs(Number(percent)) < ASKED_FROM) return undefined;
  return [HINTS[hint] ?? "A large step", example(rate, before, after)].filter(Boolean).join(". ") + ".";
}

/** The question before rates are set to more than twice or less than half of what they are; undefined without one. */
export function questionAbout(changes) {
  const isFar = ({ slip, before, after }) => slip !== undefined && (growth(before, after) > TWICE || growth(before, after) < HALF);
  const [first, ...others] = changes.filter(isFar);
  if (first === undefined) return undefined;
  const { rate, before, after, slip } = first;
  const title = `Set ${rateText({ ...rate, rateValue: after })}${others.length > 0 ? `, and ${counted(others.length, "more rate")}` : ""}?`;
  const step = growth(before, after) > 0 ? "more than twice" : "less than half of";
  return [title, `That is ${step} what it is now, ${before} ${rate.currencyIdFrom}. ${slip}`, "Set"];
}

/** The difference in money: 100 EUR would be 110.50 SEK instead of 1,105.00 SEK. */
function example({ currencyIdFrom, currencyIdTo }, before, after) {
  for (const amount of AMOUNTS) {
    const sums = [after, before].map((rate) => converted(amount, rate, currencyIdFrom));
    if (sums.every((sum) => sum !== undefined && /[1-9]/.test(sum))) {
      const [would, now] = sums.map((sum) => `${grouped(sum)} ${currencyIdFrom}`);
      return `${grouped(amount)} ${currencyIdTo} would be ${would} instead of ${now}`;
    }
  }
  return undefined;
}

/** An amount in another currency; undefined if it would have too many digits. */
function converted(amount, rate, currency) {
  try {
    return convert(amount, rate, { currency });
  } catch (error) {
    if (!(error instanceof TillgateError)) throw error;
    return undefined;
  }
}

/** A decimal with separated thousands: 1,105.00. */
function grouped(decimal) {
  const [whole, fraction] = decimal.split(".");
  const apart = whole.replace(/\B(?=(\d{3})+$)/g, ",");
  return fraction === undefined ? apart : `${apart}.${fraction}`;
}
