/**
 * What depends on the language: how numbers are written, in which order people look for names, and which way they run.
 */

const { compare } = new Intl.Collator(undefined, { numeric: true });

/** A number as the whole page writes it: `1,000`. Decimals that have to be exact, such as rates, are texts and not written so. */
export const figure = (number, options) => number.toLocaleString("en", options);

const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]/;

/** A name in a sentence. One that runs from right to left leaves what stands beside it in its place (Unicode's isolates). */
export const isolated = (name) => (RIGHT_TO_LEFT.test(name) ? `\u2068${name}\u2069` : name);

/** Such a sentence as a name, in which there are no isolates. */
export const withoutIsolates = (text) => text.replace(/[\u2068\u2069]/g, "");

/** Compares names, `shelf 2` before `shelf 10`; where they are the same, the ids tell which comes first. */
export const compareNames = (one, other, id = one, otherId = other) => compare(one, other) || (id < otherId ? -1 : 1);
