/**
 * Rate math on decimal strings, never floats (`rates.md`). A rate R from S to T means that 1 T = R S.
 */

import { current, toText } from "../shared/engine.js";
import { TillgateError } from "../shared/error.js";

/** Makes several calls at once. Either all are answered, or the error lists the faults of all. */
export function calculate(calls) {
  return current().rates(toText({ calls }, "calls")).answers;
}

/** 1 ÷ rate, to six decimals. */
export function oppositeRate(rate) {
  return one({ op: "opposite", rate }).rate;
}

/** A rate reduced by a markup in percent. */
export function rateWithMarkup(rate, markupPercentage) {
  return one({ op: "markup", rate, markupPercentage }).rate;
}

/** An amount times a rate, rounded to the minor unit of a currency or to `minorUnit` decimals, by default two. */
export function convert(amount, rate, { currency, minorUnit } = {}) {
  const decimals = currency === undefined ? (minorUnit ?? 2) : minorUnit;
  return one({ op: "convert", amount, rate, currency, minorUnit: decimals }).amount;
}

function one(call) {
  try {
    return calculate([call])[0];
  } catch (error) {
    if (!(error instanceof TillgateError)) throw error;
    // The caller made a single call, so paths must not contain its index.
    const faults = error.faults.map(({ path, message }) => ({ path: path.replace("$.calls[0]", "$"), message }));
    const { code, cause } = error;
    throw new TillgateError({ code, ...faults[0], faults, cause });
  }
}
