/**
 * A catalog that keeps itself up to date: it is fetched, kept fresh by the host's event stream, and evaluated here. While
 * there is no catalog, the host decides instead, so a decision never waits for one.
 *
 * States: STARTING until the first catalog, READY while the catalog is up to date, STALE while changes are not received (the
 * last catalog still decides; after a start, that of the last run), CLOSED.
 */

import { withTimeout } from "../shared/deadline.js";
import { events } from "../shared/event-stream.js";
import { Follower, closed, emit, sleep } from "../shared/follower.js";
import { readJson, requireStream } from "../shared/host.js";
import { readOptions } from "../shared/options.js";
import { Catalog } from "./catalog.js";
import { Report, checkReport, noReport } from "./report.js";
import { Snapshots, checkSnapshot } from "./snapshot.js";

export { Host } from "../shared/host.js";
export { clientCredentials } from "../shared/token.js";

/**
 * The number of fetches, and the pause between them, while the catalog is not yet the announced one: hosts may differ for a
 * second.
 */
const MAX_FETCHES = 8;
const FETCH_PAUSE_MS = 250;

const OPTIONS = ["maxStaleMs", "report", "snapshot"];

/** This package's own errors, after which the host can still decide. */
const LOCAL_CODES = new Set(["trap", "too_large", "not_ready", "wrong_module", "freed"]);

export class CatalogClient extends Follower {
  #catalog;
  #document;
  /** When the catalog was last known to be up to date, in milliseconds since 1970. */
  #asOf;
  /** `#asOf` on a monotonic clock; undefined if the catalog is from an earlier run. */
  #received;
  #maxStaleMs;
  #report;
  #snapshots;

  /**
   * `url` is the address of the host, `token` a token or a token source, `snapshot` where the last catalog is kept. The client
   * starts at once.
   */
  constructor(options) {
    const { url, token, fetch, report, snapshot, maxStaleMs } = readOptions(options, OPTIONS, checkOptions);
    super({ url, token, fetch, listen: (connection) => this.#listen(connection), restore: () => this.#restore() });
    const onError = (error) => emit(this, "error", { error });
    if (snapshot) this.#snapshots = new Snapshots(snapshot, url, onError);
    if (report !== undefined) this.#report = new Report(report, this.host, onError);
    // Without a host, a till has nothing else to decide with: its caller says how long it may.
    this.#maxStaleMs = maxStaleMs ?? (snapshot ? Infinity : 15 * 60_000);
  }

  /** The catalog, or undefined while there is none; each new one is a `change` event. */
  get catalog() {
    return this.#catalog;
  }

  /** The document of the catalog: the answer of `GET /api/v1/catalog`. */
  get document() {
    return this.#document;
  }

  /** When the catalog was last known to be up to date; undefined while there is none. */
  get asOf() {
    return this.#asOf === undefined ? undefined : new Date(this.#asOf);
  }

  /** The age of the catalog: the time since `asOf`. In the state READY, at most the interval between heartbeats. */
  get ageMs() {
    if (this.#received !== undefined) return performance.now() - this.#received;
    return this.#asOf === undefined ? undefined : Math.max(0, Date.now() - this.#asOf);
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

  /** Uploads the decisions that were made here, and waits until that is done. Rejects if the host does not take them. */
  async upload() {
    if (this.#report === undefined) throw noReport();
    await this.#report.upload();
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
    const isStale = this.state === "STALE" && this.ageMs > this.#maxStaleMs;
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

  /** Uses the catalog of the last run, unless the host's is already there. Returns true if it is used. */
  async #restore() {
    const kept = await this.#snapshots?.get();
    if (kept === undefined || this.#catalog !== undefined || this.state === "CLOSED") return false;
    this.#asOf = kept.asOf;
    this.#use(kept);
    return true;
  }

  /** Receives changes until the connection ends. */
  async #listen({ signal, upToDate }) {
    const headers = { Accept: "text/event-stream" };
    const stream = await withTimeout(this.host.request("/api/v1/catalog/changes", { headers, signal }));
    requireStream(stream);
    for await (const { data } of events(stream)) {
      if (data !== undefined) await this.#fetch(JSON.parse(data).digest, signal);
      // A heartbeat: the host has nothing more to send.
      else if (this.state !== "READY") continue;
      if (signal.aborted) return;
      this.#isCurrent();
      upToDate();
      this.#snapshots?.keep({ asOf: this.#asOf, document: this.#document });
    }
  }

  /** Fetches until the catalog is the announced one. */
  async #fetch(announced, signal) {
    for (let fetches = 0; this.#document?.digest !== announced && fetches < MAX_FETCHES; fetches += 1) {
      if (fetches > 0) await sleep(FETCH_PAUSE_MS);
      const request = async () => readJson(await this.host.request("/api/v1/catalog", { signal }));
      const document = await withTimeout(request());
      if (document.digest === this.#document?.digest) continue;
      const catalog = new Catalog(document);
      if (signal.aborted) return catalog.free();
      this.#isCurrent();
      this.#use({ document, catalog });
    }
  }

  /** Records that the catalog held here is the host's current one. */
  #isCurrent() {
    this.#asOf = Date.now();
    this.#received = performance.now();
  }

  #use({ document, catalog }) {
    // The previous one is not freed: callers may still hold it.
    this.#catalog = catalog;
    this.#document = document;
    emit(this, "change", { document });
  }
}

function checkOptions({ maxStaleMs = 0, report, snapshot }, faults) {
  if (typeof maxStaleMs !== "number" || !(maxStaleMs >= 0)) faults.add("$.maxStaleMs", "must be a number of milliseconds");
  checkReport({ report }, faults);
  checkSnapshot({ snapshot }, faults);
}
