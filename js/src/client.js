/**
 * A catalog that keeps itself up to date: fetched, followed by its changes, decided with here. While it is not there the
 * host is asked instead, so an answer never waits for it.
 *
 * States: STARTING until the first catalog, READY while changes are followed, STALE while they are not (decisions go on
 * with the last catalog), CLOSED.
 */

import { Catalog } from "./catalog.js";
import { events } from "./changes.js";
import { TillgateError } from "./error.js";
import { Host } from "./host.js";
import { init } from "./load.js";

export { Host } from "./host.js";
export { clientCredentials } from "./token.js";

const FIRST_DELAY_MS = 500;
const LAST_DELAY_MS = 30_000;

/** How often, and how long between, a catalog is asked for that is not yet the one announced: hosts differ for a second. */
const LOOKS = 8;
const LOOK_MS = 250;

/** Errors of this side: the host can still decide. */
const OURS = new Set(["trap", "too_large", "not_ready", "wrong_module", "freed"]);

export class CatalogClient extends EventTarget {
  #host;
  #catalog;
  #document;
  #state = "STARTING";
  #since = performance.now();
  #maxStaleMs;
  #ready = Promise.withResolvers?.() ?? resolvers();
  #wake = () => {};
  #connection = new AbortController();
  #resumed;

  /** `url` is where the host is, `token` a token or a token source. It begins at once. */
  constructor({ url, token, fetch, maxStaleMs = 15 * 60_000 }) {
    super();
    this.#host = new Host({ url, token, fetch });
    this.#maxStaleMs = maxStaleMs;
    this.#ready.promise.catch(() => {});
    this.#follow();
  }

  /** STARTING, READY, STALE or CLOSED; a `state` event tells of each change. */
  get state() {
    return this.#state;
  }

  /** The catalog to decide with, or undefined while there is none; a `change` event tells of each new one. */
  get catalog() {
    return this.#catalog;
  }

  /** What the catalog was prepared from: the answer of `GET /api/v1/catalog`. */
  get document() {
    return this.#document;
  }

  /** The host itself. */
  get host() {
    return this.#host;
  }

  /** Resolves at the first catalog; rejects when this caller may not have one, or at the end. */
  ready() {
    return this.#ready.promise;
  }

  /** Tries at once what would be tried later. */
  retry() {
    this.#wake();
  }

  /** Stops following for a while, as a page may that nobody looks at; it is STALE until it is resumed. */
  pause() {
    if (this.#state === "CLOSED") return;
    this.#resumed ??= resolvers();
    this.#connection.abort();
  }

  /** Follows again, from where the catalog is by then. */
  resume() {
    this.#resumed?.resolve();
    this.#resumed = undefined;
    this.#wake();
  }

  async evaluateCondition(conditionId, request) {
    return this.#evaluate("evaluateCondition", conditionId, request);
  }

  async evaluateProjectRestrictions(request) {
    return this.#evaluate("evaluateProjectRestrictions", request);
  }

  async evaluateBasket(request) {
    return this.#evaluate("evaluateBasket", request);
  }

  /** Ends following and gives the module's memory back. */
  close() {
    if (this.#state === "CLOSED") return;
    this.#become("CLOSED");
    this.#connection.abort();
    this.resume();
    this.#catalog?.free();
    this.#catalog = undefined;
    this.#ready.reject(closed());
  }

  async #evaluate(call, ...question) {
    if (this.#state === "CLOSED") throw closed();
    const isStale = this.#state === "STALE" && performance.now() - this.#since > this.#maxStaleMs;
    if (this.#catalog !== undefined && !isStale) {
      try {
        return this.#catalog[call](...question);
      } catch (error) {
        if (!OURS.has(error.code)) throw error;
        this.#tell("error", { error });
      }
    }
    return (await this.#host[call](...question)).decision;
  }

  async #follow() {
    let failures = 0;
    while (this.#state !== "CLOSED") {
      let trouble;
      try {
        await this.#resumed?.promise;
        if (this.#state === "CLOSED") return;
        this.#connection = new AbortController();
        await this.#listen(() => (failures = 0));
      } catch (error) {
        trouble = error;
      }
      const isOurs = this.#connection.signal.aborted;
      this.#connection.abort();
      if (this.#state === "READY") this.#become("STALE");
      if (isOurs) continue;
      if (trouble !== undefined) {
        failures += 1;
        if (trouble.code === "denied" || trouble.code === "unauthenticated") this.#ready.reject(trouble);
        this.#tell("error", { error: trouble });
      }
      await this.#wait(failures, trouble?.retryAfterMs);
    }
  }

  /** Hears of changes until the connection ends. */
  async #listen(heard) {
    const { signal } = this.#connection;
    await init();
    const stream = await this.#host.request("/api/v1/catalog/changes", { headers: { Accept: "text/event-stream" }, signal });
    for await (const data of events(stream)) {
      await this.#fetch(JSON.parse(data).digest, signal);
      heard();
      this.#become("READY");
      this.#ready.resolve();
    }
  }

  /** Brings the catalog to what was announced. */
  async #fetch(announced, signal) {
    for (let look = 0; this.#document?.digest !== announced && look < LOOKS; look += 1) {
      if (look > 0) await sleep(LOOK_MS);
      const response = await this.#host.request("/api/v1/catalog", { signal });
      const document = await response.json();
      if (document.digest === this.#document?.digest) continue;
      const catalog = new Catalog(document);
      if (signal.aborted) return catalog.free();
      // The one before is not freed: someone may hold it.
      this.#catalog = catalog;
      this.#document = document;
      this.#tell("change", { document });
    }
  }

  #become(state) {
    if (this.#state === state || (this.#state === "CLOSED" && state !== "CLOSED")) return;
    this.#state = state;
    this.#since = performance.now();
    this.#tell("state", { state });
  }

  #tell(type, detail) {
    this.dispatchEvent(Object.assign(new Event(type), detail));
  }

  /** Waits longer each time, never all clients at once, and no less than the host asks for. */
  #wait(failures, atLeastMs = 0) {
    const longest = Math.min(LAST_DELAY_MS, FIRST_DELAY_MS * 2 ** failures);
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#wake(), Math.max(atLeastMs, longest * (0.5 + Math.random() / 2)));
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

const closed = () => new TillgateError({ code: "closed", message: "this client was closed" });

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

function resolvers() {
  const made = {};
  made.promise = new Promise((resolve, reject) => Object.assign(made, { resolve, reject }));
  return made;
}
