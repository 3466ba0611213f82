/**
 * Follows a stream of the host until it is closed: reconnects with backoff, pauses and resumes, and knows its state. The
 * client that extends it handles what the stream carries.
 *
 * States: STARTING until there is something to use, READY while it is up to date, STALE while changes are not received,
 * CLOSED.
 */

import { within } from "./deadline.js";
import { TillgateError } from "./error.js";
import { Host } from "./host.js";
import { init } from "./load.js";
import { readWaiting } from "./options.js";

const FIRST_DELAY_MS = 500;
const LAST_DELAY_MS = 30_000;

export class Follower extends EventTarget {
  #host;
  #state;
  #listen;
  #isRefusal;
  #restore;
  #failures = 0;
  /** The error of the last connection. */
  #failure;
  #ready = Promise.withResolvers?.() ?? deferred();
  #wake = () => {};
  #connection = new AbortController();
  #resumed;

  /**
   * `listen` receives changes until the connection ends, and calls `upToDate()` once all earlier changes are received. It is
   * first called after the client's constructor has returned. `state` is STALE if there is something to use from the start;
   * `restore`, called once, beside the first connection, returns true if there is now. An error that is a refusal rejects
   * `ready()`.
   */
  constructor({ url, token, fetch, state = "STARTING", isRefusal = isRefused, listen, restore = async () => false }) {
    super();
    this.#host = new Host({ url, token, fetch });
    this.#state = state;
    this.#isRefusal = isRefusal;
    this.#listen = listen;
    this.#restore = restore;
    this.#ready.promise.catch(() => {});
    this.#run();
  }

  /** STARTING, READY, STALE or CLOSED; each change is a `state` event. */
  get state() {
    return this.#state;
  }

  /** Sends requests to the host itself. */
  get host() {
    return this.#host;
  }

  /**
   * Resolves when there is something to use. Rejects if the host refuses it or the client is closed first, after `timeoutMs`,
   * and with the reason of a `signal` that aborts. The client goes on in any case.
   */
  ready(options) {
    return options === undefined ? this.#ready.promise : this.#readyWithin(options);
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

  /** Receives changes again. */
  resume() {
    this.#resumed?.resolve();
    this.#resumed = undefined;
    this.#wake();
  }

  /** Disconnects. */
  close() {
    if (this.#state === "CLOSED") return;
    this.#setState("CLOSED");
    this.#connection.abort();
    this.resume();
    this.#ready.reject(closed());
  }

  async #readyWithin(options) {
    const { signal, timeoutMs } = readWaiting(options);
    const late = () => {
      const why = this.#failure === undefined ? "" : `: ${this.#failure.message}`;
      return new TillgateError({ code: "unavailable", message: `the client is not ready after ${timeoutMs} ms${why}`, cause: this.#failure });
    };
    await within(this.#ready.promise, { signal, timeoutMs }, late);
  }

  async #run() {
    while (this.#state !== "CLOSED") {
      let failure;
      try {
        while (this.#resumed !== undefined) await this.#resumed.promise;
        if (this.#state === "CLOSED") return;
        await this.#connect();
      } catch (error) {
        failure = error instanceof TillgateError ? error : unusable(error);
      }
      const isIntended = this.#connection.signal.aborted;
      this.#connection.abort();
      if (this.#state === "READY") this.#setState("STALE");
      if (isIntended) continue;
      if (failure !== undefined) {
        this.#failures ||= 1;
        this.#failure = failure;
        if (this.#isRefusal(failure)) this.#ready.reject(failure);
        emit(this, "error", { error: failure });
      }
      await this.#backOff(failure?.retryAfterMs);
    }
  }

  async #connect() {
    this.#connection = new AbortController();
    const { signal } = this.#connection;
    // A failure until it is of use: a connection that merely ends counts too.
    this.#failures += 1;
    await init();
    signal.throwIfAborted();
    this.#begin();
    // Data that was there from the start needs the module to be used.
    if (this.#state === "STALE") this.#ready.resolve();
    const upToDate = () => {
      if (signal.aborted) return;
      this.#failures = 0;
      this.#setState("READY");
      this.#ready.resolve();
    };
    await this.#listen({ signal, upToDate });
  }

  /** Restores what there is to use, on the first call only. */
  async #begin() {
    const restore = this.#restore;
    this.#restore = async () => false;
    try {
      if (!(await restore()) || this.#state !== "STARTING") return;
      this.#setState("STALE");
      this.#ready.resolve();
    } catch (error) {
      emit(this, "error", { error });
    }
  }

  #setState(state) {
    if (this.#state === state || this.#state === "CLOSED") return;
    this.#state = state;
    emit(this, "state", { state });
  }

  /** Backs off exponentially with jitter, but at least as long as the host asks. */
  #backOff(atLeastMs = 0) {
    const longest = Math.min(LAST_DELAY_MS, FIRST_DELAY_MS * 2 ** this.#failures);
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#wake(), Math.max(atLeastMs, longest * (0.5 + Math.random() / 2)));
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

/** Dispatches an event with these members. */
export const emit = (target, type, members) => target.dispatchEvent(Object.assign(new Event(type), members));

/** The error for data of the host that the client cannot follow. */
const unusable = (cause) => new TillgateError({ code: "unavailable", message: `what the host has sent cannot be used: ${cause.message}`, cause });

/** True if nothing will be received until the caller's permissions or the address change. */
export const isRefused = ({ code, status }) => status === 403 || code === "unauthenticated" || code === "wrong_host";

export const closed = () => new TillgateError({ code: "closed", message: "this client is closed" });

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** A promise with its `resolve` and `reject`. */
function deferred() {
  const made = {};
  made.promise = new Promise((resolve, reject) => Object.assign(made, { resolve, reject }));
  return made;
}
