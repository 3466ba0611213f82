/**
 * Language: the form of numbers, the order of names, and their direction.
 */

const { compare } = new Intl.Collator(undefined, { numeric: true });

/** A number as the whole page writes it: `1,000`. Exact decimals, such as rates, are texts and not written like this. */
export const figure = (number, options) => number.toLocaleString("en", options);

const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]/;

/** A name in a sentence. One that runs from right to left does not move the words beside it (Unicode's isolates). */
export const isolated = (name) => (RIGHT_TO_LEFT.test(name) ? `\u2068${name}\u2069` : name);

/** Such a sentence as a name, without isolates. */
export const withoutIsolates = (text) => text.replace(/[\u2068\u2069]/g, "");

/** Compares names, `shelf 2` before `shelf 10`; for equal names, the ids decide. */
export const compareNames = (one, other, id = one, otherId = other) => compare(one, other) || (id < otherId ? -1 : 1);
