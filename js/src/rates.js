/**
 * Rate math on decimal strings, never floats (`rates.md`). A rate from S to T of R says that 1 T = R S.
 */

import { toText } from "./catalog.js";
import { current } from "./engine.js";
import { TillgateError } from "./error.js";

/** Many calls at once, as the engine takes them: all are answered, or all that is wrong is named. */
export function calculate(calls) {
  return current().rates(toText({ calls })).answers;
}

/** 1 ÷ rate, to six decimals. */
export function oppositeRate(rate) {
  return one({ op: "opposite", rate }).rate;
}

/** A rate with a markup of so many percent taken off. */
export function rateWithMarkup(rate, markupPercentage) {
  return one({ op: "markup", rate, markupPercentage }).rate;
}

/** An amount times a rate, rounded to a currency's minor unit, or to so many decimals: two when nothing is said. */
export function convert(amount, rate, { currency, minorUnit } = {}) {
  const decimals = currency === undefined ? (minorUnit ?? 2) : minorUnit;
  return one({ op: "convert", amount, rate, currency, minorUnit: decimals }).amount;
}

function one(call) {
  try {
    return calculate([call])[0];
  } catch (error) {
    if (!(error instanceof TillgateError)) throw error;
    // There is one call, and its caller did not number it.
    const faults = error.faults.map(({ path, message }) => ({ path: path.replace("$.calls[0]", "$"), message }));
    const { code, cause } = error;
    throw new TillgateError({ code, ...faults[0], faults, cause });
  }
}
