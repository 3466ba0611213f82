/**
 * The exchange rates of a shop, or of all shops of a tenant, kept up to date: the client reads them once and then follows the
 * topic `cer.public.event.rates-changed.v1` by its rules (`given.md`, 6.1). `held-rates.js` decides which of the messages
 * count; this decides when to listen, when to read all rates again, and from where to resume.
 *
 * States: STARTING until the first rates, READY while they are up to date, STALE while changes are not received (the
 * last rates are still used), CLOSED.
 */

import { withTimeout } from "../shared/deadline.js";
import { TillgateError } from "../shared/error.js";
import { Faults, isText } from "../shared/faults.js";
import { events } from "../shared/event-stream.js";
import { Follower, closed, emit, isRefused, sleep } from "../shared/follower.js";
import { readJson, readText, requireStream } from "../shared/host.js";
import { readOptions } from "../shared/options.js";
import { convert } from "./math.js";
import { readMessage, readRates } from "./message.js";
import { restore, snapshot } from "./snapshot.js";

export { Host } from "../shared/host.js";
export { clientCredentials } from "../shared/token.js";

const OPTIONS = ["businessUnitId", "tenantId", "snapshot"];
const RATE_TYPES = ["SALES", "PURCHASE", "INTERCOMPANY"];
const CURRENCY = /^[A-Z]{3}$/;

const TOPIC = "/api/v1/topics/cer.public.event.rates-changed.v1";

/** The interval at which the progress of an initial state is read. */
const PROGRESS_PAUSE_MS = 250;

/** An initial state is over after this many readings without a new message, although messages of it seem to be missing. */
const MAX_QUIET_READINGS = 40;

/** Errors that rule out rates until something else changes: the caller's permissions, or the shop. */
const isRefusal = (error) => isRefused(error) || error.status === 400 || error.status === 404;

export class RatesClient extends Follower {
  #url;
  #businessUnitId;
  #tenantId;
  #held;
  /** When the rates were last known to be up to date, in milliseconds since 1970. */
  #asOf;
  /** The place to resume from; undefined if all rates must be read first. */
  #cursor;
  /** The last initial state that was requested: `{ correlationId, isComplete, arrived, heard }`. */
  #initialState;

  /**
   * `businessUnitId` is the shop to follow. With a `tenantId` the rates are not read but requested as an initial state: of
   * this shop, or of all shops of the tenant. `snapshot` is an earlier result of `toJSON`.
   */
  constructor(options) {
    const { url, token, fetch, businessUnitId, tenantId, snapshot } = readOptions(options, OPTIONS, checkSubject);
    const restored = restore(snapshot, { url: String(url), businessUnitId, tenantId });
    const state = restored.asOf === undefined ? "STARTING" : "STALE";
    super({ url, token, fetch, state, isRefusal, listen: (connection) => this.#listen(connection) });
    this.#url = String(url);
    this.#businessUnitId = businessUnitId;
    this.#tenantId = tenantId;
    this.#held = restored.held;
    this.#asOf = restored.asOf;
    this.#cursor = restored.cursor;
    this.#initialState = restored.initialState;
  }

  /** When the rates were last known to be up to date; undefined while there are none. */
  get asOf() {
    return this.#asOf === undefined ? undefined : new Date(this.#asOf);
  }

  /** The age of the rates: the time since `asOf`. In the state READY, at most the interval between heartbeats. */
  get ageMs() {
    return this.#asOf === undefined ? undefined : Math.max(0, Date.now() - this.#asOf);
  }

  /** The shops that rates are held for. */
  get businessUnitIds() {
    return this.#held.businessUnitIds;
  }

  /** Returns the rates of a shop, in both directions, by type, from and to. */
  rates({ businessUnitId = this.#businessUnitId } = {}) {
    this.#requireShop(businessUnitId);
    return this.#held.rates(businessUnitId);
  }

  /** Returns a rate: 1 `currencyIdTo` = `rateValue` `currencyIdFrom`. */
  rate({ exchangeRateType, currencyIdFrom, currencyIdTo, businessUnitId = this.#businessUnitId, ...others } = {}) {
    check({ exchangeRateType, currencyIdFrom, currencyIdTo }, others);
    return this.#rate(businessUnitId, exchangeRateType, currencyIdFrom, currencyIdTo);
  }

  /** Converts an amount in `from` to `to`, as `POST /api/v1/exchange-rates/convert` does. */
  convert({ amount, from, to, exchangeRateType, businessUnitId = this.#businessUnitId, withMarkup = false, ...others } = {}) {
    check({ exchangeRateType, from, to, withMarkup }, others);
    // 1 `from` = `rateValue` `to`, so `from` is the target of the rate that is applied.
    const rate = this.#rate(businessUnitId, exchangeRateType, to, from);
    const converted = convert(amount, withMarkup ? rate.rateValueWithMarkup : rate.rateValue, { currency: to });
    return { amount: converted, currency: to, rate };
  }

  /** Returns all that a later client needs to continue with these rates, as a value that can be written as JSON. */
  toJSON() {
    const subject = { url: this.#url, businessUnitId: this.#businessUnitId, tenantId: this.#tenantId };
    return snapshot(subject, { asOf: this.#asOf, held: this.#held, cursor: this.#cursor, initialState: this.#initialState });
  }

  #rate(businessUnitId, exchangeRateType, from, to) {
    this.#requireShop(businessUnitId);
    const rate = this.#held.rate(businessUnitId, exchangeRateType, from, to);
    if (rate !== undefined) return rate;
    throw new TillgateError({ code: "rate_not_found", message: `there is no ${exchangeRateType} rate from ${from} to ${to}` });
  }

  #requireShop(businessUnitId) {
    if (this.state === "CLOSED") throw closed();
    if (this.#held.has(businessUnitId)) return;
    const path = "$.businessUnitId";
    if (businessUnitId === undefined) {
      throw new TillgateError({ code: "invalid", path, message: "must be a string, because this client follows a tenant" });
    }
    if (this.#asOf === undefined) {
      throw new TillgateError({ code: "not_ready", message: "there are no rates yet: wait for `ready()`" });
    }
    throw new TillgateError({ code: "business_unit_not_found", path, message: "is not a shop whose rates are held" });
  }

  /** Receives changes until the connection ends. */
  async #listen({ signal, upToDate }) {
    const asOf = this.#asOf;
    const setCurrent = () => {
      if (signal.aborted) return;
      this.#asOf = Date.now();
      upToDate();
    };
    const complete = () => this.#complete(this.#initialState, signal).then((isKnown) => isKnown && setCurrent());
    const stream = await this.#open(signal);
    requireStream(stream);
    if (!this.#isComplete) complete();
    for await (const { id, event, data } of events(stream)) {
      if (signal.aborted) return;
      if (event === "reset") {
        // The stream continues with the oldest message that is kept. The rates that are read instead are newer.
        this.#cursor = undefined;
        this.#asOf = asOf;
        return;
      }
      if (this.#cursor === undefined) {
        // Only an id proves that the host knows where this stream begins: no change falls between that and the reading.
        // Messages that arrive meanwhile stay in the response and are applied afterwards.
        if (!id) continue;
        await this.#readAll(signal);
        if (this.#isComplete) setCurrent();
        else complete();
      }
      if (data !== undefined && !this.#receive(data)) {
        this.#cursor = undefined;
        return;
      }
      this.#cursor = id || this.#cursor;
      // Once the missed messages are here, there is nothing more to send for a while.
      if (this.#isComplete && (data === undefined || this.state === "READY")) setCurrent();
    }
  }

  get #isComplete() {
    return this.#initialState?.isComplete ?? true;
  }

  /** Opens the stream after the last message that was received, or at its end. */
  async #open(signal) {
    const query = new URLSearchParams({ after: this.#cursor ?? "latest" });
    if (this.#tenantId !== undefined) query.set("tenantId", this.#tenantId);
    if (this.#businessUnitId !== undefined) query.set("businessUnitId", this.#businessUnitId);
    const headers = { Accept: "text/event-stream" };
    // The id is in the query too, because some proxies remove the header.
    if (this.#cursor !== undefined) headers["Last-Event-ID"] = this.#cursor;
    try {
      return await withTimeout(this.host.request(`${TOPIC}?${query}`, { headers, signal }));
    } catch (error) {
      if (error.status !== 400 || this.#cursor === undefined) throw error;
      // The cursor belongs to another log, whose publish times say nothing about those of this one.
      this.#cursor = undefined;
      this.#held.forgetTimes();
      return this.#open(signal);
    }
  }

  async #readAll(signal) {
    if (this.#tenantId === undefined) await this.#readShop(signal);
    else await this.#requestInitialState(signal);
  }

  /**
   * Reads the rates of the shop.
   *
   * The answer has no publish time, but the newer rate is still known. The answer contains every message that was received
   * before the request was sent, and all with an earlier publish time: those have no effect. All others come on the stream,
   * which began before, and are applied to the answer. If the answer contains some of these already, applying them in any
   * order still ends with the newest of each rate, which is the one in the answer unless it was published later.
   */
  async #readShop(signal) {
    const businessUnitId = this.#businessUnitId;
    const publishTime = this.#held.newest(businessUnitId);
    const path = `/api/v1/exchange-rates?${new URLSearchParams({ businessUnit: businessUnitId })}`;
    const read = async () => readText(await this.host.request(path, { signal }));
    this.#held.replace(businessUnitId, readRates(await withTimeout(read()), businessUnitId), publishTime);
    emit(this, "change", { businessUnitId });
  }

  /** Requests a message for each shop, which lists all of its rates. */
  async #requestInitialState(signal) {
    const body = JSON.stringify({ tenantId: this.#tenantId, businessUnitId: this.#businessUnitId });
    const request = async () => readJson(await this.host.request("/api/v1/initial-state", { method: "POST", body, signal }));
    const { correlationId } = await withTimeout(request());
    this.#initialState = { correlationId, isComplete: false, arrived: new Set(), heard: new Set() };
  }

  /** Waits until all messages of an initial state have arrived; returns false if the caller may not read its progress. */
  async #complete(initialState, signal) {
    const { correlationId, arrived, heard } = initialState;
    let isKnown = true;
    for (let before = 0, quiet = 0; quiet < MAX_QUIET_READINGS; quiet += 1) {
      const progress = await this.#progress(correlationId, signal);
      if (signal.aborted) return false;
      isKnown = progress !== "unknown";
      if (!isKnown) break;
      const isDone = progress?.state === "DONE";
      if (isDone && arrived.size >= progress.businessUnits?.published) {
        this.#deleteUnheard(heard);
        break;
      }
      if (!isDone || arrived.size > before) quiet = 0;
      before = arrived.size;
      await sleep(PROGRESS_PAUSE_MS);
    }
    this.#initialState = { correlationId, isComplete: true };
    return isKnown;
  }

  /** Returns the progress of an initial state; "unknown" if the caller may not read it, undefined if reading failed. */
  async #progress(correlationId, signal) {
    try {
      const path = `/api/v1/exchange-rates/changes/${encodeURIComponent(correlationId)}`;
      const read = async () => readJson(await this.host.request(path, { signal }));
      return await withTimeout(read());
    } catch (error) {
      if (error.status === 403 || error.status === 404) return "unknown";
      if (!signal.aborted) emit(this, "error", { error });
      return undefined;
    }
  }

  /** Deletes shops without a message since the initial state was requested: they no longer exist. */
  #deleteUnheard(heard) {
    for (const businessUnitId of this.#held.businessUnitIds) {
      if (heard.has(businessUnitId)) continue;
      this.#held.delete(businessUnitId);
      emit(this, "change", { businessUnitId });
    }
  }

  /** Applies a message. Returns false if all rates must be read again. */
  #receive(data) {
    let message;
    try {
      message = readMessage(data);
    } catch (error) {
      emit(this, "error", { error });
      // The rates of one shop are read again. An initial state would send the same messages to every other subscriber.
      return this.#tenantId !== undefined;
    }
    const { tenantId, businessUnitId, correlationId } = message;
    if (businessUnitId !== (this.#businessUnitId ?? businessUnitId) || tenantId !== (this.#tenantId ?? tenantId)) return true;
    const whole = correlationId !== undefined && correlationId === this.#initialState?.correlationId;
    const isNew = !this.#held.has(businessUnitId);
    const changed = this.#held.apply(message, { whole });
    this.#initialState?.heard?.add(businessUnitId);
    if (whole) this.#initialState.arrived?.add(businessUnitId);
    if (isNew || Object.values(changed).some(({ length }) => length > 0)) {
      emit(this, "change", { businessUnitId, message: { ...message, ...changed } });
    }
    return true;
  }
}

function checkSubject({ businessUnitId, tenantId }, faults) {
  if (businessUnitId === undefined && tenantId === undefined) faults.add("$", "the options must have a businessUnitId or a tenantId");
  for (const [name, value] of Object.entries({ businessUnitId, tenantId })) {
    if (value !== undefined && !isText(value)) faults.add(`$.${name}`, "must be a string that is not empty");
  }
}

/** Throws an error with every fault of a question. The two currencies may have any names, and there may be no `others`. */
function check({ exchangeRateType, withMarkup = false, ...currencies }, others) {
  const faults = new Faults();
  const add = (name, message) => faults.add(`$.${name}`, message);
  if (!RATE_TYPES.includes(exchangeRateType)) add("exchangeRateType", "must be SALES, PURCHASE or INTERCOMPANY");
  const [[from, source], [to, target]] = Object.entries(currencies);
  if (!CURRENCY.test(source)) add(from, "must be the ISO 4217 code of a currency, in capitals");
  if (!CURRENCY.test(target)) add(to, "must be the ISO 4217 code of a currency, in capitals");
  else if (source === target) add(to, `must differ from $.${from}`);
  if (typeof withMarkup !== "boolean") add("withMarkup", "must be true or false");
  faults.addUnknown("$", others, []);
  faults.throwIfAny();
}
