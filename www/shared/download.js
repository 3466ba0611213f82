/**
 * Saving a text as a file.
 */

import { h } from "./dom.js";

/** How long a browser may take to begin with the file. */
const KEEP_MS = 60_000;

/**
 * Saves parts of CSV text with `delimiter` between cells; the ending of the name tells spreadsheets of tabs. The mark at the
 * beginning tells them that it is UTF-8.
 */
export function downloadCsv(name, parts, delimiter) {
  const href = URL.createObjectURL(new Blob(["\ufeff", ...parts], { type: "text/csv;charset=utf-8" }));
  h("a", { href, download: `${name}.${delimiter === "\t" ? "tsv" : "csv"}` }).click();
  setTimeout(() => URL.revokeObjectURL(href), KEEP_MS);
}
