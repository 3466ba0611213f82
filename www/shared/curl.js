/**
 * A request as a curl command, with placeholders for the secrets that the page does not have.
 */

/** The placeholder of each scheme. */
const PLACEHOLDERS = new Map([["bearer", "Bearer $TOKEN"], ["basic", "Basic $CREDENTIALS"]]);

/** Headers that curl sets itself. */
const LEFT_OUT = new Set(["host", "content-length", "connection", "accept-encoding", "transfer-encoding"]);

/**
 * The command that sends `{ method, url, headers, body }` as is: curl takes no part of it for a pattern or a file name.
 * Instead of a body there may be a `file`, or the `parts` of a form, `{ name, value, file }`. `options` are written unchanged.
 */
export function curlOf({ method = "POST", url, headers, body, file, parts = [], options = [] }) {
  const sent = Object.entries(headers).filter(([name]) => !LEFT_OUT.has(name.toLowerCase()));
  const lines = [
    `curl --globoff --request ${method} ${quoted(url)}`,
    ...options,
    ...sent.map(([name, value]) => `--header ${header(name, value)}`),
    ...parts.map(part),
    ...(file === undefined ? [] : [`--data-binary ${quoted(`@${file}`)}`]),
    ...(body === undefined ? [] : [`--data-raw ${quoted(body)}`]),
  ];
  return lines.join(" \\\n  ");
}

const part = ({ name, value, file }) => (file ? `--form ${quoted(`${name}=@"${file.replace(/[\\"]/g, "\\$&")}"`)}` : `--form-string ${quoted(`${name}=${value}`)}`);

/** A header; a secret is a shell variable, so that it need not be typed into the command. */
function header(name, value) {
  if (name.toLowerCase() !== "authorization") return quoted(`${name}: ${value}`);
  return `"${name}: ${PLACEHOLDERS.get(value.split(" ")[0].toLowerCase()) ?? "$AUTHORIZATION"}"`;
}

/** A text as one word of the shell, whatever it contains. */
const quoted = (text) => `'${String(text).replaceAll("'", "'\\''")}'`;
