/**
 * Writes JSON with numbers from their text. A rate has up to 21 digits and a binary float only 15 to 17. The package's
 * `parseExactly` reads it.
 */

/** Starts a text that is written as a number. JSON escapes it, so that no other text can look like it. */
const MARK = "\u0000";

/** A decimal text as the number that `toExactJson` writes. */
export const number = (text) => MARK + text;

/** Writes JSON with the numbers made by `number`. */
export const toExactJson = (value) => JSON.stringify(value).replace(/"\\u0000([^"]*)"/g, "$1");
