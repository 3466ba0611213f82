/**
 * Follows the topic of rate changes for one shop or for the whole tenant. Keeps no rates, unlike the package's `RatesClient`:
 * a manager looks at many units, also groups, and at where their rates come from. A message about the current content causes
 * it to be read again.
 */

import { parseExactly } from "../../js/src/rates/message.js";
import { events } from "../../js/src/shared/event-stream.js";
import { Follower, emit } from "../../js/src/shared/follower.js";

const PATH = "/api/v1/topics/cer.public.event.rates-changed.v1";

/** Events: those of a follower, `message` with `message` and its `text`, `reset` if messages may have been missed. */
export class Topic extends Follower {
  #filter = {};
  #cursor;
  #isPaused = true;

  /** Starts paused. */
  constructor({ url, token }) {
    super({ url, token, listen: (connection) => this.#listen(connection) });
    super.pause();
  }

  pause() {
    this.#isPaused = true;
    super.pause();
  }

  resume() {
    this.#isPaused = false;
    super.resume();
  }

  /** Follows one shop, or all without an id; `after` is `latest`, or `earliest` for all kept messages. */
  follow(businessUnitId, after = "latest") {
    this.#filter = { ...(businessUnitId !== undefined && { businessUnitId }), after };
    this.#cursor = undefined;
    super.pause();
    if (!this.#isPaused) super.resume();
  }

  async #listen({ signal, upToDate }) {
    const headers = { Accept: "text/event-stream", ...(this.#cursor !== undefined && { "Last-Event-ID": this.#cursor }) };
    const response = await this.#open(headers, signal);
    upToDate();
    for await (const { id, event, data } of events(response)) {
      if (signal.aborted) return;
      this.#cursor = id ?? this.#cursor;
      if (event === "reset") emit(this, "reset", {});
      else if (data !== undefined) emit(this, "message", { message: parseExactly(data), text: data });
    }
  }

  async #open(headers, signal) {
    try {
      return await this.host.request(`${PATH}?${new URLSearchParams(this.#filter)}`, { headers, signal });
    } catch (error) {
      if (error.status === 400 && this.#cursor !== undefined) {
        // The host no longer knows the cursor: continue from now, and read again what was missed.
        this.#cursor = undefined;
        emit(this, "reset", {});
      }
      throw error;
    }
  }
}
