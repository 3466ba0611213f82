/**
 * Token sources: functions that return a token. `{ fresh: true }` asks for a new one, because the last was refused. Tokens are
 * kept in memory only.
 */

import { withTimeout } from "./deadline.js";
import { TillgateError } from "./error.js";
import { readCredentials } from "./options.js";

/** How long before its expiry a token is replaced. */
const MARGIN_MS = 60_000;

/**
 * Options of `fetch` that keep browsers from asking for a password when a secret is refused. Other runtimes never ask, and
 * some reject the option.
 */
export const fetchOptions = () => ("credentials" in (globalThis.Request?.prototype ?? {}) ? { credentials: "omit" } : {});

/** The codes for statuses of a token service. */
const CODES = { 400: "unauthenticated", 401: "unauthenticated", 404: "wrong_host", 405: "wrong_host" };

/** Returns a token source that exchanges a client's credentials at the token endpoint when a token is needed. */
export function clientCredentials(options) {
  const { tokenUrl, clientId, clientSecret, audience, fetch = globalThis.fetch.bind(globalThis) } = readCredentials(options);
  const basic = btoa(`${encodeURIComponent(clientId)}:${encodeURIComponent(clientSecret)}`);
  let cached;
  let pending;

  const fetchToken = async () => {
    const body = new URLSearchParams({ grant_type: "client_credentials", audience });
    const headers = { Authorization: `Basic ${basic}` };
    const send = async () => {
      const response = await fetch(tokenUrl, { method: "POST", headers, body, ...fetchOptions() });
      return { response, answer: await response.json().catch(() => ({})) };
    };
    let sent;
    try {
      sent = await withTimeout(send());
    } catch (cause) {
      throw new TillgateError({ code: "unavailable", message: "the token service cannot be reached", cause });
    }
    const { response, answer } = sent;
    if (!response.ok) {
      const code = CODES[response.status] ?? "unavailable";
      const message = answer.error_description ?? `the token service answered ${response.status}`;
      const error = new TillgateError({ code, message, status: response.status });
      throw Object.assign(error, { retryAfterMs: retryAfterMs(response.headers) });
    }
    if (typeof answer?.access_token !== "string") {
      throw new TillgateError({ code: "wrong_host", message: `${tokenUrl} is not the address of a token service: its answer has no token` });
    }
    const lifetime = Math.max(answer.expires_in * 1000 - MARGIN_MS, answer.expires_in * 500);
    cached = { token: answer.access_token, until: performance.now() + lifetime };
    return cached.token;
  };

  return async ({ fresh = false } = {}) => {
    if (!fresh && cached !== undefined && performance.now() < cached.until) return cached.token;
    pending ??= fetchToken().finally(() => (pending = undefined));
    return pending;
  };
}

/** How long a response asks to wait; undefined if it does not. */
export const retryAfterMs = (headers) => Number(headers.get("Retry-After")) * 1000 || undefined;

/** Returns a token source for a token; a token source is returned as is. */
export const toSource = (token) => (typeof token === "function" ? token : async () => token);
