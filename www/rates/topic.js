/**
 * Follows the topic of rate changes for one shop or for the whole tenant, and reconnects after an interruption where it
 * left off. Keeps no rates: what a manager looks at is read again when a message concerns it.
 *
 * States: STARTING, READY while messages are received, STALE while they are not, CLOSED.
 */

import { events } from "../../js/src/event-stream.js";
import { parseExact } from "./exact.js";

const PATH = "/api/v1/topics/cer.public.event.rates-changed.v1";
const FIRST_DELAY_MS = 500;
const LAST_DELAY_MS = 30_000;

/** Events: `message` with `message` and its `text`, `reset` when messages were missed, `state`, `error`. */
export class Topic extends EventTarget {
  #host;
  #state = "STARTING";
  #filter = {};
  #cursor;
  #connection = new AbortController();
  #wake = () => {};
  #isPaused = true;

  constructor(host) {
    super();
    this.#host = host;
    this.#run();
  }

  get state() {
    return this.#state;
  }

  /** Follows one shop, or all without an id; `after` is `latest`, or `earliest` for all messages that are kept. */
  follow(businessUnitId, after = "latest") {
    this.#filter = { ...(businessUnitId !== undefined && { businessUnitId }), after };
    this.#cursor = undefined;
    this.#reconnect();
  }

  pause() {
    this.#isPaused = true;
    this.#connection.abort();
  }

  resume() {
    this.#isPaused = false;
    this.#wake();
  }

  retry() {
    this.#wake();
  }

  close() {
    this.#setState("CLOSED");
    this.#reconnect();
  }

  #reconnect() {
    this.#connection.abort();
    this.#wake();
  }

  async #run() {
    let failures = 0;
    while (this.#state !== "CLOSED") {
      if (this.#isPaused) {
        await this.#pause();
        continue;
      }
      const connection = (this.#connection = new AbortController());
      try {
        await this.#listen(connection.signal, () => (failures = 0));
      } catch (error) {
        if (!connection.signal.aborted) this.#fail(error);
      }
      const isIntended = connection.signal.aborted;
      connection.abort();
      if (isIntended && !this.#isPaused) continue;
      if (this.#state === "READY") this.#setState("STALE");
      if (isIntended) continue;
      failures += 1;
      await this.#pause(Math.min(LAST_DELAY_MS, FIRST_DELAY_MS * 2 ** failures) * (0.5 + Math.random() / 2));
    }
  }

  #fail(error) {
    // A cursor that the host does not know: from now on, with what was missed read again.
    if (error.code === "invalid" && this.#cursor !== undefined) {
      this.#cursor = undefined;
      this.#emit("reset");
    }
    this.#emit("error", { error });
  }

  async #listen(signal, onconnected) {
    const headers = { Accept: "text/event-stream", ...(this.#cursor !== undefined && { "Last-Event-ID": this.#cursor }) };
    const response = await this.#host.request(`${PATH}?${new URLSearchParams(this.#filter)}`, { headers, signal });
    onconnected();
    this.#setState("READY");
    for await (const { id, event, data } of events(response)) {
      if (signal.aborted) return;
      if (id !== undefined) this.#cursor = id;
      if (event === "reset") this.#emit("reset");
      else if (data) this.#emit("message", { message: parseExact(data), text: data });
    }
  }

  #setState(state) {
    if (this.#state === state || this.#state === "CLOSED") return;
    this.#state = state;
    this.#emit("state", { state });
  }

  #emit(type, detail) {
    this.dispatchEvent(Object.assign(new Event(type), detail));
  }

  /** Waits until it is woken, or for a time. */
  #pause(ms) {
    return new Promise((resolve) => {
      const timer = ms === undefined ? undefined : setTimeout(resolve, ms);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
