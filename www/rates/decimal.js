/**
 * Decimals as people type and compare them. They stay texts: nothing here goes through a binary float.
 */

import { figure } from "../shared/locale.js";

/** The hint at every field for a decimal. */
export const DECIMAL_HINT = "A comma or a dot separates the decimals: 11,05 and 11.05 are the same.";

/**
 * Returns the typed decimal with a dot, or undefined if it is none. A single comma or dot separates the decimals. If both
 * occur, the last one does, and the others must separate thousands: 1.234,50 and 1,234.50 are equal.
 */
export function readDecimal(typed) {
  const text = typed.replace(/[\s'’]/g, "");
  const last = Math.max(text.lastIndexOf(","), text.lastIndexOf("."));
  const decimalMark = text[last];
  const thousandsMark = decimalMark === "," ? "." : ",";
  const parts = last < 0 ? [text, ""] : [text.slice(0, last), text.slice(last + 1)];
  let [whole] = parts;
  if (whole.includes(thousandsMark)) {
    if (!/^\d{1,3}([.,]\d{3})+$/.test(whole)) return undefined;
    whole = whole.replaceAll(thousandsMark, "");
  }
  if (!/^\d*$/.test(whole + parts[1]) || whole + parts[1] === "") return undefined;
  return `${whole.replace(/^0+(?=\d)/, "") || "0"}${parts[1] && `.${parts[1]}`}`;
}

/** A decimal without zeros at its end. */
export const shortest = (decimal) => (decimal.includes(".") ? decimal.replace(/\.?0+$/, "") : decimal);

/** True if two decimals are the same number. */
export function isSame(one, other) {
  const [a, b] = aligned(one, other);
  return a === b;
}

/** The growth of a decimal, in hundredths of a percent; undefined if it was zero. */
export function growth(before, after) {
  const [a, b] = aligned(before, after);
  if (a === 0n) return undefined;
  const doubled = ((b - a) * 20_000n) / a;
  return Number((doubled + (doubled < 0n ? -1n : 1n)) / 2n);
}

/** The growth of a decimal: `+4.36 %`. */
export function growthText(before, after) {
  const hundredths = growth(before, after);
  if (hundredths === undefined) return "";
  if (hundredths === 0) return isSame(before, after) ? "unchanged" : "less than 0.01 %";
  return `${hundredths > 0 ? "+" : "−"}${figure(Math.abs(hundredths) / 100, { minimumFractionDigits: 2 })} %`;
}

/** Two decimals as integers of the same scale. */
function aligned(...decimals) {
  const parts = decimals.map((decimal) => decimal.split("."));
  const scale = Math.max(...parts.map(([, fraction = ""]) => fraction.length));
  return parts.map(([whole, fraction = ""]) => BigInt(whole + fraction.padEnd(scale, "0")));
}
