/**
 * Saves a text as a file.
 */

import { h } from "./dom.js";

/** How long a browser may take to start the download. */
const KEEP_MS = 60_000;

/** The extension for a delimiter: spreadsheets do not look for tabs in a csv file. */
export const endingOf = (delimiter) => (delimiter === "\t" ? ".tsv" : ".csv");

/** Saves parts of CSV text. The byte order mark tells spreadsheets that it is UTF-8. */
export function downloadCsv(name, parts) {
  const href = URL.createObjectURL(new Blob(["\ufeff", ...parts], { type: "text/csv;charset=utf-8" }));
  h("a", { href, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(href), KEEP_MS);
}
