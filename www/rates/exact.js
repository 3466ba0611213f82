/**
 * JSON whose numbers keep their text. A rate has up to 21 digits and a binary float only 15 to 17, so a number is read as
 * the text that it was written as, and is written from such a text.
 */

const TOKENS = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** Begins a text that is written as a number. JSON escapes it, so that no other text can look like it. */
const MARK = "\u0000";

/** Reads JSON; every number becomes a text. */
export const parseExact = (text) => JSON.parse(text.replace(TOKENS, (token) => (token.startsWith('"') ? token : `"${token}"`)));

/** A decimal text as the number that `toExactJson` writes. */
export const number = (text) => MARK + text;

/** Writes JSON with the numbers made by `number`. */
export const toExactJson = (value) => JSON.stringify(value).replace(/"\\u0000([^"]*)"/g, "$1");
