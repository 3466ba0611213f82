/**
 * CSV as spreadsheets write it (RFC 4180), and lines, which are CSV of one column. Reading keeps every character of a cell;
 * text that is no CSV is kept as it is and named as a fault. Formulas are written so that no spreadsheet runs them, and read
 * back unchanged.
 */

import { figure } from "./locale.js";

/** If several fit, the first wins: texts and numbers contain commas too. */
const DELIMITERS = ["\t", ";", "|", ","];

/** The characters that show the delimiter of a text. */
const HEAD_LENGTH = 65_536;
const HEAD_ROWS = 20;

/** The limits of reading: a spreadsheet's cell is shorter than the first, and more cells than the second fill the memory. */
const MAX_QUOTED_LENGTH = 100_000;
const MAX_CELLS = 2_000_000;
const MAX_FAULTS = 100;

/** The characters read between two pauses. */
const SLICE_LENGTH = 32_768;

const [QUOTE, LF, CR, BOM] = [0x22, 0x0a, 0x0d, 0xfeff];

/** The first line that tells Excel the delimiter. */
const SEPARATOR_LINE = /^\ufeff?sep=(.)(?:\r\n|\n|\r|$)/i;

/** Formulas to spreadsheets (OWASP, "CSV Injection"), after escapes, blanks and invisible characters. */
const FORMULA = /^['\s\p{C}\p{Default_Ignorable_Code_Point}\u2800]*[=+\-@\t\r\n＝＋－＠]/u;

/** Files that are not text: their first bytes, other marks near the start, and their names. */
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

/** How far to look for the name of an archive's first parts. */
const ARCHIVE_HEAD = 4096;

/** A sentence that refuses a file that is no text; undefined if it may be one. */
export function binaryText(bytes) {
  const head = String.fromCharCode(...bytes.subarray(0, ARCHIVE_HEAD));
  const found = BINARIES.find(([begin, name]) => head.startsWith(begin) && (!name || head.includes(name)));
  if (found) return `This is ${found[2]}. ${/workbook|spreadsheet/.test(found[2]) ? "Save it as CSV." : "Choose a CSV or text file."}`;
  const isUtf16 = /^(\xff\xfe|\xfe\xff|[^\0]\0|\0[^\0])/.test(head);
  const isText = isUtf16 || !head.includes("\0");
  return isText ? undefined : "This is not a text file. Choose a CSV or text file.";
}

/** The text of a file: UTF-16 by its byte order mark or zeros, otherwise UTF-8, otherwise Windows-1252. */
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
 * The cells of a text: `{ delimiter, rows, lines, faults }`, without blank lines. `lines` has the first line of each row, and
 * `faults` are `{ line, message }`, at most 100. Without a `delimiter` it is detected, or named by a first line such as
 * `sep=;`, which is no row; with `""` each line is one cell.
 */
export function parseCsv(text, options) {
  const reading = readingCsv(text, options);
  let step = reading.next();
  while (!step.done) step = reading.next();
  return step.value;
}

/** Like `parseCsv`, with a pause after each slice: long texts do not block the page. */
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
    if (isQuoted && end === undefined) fault(at, "A cell starts with a quotation mark but does not end with one. It is read unchanged.");
    const isCell = end !== undefined;
    end ??= at;
    while (!isCell && !isEnd(text, end, delimiter)) {
      end = scanned(text, end, delimiter);
      if (end - paused > SLICE_LENGTH) yield (paused = end);
    }
    const cell = isCell ? text.slice(at + 1, end - 1).replaceAll('""', '"') : text.slice(at, end);
    const isRowEnd = text[end] !== delimiter;
    // A blank line is no row; an empty cell is quoted if it is alone.
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
  // The text ended with a delimiter, or the rest was not read.
  if (row.length > 0) {
    rows.push(at >= text.length ? [...row, ""] : row);
    lines.push(line);
  }
  return { delimiter, rows, lines, faults };
}

/**
 * Rows as a text, with the list's `delimiter` between cells, or a comma. A cell that a reader could change is quoted,
 * whichever delimiter it looks for.
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

/** True if the cell ends here: at the delimiter, or the end of the line or text. */
function isEnd(text, at, delimiter) {
  const code = text.charCodeAt(at);
  return code === LF || code === CR || at >= text.length || text[at] === delimiter;
}

/** The end of the cell, or of the search for it. */
function scanned(text, from, delimiter) {
  const limit = Math.min(text.length, from + SLICE_LENGTH);
  const separator = delimiter === "" ? LF : delimiter.charCodeAt(0);
  for (let at = from; at < limit; at += 1) {
    const code = text.charCodeAt(at);
    if (code === separator || code === LF || code === CR) return at;
  }
  return limit;
}

/** The end of a quoted cell, after its last quotation mark; undefined without one. */
function quotedEnd(text, from, delimiter) {
  let at = text.indexOf('"', from + 1);
  while (at >= 0 && at - from < MAX_QUOTED_LENGTH && text.charCodeAt(at + 1) === QUOTE) at = text.indexOf('"', at + 2);
  return at >= 0 && at - from < MAX_QUOTED_LENGTH && isEnd(text, at + 1, delimiter) ? at + 1 : undefined;
}

/** The delimiter with which most of the first rows have as many columns as the first; none if that is one column. */
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

/** Counts the lines up to a place; the places must ascend. */
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
