/**
 * A catalog that keeps itself up to date: it is fetched, kept fresh by the host's event stream, and evaluated here.
 * While there is no catalog the host decides instead, so a decision never waits for one.
 *
 * States: STARTING until the first catalog, READY while the catalog is up to date, STALE while changes are not received
 * (the last catalog still decides), CLOSED.
 */

import { withTimeout } from "../shared/deadline.js";
import { events } from "../shared/event-stream.js";
import { Follower, closed, emit, sleep } from "../shared/follower.js";
import { readJson, requireStream } from "../shared/host.js";
import { readOptions } from "../shared/options.js";
import { Catalog } from "./catalog.js";
import { Report, checkReport, noReport } from "./report.js";

export { Host } from "../shared/host.js";
export { clientCredentials } from "../shared/token.js";

/**
 * How often, and after which pause, a catalog is fetched that is not the announced one yet: hosts may differ for a
 * second.
 */
const MAX_FETCHES = 8;
const FETCH_PAUSE_MS = 250;

/** Errors of this package: the host can still decide. */
const LOCAL_CODES = new Set(["trap", "too_large", "not_ready", "wrong_module", "freed"]);

/** Errors after which there will be no catalog until the caller's permissions or the address change. */
const REFUSALS = new Set(["denied", "unauthenticated", "wrong_host"]);

export class CatalogClient extends Follower {
  #catalog;
  #document;
  #since = performance.now();
  #maxStaleMs;
  #report;

  /** `url` is the address of the host, `token` a token or a token source. The client starts at once. */
  constructor(options) {
    const { url, token, fetch, report, maxStaleMs = 15 * 60_000 } = readOptions(options, checkOptions);
    super({ url, token, fetch, refusals: REFUSALS, listen: (connection) => this.#listen(connection) });
    this.#maxStaleMs = maxStaleMs;
    if (report !== undefined) this.#report = new Report(report, this.host, (error) => emit(this, "error", { error }));
    this.addEventListener("state", () => (this.#since = performance.now()));
  }

  /** The catalog, or undefined while there is none; each new one is a `change` event. */
  get catalog() {
    return this.#catalog;
  }

  /** The document of the catalog: the answer of `GET /api/v1/catalog`. */
  get document() {
    return this.#document;
  }

  async evaluateCondition(conditionId, request, options) {
    return this.#evaluate("evaluateCondition", conditionId, request, options);
  }

  async evaluateProjectRestrictions(request, options) {
    return this.#evaluate("evaluateProjectRestrictions", request, options);
  }

  async evaluateBasket(request, options) {
    return this.#evaluate("evaluateBasket", request, options);
  }

  /** Hands in the decisions that were made here and wait for that. Rejects when the host does not take them. */
  async handIn() {
    if (this.#report === undefined) throw noReport();
    await this.#report.handIn();
  }

  /** Disconnects and releases the module's memory. */
  close() {
    super.close();
    this.#report?.close();
    this.#catalog?.free();
    this.#catalog = undefined;
  }

  async #evaluate(call, ...request) {
    if (this.state === "CLOSED") throw closed();
    const isStale = this.state === "STALE" && performance.now() - this.#since > this.#maxStaleMs;
    if (this.#catalog !== undefined && !isStale) {
      try {
        const decision = this.#catalog[call](...request);
        this.#report?.add(call, request, decision, this.#document.digest);
        return decision;
      } catch (error) {
        if (!LOCAL_CODES.has(error.code)) throw error;
        emit(this, "error", { error });
      }
    }
    return (await this.host[call](...request)).decision;
  }

  /** Receives changes until the connection ends. */
  async #listen({ signal, upToDate }) {
    const headers = { Accept: "text/event-stream" };
    const stream = await withTimeout(this.host.request("/api/v1/catalog/changes", { headers, signal }));
    requireStream(stream);
    for await (const { data } of events(stream)) {
      if (data === undefined) continue;
      await this.#fetch(JSON.parse(data).digest, signal);
      upToDate();
    }
  }

  /** Fetches the catalog until it is the announced one. */
  async #fetch(announced, signal) {
    for (let fetches = 0; this.#document?.digest !== announced && fetches < MAX_FETCHES; fetches += 1) {
      if (fetches > 0) await sleep(FETCH_PAUSE_MS);
      const request = async () => readJson(await this.host.request("/api/v1/catalog", { signal }));
      const document = await withTimeout(request());
      if (document.digest === this.#document?.digest) continue;
      const catalog = new Catalog(document);
      if (signal.aborted) return catalog.free();
      // The previous one is not freed: callers may still hold it.
      this.#catalog = catalog;
      this.#document = document;
      emit(this, "change", { document });
    }
  }
}

function checkOptions({ maxStaleMs = 0, report }, faults) {
  if (typeof maxStaleMs !== "number" || !(maxStaleMs >= 0)) faults.add("$.maxStaleMs", "must be a number of milliseconds");
  checkReport({ report }, faults);
}
