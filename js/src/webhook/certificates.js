/**
 * The certificates that an identity provider publishes as `{ kid: PEM }`, fetched when needed and kept. Known ones stay in use
 * while the address cannot be reached, and tokens that name unknown ones cause at most one fetch in 30 seconds, whether it
 * succeeds or fails.
 */

import { withTimeout } from "../shared/deadline.js";
import { fetchOptions } from "../shared/token.js";
import { parseCertificate } from "./certificate.js";
import { WebhookError } from "./error.js";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

const TIMEOUT_MS = 5_000;
const MAX_BYTES = 256 * 1024;

/** The minimum time between two fetches. */
const PAUSE_MS = 30_000;

/** The time for which certificates are up to date: their `max-age` within these bounds, or an hour if there is none. */
const MIN_AGE_MS = 5 * MINUTE_MS;
const MAX_AGE_MS = 24 * HOUR_MS;
const DEFAULT_AGE_MS = HOUR_MS;

/** After this part of their age they are fetched in the background. */
const EARLY = 0.8;

/** How much longer they are used while the address cannot be reached. */
const STALE_MS = 24 * HOUR_MS;

export class FixedCertificates {
  #held;

  constructor(published) {
    this.#held = readCertificates(published);
  }

  async get(kid) {
    const certificate = this.#held.get(kid);
    if (certificate === undefined) throw new WebhookError({ code: "unknown_kid" });
    return certificate;
  }
}

export class PublishedCertificates {
  #url;
  #fetch;
  #now;
  #held = new Map();
  #fetchedAt = Infinity;
  #maxAgeMs = 0;
  #attemptedAt = Infinity;
  #failure;
  #pending;

  constructor({ url, fetch, now }) {
    this.#url = url;
    this.#fetch = fetch;
    this.#now = now;
  }

  /** Returns the certificate with this id; the error says if there is none, or if that is unknown now. */
  async get(kid) {
    const known = this.#known(kid);
    const isFresh = this.#isWithin(this.#maxAgeMs);
    if (known !== undefined && isFresh) {
      if (!this.#isWithin(this.#maxAgeMs * EARLY)) this.#refresh();
      return known;
    }
    const refreshed = this.#refresh();
    // While the address is down, only callers without a certificate wait.
    if (known === undefined || this.#failure === undefined) await refreshed;
    const certificate = this.#known(kid);
    if (certificate !== undefined) return certificate;
    if (this.#failure === undefined) throw new WebhookError({ code: "unknown_kid" });
    const retryAfterMs = Math.max(1000, this.#attemptedAt + PAUSE_MS - this.#now());
    throw new WebhookError({ code: "certificates_unavailable", cause: this.#failure, retryAfterMs });
  }

  #known(kid) {
    return this.#isWithin(this.#maxAgeMs + STALE_MS) ? this.#held.get(kid) : undefined;
  }

  /** True if the certificates are younger. Those from the future are not: the clock was set back. */
  #isWithin(ageMs) {
    const age = this.#now() - this.#fetchedAt;
    return age >= 0 && age < ageMs;
  }

  /** Returns the fetch under way, and starts one if it is time. It never rejects. */
  #refresh() {
    const pause = this.#now() - this.#attemptedAt;
    const isPausing = pause >= 0 && pause < PAUSE_MS;
    if (this.#pending === undefined && !isPausing) {
      this.#attemptedAt = this.#now();
      this.#pending = this.#fetchAll().finally(() => (this.#pending = undefined));
    }
    return this.#pending;
  }

  async #fetchAll() {
    const abort = new AbortController();
    try {
      const { published, maxAgeMs } = await withTimeout(download(this.#fetch, this.#url, abort.signal), TIMEOUT_MS);
      const held = readCertificates(published);
      if (held.size === 0) throw new Error("no certificate with an RSA key is published");
      this.#held = held;
      this.#fetchedAt = this.#now();
      this.#maxAgeMs = maxAgeMs;
      this.#failure = undefined;
    } catch (error) {
      this.#failure = error;
    } finally {
      abort.abort();
    }
  }
}

/** Returns the readable certificates, by id. An unreadable one does not affect the others. */
function readCertificates(published) {
  const read = Object.entries(published).map(([kid, text]) => [kid, parseCertificate(text)]);
  return new Map(read.filter(([, certificate]) => certificate !== undefined));
}

async function download(fetch, url, signal) {
  const headers = { Accept: "application/json" };
  const response = await fetch(url, { headers, redirect: "manual", signal, ...fetchOptions() });
  if (response.status !== 200) throw new Error(`the address of the certificates answered ${response.status}`);
  const published = JSON.parse(await readText(response.body));
  if (published === null || typeof published !== "object") throw new Error("the certificates are not a JSON object");
  return { published, maxAgeMs: readMaxAgeMs(response.headers) };
}

async function readText(body) {
  const decoder = new TextDecoder();
  const reader = body.getReader();
  let text = "";
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    size += value.length;
    if (size > MAX_BYTES) throw new Error(`the certificates are larger than ${MAX_BYTES} bytes`);
    text += decoder.decode(value, { stream: true });
  }
}

/** Returns how long the certificates are up to date, less the time that caches on the way have used. */
function readMaxAgeMs(headers) {
  const [, maxAge] = /(?:^|[\s,])max-age="?(\d{1,9})/i.exec(headers.get("Cache-Control") ?? "") ?? [];
  if (maxAge === undefined) return DEFAULT_AGE_MS;
  const age = Number(/^\d{1,9}$/.exec(headers.get("Age") ?? "") ?? 0);
  return Math.min(Math.max((Number(maxAge) - age) * 1000, MIN_AGE_MS), MAX_AGE_MS);
}
