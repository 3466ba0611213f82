/**
 * The rates that a unit uses, as pairs: which direction is set and which is computed, where it is set, its reference, and the
 * markup. Knows no elements.
 */

import { TYPES, keyOf, oppositeOf, pairKeyOf } from "./wording.js";

const ORDER = Object.keys(TYPES);

/**
 * The pairs, by type and currency:
 * `{ key, type, main, other, areBothSet, setAt, isOwn, levels, reference, markup, changed, changedBy }`. `used` are the unit's
 * used rates, `setRates` the rates set, by unit. Unknown values are undefined.
 */
export function pairsOf({ id, used, setRates, units }) {
  const byKey = new Map(used.map((rate) => [keyOf(rate), rate]));
  const byPair = new Map(used.map((rate) => [pairKeyOf(rate), rate]));
  return [...byPair].map(([key, one]) => pairOf(key, one, byKey.get(keyOf(oppositeOf(one))), { id, setRates, units })).sort(inOrder);
}

function pairOf(key, one, another, { id, setRates, units }) {
  const { setAt, exchangeRateType: type } = one;
  const set = new Map((setRates.get(setAt) ?? []).map((rate) => [keyOf(rate), rate]));
  const sides = [one, another].filter(Boolean).sort((a, b) => rank(b, set) - rank(a, set));
  const [main, other] = sides;
  return {
    key,
    type,
    main,
    other,
    areBothSet: other !== undefined && set.has(keyOf(main)) && set.has(keyOf(other)),
    setAt,
    isOwn: setAt === id,
    levels: units?.levelsUp(id, setAt),
    reference: set.get(keyOf(main))?.reference,
    markup: units?.markup(id, main),
    changed: main.lastModified ?? main.createdDate,
    changedBy: main.createdBy,
  };
}

/** The direction that is set comes first; if both are, the one of at least 1. */
const rank = (rate, set) => (set.has(keyOf(rate)) ? 2 : 0) + (rate.rateValue.startsWith("0") ? 0 : 1);

function inOrder(one, other) {
  const [a, b] = [one, other].map(({ type, main }) => `${ORDER.indexOf(type)}${main.currencyIdTo}${main.currencyIdFrom}`);
  return a < b ? -1 : 1;
}
