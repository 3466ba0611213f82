/**
 * The envelope of an event in readable form: its `data` is base64 of the published data.
 */

import { fromBase64 } from "../../js/src/shared/base64.js";

/** The envelope in a body, or undefined if the body is not a JSON object. */
export function readEnvelope(body) {
  try {
    const envelope = JSON.parse(body);
    return typeof envelope === "object" && envelope !== null && !Array.isArray(envelope) ? envelope : undefined;
  } catch {
    return undefined;
  }
}

/** The data of an envelope as text, with line breaks if it is JSON; undefined if it cannot be decoded. */
export function dataText({ data, dataencoding = "base64" }) {
  if (typeof data !== "string" || dataencoding !== "base64") return undefined;
  const bytes = fromBase64(data);
  if (bytes === undefined) return undefined;
  const text = new TextDecoder().decode(bytes);
  try {
    JSON.parse(text);
    return indented(text);
  } catch {
    return text;
  }
}

/** JSON with line breaks. Its strings and numbers stay as written: parsing could change numbers. */
function indented(json) {
  const tokens = json.match(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g) ?? [];
  let depth = 0;
  const line = () => `\n${"  ".repeat(depth)}`;
  return tokens
    .map((token, at) => {
      if (token === ":") return ": ";
      if (token === ",") return `,${line()}`;
      if (token === "{" || token === "[") return isOpenAndEmpty(token, tokens[at + 1]) ? token : ((depth += 1), `${token}${line()}`);
      if (token === "}" || token === "]") return isOpenAndEmpty(tokens[at - 1], token) ? token : ((depth -= 1), `${line()}${token}`);
      return token;
    })
    .join("");
}

const isOpenAndEmpty = (one, next) => (one === "{" && next === "}") || (one === "[" && next === "]");
