/**
 * A pasted request: the text of HTTP, or only its headers. Other lines are reported, not guessed.
 */

const LINE = /\r\n|\n|\r/;
const REQUEST_LINE = /^[A-Z]+ \S+( HTTP\/[\d.]+)?$/;
const HEADER = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+)[ \t]*:[ \t]*(.*?)[ \t]*$/;

/** Splits the text of a request at its first empty line: `{ head, body? }`. A text without one is all headers. */
export function splitRequest(text) {
  const [, head, body] = /^(?:\r\n|\n)*(.+?)(?:\r\n\r\n|\n\n|\r\r)(.*)$/s.exec(text) ?? [];
  if (head === undefined || body.trim() === "") return { head: text };
  return { head, body: body.replace(/[\r\n]+$/, "") };
}

/** Reads headers: `{ headers, unread }`. `headers` maps a name in lower case to its values, `unread` are other lines. */
export function readHeaders(head) {
  const headers = new Map();
  const unread = [];
  const lines = head.split(LINE).filter((line) => line.trim() !== "");
  for (const [at, line] of lines.entries()) {
    const [, name, value] = HEADER.exec(line.trim()) ?? [];
    if (name !== undefined) headers.set(name.toLowerCase(), [...(headers.get(name.toLowerCase()) ?? []), value]);
    else if (at > 0 || !REQUEST_LINE.test(line.trim())) unread.push(line.trim());
  }
  return { headers, unread };
}

/** Headers of an object as text. */
export const writeHeaders = (headers) =>
  Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join("\n");
