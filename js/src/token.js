/**
 * Where tokens come from. A token source is a function that answers a token; `{ fresh: true }` asks for another than the
 * last, because that one was refused. Nothing is kept but in memory.
 */

import { TillgateError } from "./error.js";

/** Tokens are replaced that long before they expire. */
const MARGIN_MS = 60_000;

/** Browsers must not ask for a password of their own when a secret is refused; elsewhere nobody would, and some refuse to be told. */
const ANONYMOUS = "credentials" in Request.prototype ? { credentials: "omit" } : {};

/** A token source: a client's credentials, exchanged at the token endpoint when a token is needed. */
export function clientCredentials({ tokenUrl, clientId, clientSecret, audience, fetch = globalThis.fetch.bind(globalThis) }) {
  const basic = btoa(`${encodeURIComponent(clientId)}:${encodeURIComponent(clientSecret)}`);
  let held;
  let asking;

  const ask = async () => {
    const body = new URLSearchParams({ grant_type: "client_credentials", audience });
    let response;
    try {
      response = await fetch(tokenUrl, { method: "POST", headers: { Authorization: `Basic ${basic}` }, body, ...ANONYMOUS });
    } catch (cause) {
      throw new TillgateError({ code: "unavailable", message: "the token service cannot be reached", cause });
    }
    const answer = await response.json().catch(() => ({}));
    if (!response.ok) {
      const code = response.status === 401 || response.status === 400 ? "unauthenticated" : "unavailable";
      const message = answer.error_description ?? `the token service answered ${response.status}`;
      const error = new TillgateError({ code, message, status: response.status });
      throw Object.assign(error, { retryAfterMs: retryAfterMs(response.headers) });
    }
    const lifetime = Math.max(answer.expires_in * 1000 - MARGIN_MS, answer.expires_in * 500);
    held = { token: answer.access_token, until: performance.now() + lifetime };
    return held.token;
  };

  return async ({ fresh = false } = {}) => {
    if (!fresh && held !== undefined && performance.now() < held.until) return held.token;
    asking ??= ask().finally(() => (asking = undefined));
    return asking;
  };
}

/** How long an answer asks to wait, when it does. */
export const retryAfterMs = (headers) => Number(headers.get("Retry-After")) * 1000 || undefined;

/** A token source of a token, or the source itself. */
export const toSource = (token) => (typeof token === "function" ? token : async () => token);
