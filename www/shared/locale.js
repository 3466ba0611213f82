/**
 * What depends on the language: how numbers are written, and in which order people look for names.
 */

const { compare } = new Intl.Collator(undefined, { numeric: true });

/** A number as the whole page writes it: `1,000`. Decimals that have to be exact, such as rates, are texts and not written so. */
export const figure = (number, options) => number.toLocaleString("en", options);

/** Compares names, `shelf 2` before `shelf 10`; where they are the same, the ids tell which comes first. */
export const compareNames = (one, other, id = one, otherId = other) => compare(one, other) || (id < otherId ? -1 : 1);
