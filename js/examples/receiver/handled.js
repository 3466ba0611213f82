// The events that were handled. An event is delivered at least once: it comes again if the answer was lost or if it is
// replayed.
//
// This is in memory, so a restart forgets it. If handling an event twice would do harm, insert its id into the database in the
// same transaction as its effect.

const MAX_EVENTS = 100_000;

export class Handled {
  /** The handling of each event, by id: under way or done. The oldest comes first. */
  #events = new Map();

  /** Handles an event unless it was handled before. A second delivery in the meantime waits for the same result. */
  async once(id, handle) {
    if (!this.#events.has(id)) this.#start(id, handle);
    await this.#events.get(id);
  }

  #start(id, handle) {
    const handling = Promise.resolve().then(handle);
    this.#events.set(id, handling);
    // The next delivery tries again.
    handling.catch(() => this.#events.delete(id));
    if (this.#events.size > MAX_EVENTS) this.#events.delete(this.#events.keys().next().value);
  }
}
