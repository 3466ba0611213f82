/**
 * JSON whose numbers keep their digits: one that a float would change stays as written, if the browser can do that
 * (`JSON.rawJSON`). `JSON.stringify` writes it back unchanged.
 */

/** Reads JSON. */
export const parseExactly = (text) => JSON.parse(text, (key, value, context) => (typeof value === "number" ? numberOf(context?.source ?? String(value)) : value));

/** The number of a text. */
export const numberOf = (text) => (String(Number(text)) === text || JSON.rawJSON === undefined ? Number(text) : JSON.rawJSON(text));

/** True if a value that was read is a number. */
export const isNumber = (value) => typeof value === "number" || JSON.isRawJSON?.(value) === true;

/** A number as written. */
export const numberText = (number) => (typeof number === "number" ? String(number) : number.rawJSON);

/** True if two numbers are equal: `1`, `1.0` and `1e0` are. */
export const isSameNumber = (one, other) => decimalText(numberText(one)) === decimalText(numberText(other));

/** The canonical form of a decimal. */
function decimalText(text) {
  const [, sign, whole, fraction = "", exponent = "0"] = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]\+?(-?\d+))?$/.exec(text);
  const all = `${whole}${fraction}`;
  let [begin, end] = [0, all.length];
  while (all[begin] === "0") begin += 1;
  while (end > begin && all[end - 1] === "0") end -= 1;
  return begin === end ? "0" : `${sign}${all.slice(begin, end)}e${BigInt(exponent) + BigInt(whole.length - end)}`;
}
