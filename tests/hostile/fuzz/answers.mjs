// The rules for every answer, whatever the request (`platform.md`, "HTTP conventions"; RFC 6749, 5.2, at the token endpoint).

import { gunzipSync } from "node:zlib";

import { MAX_ERROR } from "../wire.mjs";

/** The statuses of errors, with the header that each must have. */
const ERRORS = {
  400: undefined,
  401: "www-authenticate",
  403: undefined,
  404: undefined,
  405: "allow",
  406: undefined,
  409: undefined,
  412: undefined,
  413: undefined,
  414: undefined,
  415: undefined,
  429: "retry-after",
  431: undefined,
  503: "retry-after",
};

/** Refusals by HTTP itself, before there is a body to point into. */
const OF_HTTP = ["the path must be percent-encoded UTF-8", "the body did not arrive whole"];

const TOKEN_ERRORS = ["invalid_request", "invalid_client", "unsupported_grant_type", "invalid_scope", "temporarily_unavailable"];

/** The fault of an answer to a request, as a sentence; nothing if all is well. */
export function faultOf({ status, headers, body, why }, { method, path }) {
  if (status === 0) return `there was no answer: ${why}`;
  if (status >= 400 && !(status in ERRORS)) return `the status is ${status}`;
  // The server's own answers to a head that it does not read to the end.
  if ([414, 431].includes(status) && body.length === 0) return undefined;
  if (headers["x-content-type-options"] !== "nosniff") return "there is no X-Content-Type-Options";
  const needed = ERRORS[status];
  if (needed && !headers[needed]) return `a ${status} has no ${needed}`;
  if (body.length === 0) return method === "HEAD" || status < 400 ? undefined : `a ${status} has no body`;
  if (!/json/.test(headers["content-type"] ?? "")) return status < 400 ? undefined : `a ${status} is ${headers["content-type"]}`;
  let answered;
  try {
    const bytes = headers["content-encoding"] === "gzip" ? gunzipSync(body) : body;
    answered = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    return `a ${status} says that it is JSON, and is not`;
  }
  if (status < 400) return undefined;
  if (body.length > MAX_ERROR) return `an error has ${body.length} bytes`;
  return path.split("?")[0] === "/oauth2/token" ? tokenFault(answered, status, headers) : problemFault(answered, status, headers);
}

function tokenFault({ error, error_description: description }, status, headers) {
  if (!TOKEN_ERRORS.includes(error)) return `a ${status} has the error ${error}`;
  if (!/^[ !#-[\]-~]+$/.test(description)) return `a ${status} has the description ${description}`;
  return headers["cache-control"] === "no-store" && headers.pragma === "no-cache" ? undefined : `a ${status} may be cached`;
}

/** RFC 9457, and the members that existing clients read. */
function problemFault(problem, status, headers) {
  if (!headers["content-type"].startsWith("application/problem+json")) return `a ${status} is ${headers["content-type"]}`;
  const { type, title, detail, instance, error, message } = problem;
  if (![type, title, detail, instance, error].every((member) => typeof member === "string" && member !== "")) return `a ${status} lacks members: ${JSON.stringify(problem).slice(0, 300)}`;
  if (problem.status !== status || problem.statusCode !== status) return `a ${status} says that it is ${problem.status}, ${problem.statusCode}`;
  if (!/^[a-z][a-z_]+$/.test(problem.code)) return `a ${status} has the code ${problem.code}`;
  if (instance !== `urn:uuid:${headers["correlation-id"]}`) return `a ${status} names ${instance}, its header ${headers["correlation-id"]}`;
  if (status !== 400) return typeof message === "string" ? undefined : `the message of a ${status} is no text`;
  if (!Array.isArray(message) || message.length === 0) return "the message of a 400 is no list";
  const isPlaced = (text) => text.startsWith("$") || OF_HTTP.includes(text) || /^\d+ more are not listed$/.test(text);
  const other = message.find((text) => typeof text !== "string" || !isPlaced(text));
  return other === undefined ? undefined : `a 400 does not say where: ${String(other).slice(0, 200)}`;
}
