/**
 * Follows a stream of the host until it is closed: reconnects with backoff, pauses and resumes, and knows its state.
 * What the stream carries is left to the client that extends it.
 *
 * States: STARTING until there is something to use, READY while it is up to date, STALE while changes are not received,
 * CLOSED.
 */

import { TillgateError } from "./error.js";
import { Host } from "./host.js";
import { init } from "./load.js";

const FIRST_DELAY_MS = 500;
const LAST_DELAY_MS = 30_000;

export class Follower extends EventTarget {
  #host;
  #state;
  #listen;
  #refusals;
  #failures = 0;
  #ready = Promise.withResolvers?.() ?? deferred();
  #wake = () => {};
  #connection = new AbortController();
  #resumed;

  /**
   * `listen` receives changes until the connection ends, and calls `upToDate()` when all earlier changes are received.
   * It is called for the first time after the constructor of the client has returned. `state` is STALE if there is
   * something to use from the start. An error whose code is one of `refusals` rejects `ready()`.
   */
  constructor({ url, token, fetch, state = "STARTING", refusals, listen }) {
    super();
    this.#host = new Host({ url, token, fetch });
    this.#state = state;
    this.#refusals = refusals;
    this.#listen = listen;
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

  /** Resolves when there is something to use; rejects when the host refuses it or the client is closed first. */
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
        if (this.#refusals.has(failure.code)) this.#ready.reject(failure);
        emit(this, "error", { error: failure });
      }
      await this.#backOff(failure?.retryAfterMs);
    }
  }

  async #connect() {
    this.#connection = new AbortController();
    const { signal } = this.#connection;
    // Until it is of use: a connection that only ends is a failure too.
    this.#failures += 1;
    await init();
    signal.throwIfAborted();
    // What there was from the start can only be used with the module.
    if (this.#state === "STALE") this.#ready.resolve();
    const upToDate = () => {
      if (signal.aborted) return;
      this.#failures = 0;
      this.#setState("READY");
      this.#ready.resolve();
    };
    await this.#listen({ signal, upToDate });
  }

  #setState(state) {
    if (this.#state === state || this.#state === "CLOSED") return;
    this.#state = state;
    emit(this, "state", { state });
  }

  /** Backs off exponentially with jitter, but no less than the host asks for. */
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

/** What the host has sent cannot be followed. */
const unusable = (cause) => new TillgateError({ code: "unavailable", message: `what the host has sent cannot be used: ${cause.message}`, cause });

export const closed = () => new TillgateError({ code: "closed", message: "this client is closed" });

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** A promise with its `resolve` and `reject`. */
function deferred() {
  const made = {};
  made.promise = new Promise((resolve, reject) => Object.assign(made, { resolve, reject }));
  return made;
}
