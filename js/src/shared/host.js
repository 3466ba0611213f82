/**
 * Requests to the host: with a token, answers as values, problem documents as `TillgateError`. Knows paths and
 * statuses, but no catalog.
 */

import { toText } from "./engine.js";
import { TillgateError } from "./error.js";
import { retryAfterMs, toSource } from "./token.js";

const CODES = {
  400: "invalid",
  401: "unauthenticated",
  403: "denied",
  404: "not_found",
  409: "conflict",
  412: "outdated",
  413: "too_large",
};

export class Host {
  #url;
  #token;
  #fetch;

  /** `url` is the address of the host, `token` a token or a token source. */
  constructor({ url, token, fetch = globalThis.fetch.bind(globalThis) }) {
    this.#url = String(url).replace(/\/+$/, "");
    this.#token = toSource(token);
    this.#fetch = fetch;
  }

  /**
   * Sends a request and returns the response if it is successful or a 304. If the token is refused, a new one is tried
   * once.
   */
  async request(path, { method = "GET", headers = {}, body, signal } = {}) {
    const send = async (options) => {
      const token = await this.#token(options);
      const json = body === undefined ? {} : { "Content-Type": "application/json" };
      const sent = { Authorization: `Bearer ${token}`, ...json, ...headers };
      try {
        return await this.#fetch(this.#url + path, { method, headers: sent, body, signal });
      } catch (cause) {
        if (signal?.aborted) throw cause;
        throw new TillgateError({ code: "unavailable", message: "the host cannot be reached", cause });
      }
    };
    let response = await send();
    if (response.status === 401) {
      await response.body?.cancel();
      response = await send({ fresh: true });
    }
    if (response.ok || response.status === 304) return response;
    throw await errorOf(response);
  }

  /** The host's decision by a condition, and the SHA-256 of the module that made it. */
  async evaluateCondition(conditionId, request, options) {
    const path = `/api/v1/conditions/${encodeURIComponent(conditionId)}/evaluate`;
    try {
      return await this.#evaluate(path, request, options);
    } catch (error) {
      if (!(error instanceof TillgateError) || error.code !== "not_found") throw error;
      // With the engine's message, so that the host and a catalog fail alike.
      const { status, engine, correlationId } = error;
      const message = "matches no enabled condition";
      const engineError = new TillgateError({ code: "not_found", path: "$.conditionId", message, status });
      throw Object.assign(engineError, { engine, correlationId });
    }
  }

  /** The host's decision by a project's restrictions. */
  async evaluateProjectRestrictions(request, options) {
    return this.#evaluate("/api/v1/project-restrictions/evaluate", request, options);
  }

  /** The host's decision about a basket. */
  async evaluateBasket(request, options) {
    return this.#evaluate("/api/v1/evaluations", request, options);
  }

  async #evaluate(path, request, { signal } = {}) {
    const response = await this.request(path, { method: "POST", body: toText(request), signal });
    return { decision: await response.json(), engine: response.headers.get("Tillgate-Engine") };
  }
}

/** The error of a response. A 400 lists its faults as sentences, each of which begins with its path. */
async function errorOf(response) {
  const { status } = response;
  const body = await response.json().catch(() => ({}));
  const code = CODES[status] ?? (status === 429 || status >= 500 ? "unavailable" : "refused");
  const sentences = Array.isArray(body.message) ? body.message : [body.message ?? `the host answered ${status}`];
  const faults = sentences.map((sentence) => {
    const [, path, message] = /^(\$(?:[.[](?:'(?:[^'\\]|\\.)*'|\S)*)?) (.*)$/s.exec(sentence) ?? [, "$", sentence];
    return { path, message };
  });
  const error = new TillgateError({ code, ...faults[0], faults, status });
  const { headers } = response;
  return Object.assign(error, {
    engine: headers.get("Tillgate-Engine") ?? undefined,
    correlationId: headers.get("Correlation-Id") ?? undefined,
    retryAfterMs: retryAfterMs(headers),
    deviations: Array.isArray(body.deviations) ? body.deviations : undefined,
    isStale: headers.has("Tillgate-Stale") || undefined,
  });
}
