/**
 * CSV as spreadsheets write it (RFC 4180), and lines, which are CSV of one column. Reading keeps every character of a cell;
 * what cannot be CSV is kept as it stands and named as a fault. Formulas are written so that no spreadsheet runs them, and
 * read back as they were.
 */

import { figure } from "./locale.js";

/** Of several that fit, the first is taken: a comma is also in texts and numbers. */
const DELIMITERS = ["\t", ";", "|", ","];

/** So much of a text shows its delimiter. */
const HEAD_LENGTH = 65_536;
const HEAD_ROWS = 20;

/** No more is read: what a spreadsheet has in one cell is below the first, and more cells than the second fill the memory. */
const MAX_QUOTED_LENGTH = 100_000;
const MAX_CELLS = 2_000_000;
const MAX_FAULTS = 100;

/** Between two pauses, so many characters are read. */
const SLICE_LENGTH = 32_768;

const [QUOTE, LF, CR, BOM] = [0x22, 0x0a, 0x0d, 0xfeff];

/** The first line by which Excel is told the delimiter. */
const SEPARATOR_LINE = /^\ufeff?sep=(.)(?:\r\n|\n|\r|$)/i;

/** What spreadsheets take for a formula (OWASP, "CSV Injection"), after what keeps them from it, blanks, and what is not seen. */
const FORMULA = /^['\s\p{C}\p{Default_Ignorable_Code_Point}\u2800]*[=+\-@\t\r\n＝＋－＠]/u;

/** What files that are not text begin with, what else stands near their beginning, and what people call them. */
const BINARIES = [
  ["\xd0\xcf\x11\xe0", "", "an Excel workbook"],
  ["PK\x03\x04", "word/", "a Word document"],
  ["PK\x03\x04", "ppt/", "a presentation"],
  ["PK\x03\x04", "[Content_Types].xml", "an Excel workbook"],
  ["PK\x03\x04", "opendocument.spreadsheet", "an OpenDocument spreadsheet"],
  ["PK\x03\x04", "", "a zip archive"],
  ["%PDF-", "", "a PDF document"],
  ["\x1f\x8b", "", "a compressed file"],
];

/** How far the name of an archive's first parts is looked for. */
const ARCHIVE_HEAD = 4096;

/** A sentence that refuses a file which is no text; undefined for one that may be. */
export function binaryText(bytes) {
  const head = String.fromCharCode(...bytes.subarray(0, ARCHIVE_HEAD));
  const found = BINARIES.find(([begin, name]) => head.startsWith(begin) && (!name || head.includes(name)));
  if (found) return `This is ${found[2]}. ${/workbook|spreadsheet/.test(found[2]) ? "Save it as CSV." : "Choose a CSV or text file."}`;
  const isUtf16 = /^(\xff\xfe|\xfe\xff|[^\0]\0|\0[^\0])/.test(head);
  const isText = isUtf16 || !head.includes("\0");
  return isText ? undefined : "This is not a text file. Choose a CSV or text file.";
}

/** The text of a file: UTF-16 by its byte order mark or its zeros, otherwise UTF-8, otherwise what Windows writes in the West. */
export function decodeText(bytes) {
  const [first, second] = bytes;
  if ((first === 0xff && second === 0xfe) || (first > 0 && second === 0)) return new TextDecoder("utf-16le").decode(bytes);
  if ((first === 0xfe && second === 0xff) || (first === 0 && second > 0)) return new TextDecoder("utf-16be").decode(bytes);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder("windows-1252").decode(bytes);
  }
}

/**
 * The cells of a text: `{ delimiter, rows, lines, faults }`, without its blank lines. `lines` has for each row the line that
 * it begins in, and `faults` are `{ line, message }`, at most 100.
 * Without a `delimiter` it is found, or named by a first line such as `sep=;`, which is no row; `""` is none, and each line
 * one cell.
 */
export function parseCsv(text, options) {
  const reading = readingCsv(text, options);
  let step = reading.next();
  while (!step.done) step = reading.next();
  return step.value;
}

/** As `parseCsv`, with a pause after each slice: what is long is read without holding up the page. */
export function* readingCsv(text, { delimiter: wanted, maxRows = Infinity } = {}) {
  const [separatorLine, named] = SEPARATOR_LINE.exec(text) ?? ["", undefined];
  const delimiter = wanted ?? named ?? delimiterOf(text);
  const rows = [];
  const faults = [];
  const lines = [];
  const lineOf = lineCount(text);
  const fault = (at, message) => faults.length < MAX_FAULTS && faults.push({ line: lineOf(at), message });
  let row = [];
  let line = 1;
  let cells = 0;
  let at = separatorLine.length || (text.charCodeAt(0) === BOM ? 1 : 0);
  let paused = at;
  while (at < text.length && rows.length < maxRows) {
    if (row.length === 0) line = lineOf(at);
    const isQuoted = text.charCodeAt(at) === QUOTE;
    let end = isQuoted ? quotedEnd(text, at, delimiter) : undefined;
    if (isQuoted && end === undefined) fault(at, "A cell begins with a quotation mark that does not end it. It is taken as it stands.");
    const isCell = end !== undefined;
    end ??= at;
    while (!isCell && !isEnd(text, end, delimiter)) {
      end = scanned(text, end, delimiter);
      if (end - paused > SLICE_LENGTH) yield (paused = end);
    }
    const cell = isCell ? text.slice(at + 1, end - 1).replaceAll('""', '"') : text.slice(at, end);
    const isRowEnd = text[end] !== delimiter;
    // A blank line is none; a cell that is empty is quoted when it is alone.
    if (row.length > 0 || !isRowEnd || isCell || cell !== "") row.push(cell[0] === "'" && FORMULA.test(cell) ? cell.slice(1) : cell);
    if (isRowEnd && row.length > 0) {
      cells += row.length;
      rows.push(row);
      lines.push(line);
      row = [];
    }
    if (cells + row.length >= MAX_CELLS) {
      fault(at, `There are more than ${figure(MAX_CELLS)} cells. The rest was not read.`);
      break;
    }
    at = end + (text.charCodeAt(end) === CR && text.charCodeAt(end + 1) === LF ? 2 : 1);
    if (at - paused > SLICE_LENGTH) yield (paused = at);
  }
  // A delimiter was the last character, or the rest was not read.
  if (row.length > 0) {
    rows.push(at >= text.length ? [...row, ""] : row);
    lines.push(line);
  }
  return { delimiter, rows, lines, faults };
}

/**
 * Rows as a text, with the `delimiter` of the list that they are of between cells, or else a comma. A cell that a reader could
 * change is quoted, whichever delimiter it looks for.
 */
export function writeCsv(rows, delimiter) {
  const quoted = (cell) => `"${cell.replaceAll('"', '""')}"`;
  const written = (cell, isAlone) => {
    if (FORMULA.test(cell)) return quoted(`'${cell}`);
    return /[",;|\t\r\n\ufeff]|^\s|\s$/.test(cell) || (isAlone && cell === "") ? quoted(cell) : cell;
  };
  const between = DELIMITERS.includes(delimiter) ? delimiter : ",";
  return rows.map((row) => `${row.map((cell) => written(String(cell), row.length === 1)).join(between)}\r\n`).join("");
}

/** Whether a cell ends here: at the delimiter, the end of the line or that of the text. */
function isEnd(text, at, delimiter) {
  const code = text.charCodeAt(at);
  return code === LF || code === CR || at >= text.length || text[at] === delimiter;
}

/** Where the cell ends, or how far it was looked for. */
function scanned(text, from, delimiter) {
  const limit = Math.min(text.length, from + SLICE_LENGTH);
  const separator = delimiter === "" ? LF : delimiter.charCodeAt(0);
  for (let at = from; at < limit; at += 1) {
    const code = text.charCodeAt(at);
    if (code === separator || code === LF || code === CR) return at;
  }
  return limit;
}

/** The end of a quoted cell, after its last quotation mark; undefined when it has none. */
function quotedEnd(text, from, delimiter) {
  let at = text.indexOf('"', from + 1);
  while (at >= 0 && at - from < MAX_QUOTED_LENGTH && text.charCodeAt(at + 1) === QUOTE) at = text.indexOf('"', at + 2);
  return at >= 0 && at - from < MAX_QUOTED_LENGTH && isEnd(text, at + 1, delimiter) ? at + 1 : undefined;
}

/** The delimiter with which most of the first rows have as many columns as the first one; none when that is one column. */
function delimiterOf(text) {
  const head = text.slice(0, HEAD_LENGTH);
  const agreeing = (delimiter) => {
    const { rows } = parseCsv(head, { delimiter, maxRows: HEAD_ROWS });
    const whole = head.length < text.length && rows.length > 1 && rows.length < HEAD_ROWS ? rows.slice(0, -1) : rows;
    const alike = whole.filter((row) => row.length === whole[0].length).length;
    return whole[0]?.length > 1 && alike * 2 > whole.length ? alike : 0;
  };
  const scores = DELIMITERS.map((delimiter) => [delimiter, agreeing(delimiter)]);
  return scores.reduce((best, next) => (next[1] > best[1] ? next : best), ["", 0])[0];
}

/** Counts the lines up to a place; the places are asked for in order. */
function lineCount(text) {
  let line = 1;
  let counted = -1;
  return (at) => {
    for (let next = text.indexOf("\n", counted + 1); next >= 0 && next < at; next = text.indexOf("\n", next + 1)) {
      line += 1;
      counted = next;
    }
    return line;
  };
}
