/**
 * Requests to the host: adds a token, returns answers as values, throws problem documents as `TillgateError`. Knows paths and
 * statuses, but no catalog.
 */

import { toText } from "./engine.js";
import { TillgateError, requireConditionId, unknownCondition } from "./error.js";
import { readDecisionOptions, readOptions } from "./options.js";
import { retryAfterMs, toSource } from "./token.js";

export class Host {
  #url;
  #token;
  #fetch;

  /** `url` is the address of the host, `token` a token or a token source. */
  constructor(options) {
    const { url, token, fetch = globalThis.fetch.bind(globalThis) } = readOptions(options);
    this.#url = String(url).replace(/\/+$/, "");
    this.#token = toSource(token);
    this.#fetch = fetch;
  }

  /**
   * Sends a request and returns the response if it is a success or a 304. If the token is refused, tries once with a new one.
   */
  async request(path, { method = "GET", headers = {}, body, signal } = {}) {
    const send = async (options) => {
      const token = await this.#getToken(options);
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
    throw await errorOf(response, this.#url);
  }

  /**
   * Returns the host's decision by a condition, and the SHA-256 of the module that made it. With `explain: true`, here and
   * below, each result says what was compared; with `lenient: true` unknown members are ignored.
   */
  async evaluateCondition(conditionId, request, options) {
    requireConditionId(conditionId);
    const path = `/api/v1/conditions/${encodeURIComponent(conditionId)}/evaluate`;
    try {
      return await this.#evaluate(path, request, options);
    } catch (error) {
      if (error.code !== "condition_not_found") throw error;
      const { engine, correlationId } = error;
      throw Object.assign(unknownCondition(conditionId), { engine, correlationId });
    }
  }

  /** Returns the host's decision by a project's restrictions. */
  async evaluateProjectRestrictions(request, options) {
    return this.#evaluate("/api/v1/project-restrictions/evaluate", request, options);
  }

  /** Returns the host's decision about a basket. */
  async evaluateBasket(request, options) {
    return this.#evaluate("/api/v1/evaluations", request, options);
  }

  /** Returns a token. An error of the source that is not this package's becomes the cause of one that is. */
  async #getToken(options) {
    try {
      return await this.#token(options);
    } catch (cause) {
      if (cause instanceof TillgateError) throw cause;
      throw new TillgateError({ code: "unavailable", message: `there is no token: ${cause?.message ?? cause}`, cause });
    }
  }

  async #evaluate(path, request, options) {
    const { signal, explain, lenient } = readDecisionOptions(options, ["signal"]);
    const asked = explain ? `${path}?explain=true` : path;
    const headers = lenient ? { Prefer: "handling=lenient" } : {};
    const response = await this.request(asked, { method: "POST", headers, body: toText(request, "request"), signal });
    return { decision: await readJson(response), engine: response.headers.get("Tillgate-Engine") };
  }
}

export async function readText(response) {
  try {
    return await response.text();
  } catch (cause) {
    if (cause.name === "AbortError") throw cause;
    throw new TillgateError({ code: "unavailable", message: "the connection to the host ended before its answer did", cause });
  }
}

export async function readJson(response) {
  const text = await readText(response);
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw wrongHost(response.url, "an answer that is not JSON", { cause });
  }
}

/** Throws an error if a response has no events, because something other than a host answered. */
export function requireStream({ headers, url }) {
  const type = headers.get("Content-Type") ?? "text/event-stream";
  if (!type.startsWith("text/event-stream")) throw wrongHost(url, `${type} instead of events`);
}

/** The error for an answer that no host sends: the address is wrong, or something in front of the host answered. */
export const wrongHost = (url, answer, more) =>
  new TillgateError({ code: "wrong_host", message: `${url} is not the address of a Tillgate host: it has sent ${answer}`, ...more });

/** The code of an answer without a problem document, which something in front of the host has sent. */
function codeOf(status) {
  if (status === 401) return "unauthenticated";
  return status === 429 || status >= 500 ? "unavailable" : "refused";
}

/** The error of a response. A 400 lists its faults as sentences that begin with the path. */
async function errorOf(response, url) {
  const { status } = response;
  const body = (await response.json().catch(() => undefined)) ?? {};
  const isProblem = response.headers.get("Content-Type")?.startsWith("application/problem+json") && typeof body.code === "string";
  if (status === 404 && (!isProblem || body.code === "path_not_found")) return wrongHost(url, "a 404 that no host sends here", { status });
  const code = isProblem ? body.code : codeOf(status);
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
