/**
 * A catalog that keeps itself up to date: it is fetched, kept fresh by the host's event stream, and evaluated here.
 * While there is no catalog the host decides instead, so a decision never waits for one.
 *
 * States: STARTING until the first catalog, READY while the catalog is up to date, STALE while changes are not received
 * (the last catalog still decides), CLOSED.
 */

import { Catalog } from "./catalog.js";
import { TillgateError } from "./error.js";
import { events } from "./event-stream.js";
import { Host } from "./host.js";
import { init } from "./load.js";

export { Host } from "./host.js";
export { clientCredentials } from "./token.js";

const FIRST_DELAY_MS = 500;
const LAST_DELAY_MS = 30_000;

/**
 * How often, and after which pause, a catalog is fetched that is not the announced one yet: hosts may differ for a
 * second.
 */
const MAX_FETCHES = 8;
const FETCH_PAUSE_MS = 250;

/** Errors of this package: the host can still decide. */
const LOCAL_CODES = new Set(["trap", "too_large", "not_ready", "wrong_module", "freed"]);

export class CatalogClient extends EventTarget {
  #host;
  #catalog;
  #document;
  #state = "STARTING";
  #since = performance.now();
  #maxStaleMs;
  #ready = Promise.withResolvers?.() ?? deferred();
  #wake = () => {};
  #connection = new AbortController();
  #resumed;

  /** `url` is the address of the host, `token` a token or a token source. The client starts at once. */
  constructor({ url, token, fetch, maxStaleMs = 15 * 60_000 }) {
    super();
    this.#host = new Host({ url, token, fetch });
    this.#maxStaleMs = maxStaleMs;
    this.#ready.promise.catch(() => {});
    this.#run();
  }

  /** STARTING, READY, STALE or CLOSED; each change is a `state` event. */
  get state() {
    return this.#state;
  }

  /** The catalog, or undefined while there is none; each new one is a `change` event. */
  get catalog() {
    return this.#catalog;
  }

  /** The document of the catalog: the answer of `GET /api/v1/catalog`. */
  get document() {
    return this.#document;
  }

  /** Sends requests to the host itself. */
  get host() {
    return this.#host;
  }

  /** Resolves when there is a catalog; rejects when this caller may not read it or the client is closed first. */
  ready() {
    return this.#ready.promise;
  }

  /** Reconnects at once instead of after the current pause. */
  retry() {
    this.#wake();
  }

  /** Stops receiving changes, for example while a page is hidden. The state is STALE until `resume()`. */
  pause() {
    if (this.#state === "CLOSED") return;
    this.#resumed ??= deferred();
    this.#connection.abort();
  }

  /** Receives changes again, starting with the current catalog. */
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

  /** Disconnects and releases the module's memory. */
  close() {
    if (this.#state === "CLOSED") return;
    this.#setState("CLOSED");
    this.#connection.abort();
    this.resume();
    this.#catalog?.free();
    this.#catalog = undefined;
    this.#ready.reject(closed());
  }

  async #evaluate(call, ...request) {
    if (this.#state === "CLOSED") throw closed();
    const isStale = this.#state === "STALE" && performance.now() - this.#since > this.#maxStaleMs;
    if (this.#catalog !== undefined && !isStale) {
      try {
        return this.#catalog[call](...request);
      } catch (error) {
        if (!LOCAL_CODES.has(error.code)) throw error;
        this.#emit("error", { error });
      }
    }
    return (await this.#host[call](...request)).decision;
  }

  async #run() {
    let failures = 0;
    while (this.#state !== "CLOSED") {
      let failure;
      try {
        await this.#resumed?.promise;
        if (this.#state === "CLOSED") return;
        this.#connection = new AbortController();
        await this.#listen(() => (failures = 0));
      } catch (error) {
        failure = error;
      }
      const isIntended = this.#connection.signal.aborted;
      this.#connection.abort();
      if (this.#state === "READY") this.#setState("STALE");
      if (isIntended) continue;
      if (failure !== undefined) {
        failures += 1;
        if (failure.code === "denied" || failure.code === "unauthenticated") this.#ready.reject(failure);
        this.#emit("error", { error: failure });
      }
      await this.#backOff(failures, failure?.retryAfterMs);
    }
  }

  /** Receives changes until the connection ends. */
  async #listen(onchange) {
    const { signal } = this.#connection;
    await init();
    const stream = await this.#host.request("/api/v1/catalog/changes", { headers: { Accept: "text/event-stream" }, signal });
    for await (const data of events(stream)) {
      await this.#fetch(JSON.parse(data).digest, signal);
      onchange();
      this.#setState("READY");
      this.#ready.resolve();
    }
  }

  /** Fetches the catalog until it is the announced one. */
  async #fetch(announced, signal) {
    for (let fetches = 0; this.#document?.digest !== announced && fetches < MAX_FETCHES; fetches += 1) {
      if (fetches > 0) await sleep(FETCH_PAUSE_MS);
      const response = await this.#host.request("/api/v1/catalog", { signal });
      const document = await response.json();
      if (document.digest === this.#document?.digest) continue;
      const catalog = new Catalog(document);
      if (signal.aborted) return catalog.free();
      // The previous one is not freed: callers may still hold it.
      this.#catalog = catalog;
      this.#document = document;
      this.#emit("change", { document });
    }
  }

  #setState(state) {
    if (this.#state === state || (this.#state === "CLOSED" && state !== "CLOSED")) return;
    this.#state = state;
    this.#since = performance.now();
    this.#emit("state", { state });
  }

  #emit(type, detail) {
    this.dispatchEvent(Object.assign(new Event(type), detail));
  }

  /** Backs off exponentially with jitter, but no less than the host asks for. */
  #backOff(failures, atLeastMs = 0) {
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

const closed = () => new TillgateError({ code: "closed", message: "this client is closed" });

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** A promise with its `resolve` and `reject`. */
function deferred() {
  const made = {};
  made.promise = new Promise((resolve, reject) => Object.assign(made, { resolve, reject }));
  return made;
}
