/**
 * Follows the rules of a tenant: reads the document of its catalog whenever the host announces another one. Unlike the
 * package's `CatalogClient` it does not prepare all of it. Large documents are processed in several tasks of the browser,
 * which can draw and take input in between.
 */

import { withTimeout } from "../../js/src/shared/deadline.js";
import { events } from "../../js/src/shared/event-stream.js";
import { Follower, emit, sleep } from "../../js/src/shared/follower.js";
import { Rules } from "./rules.js";

const PATH = "/api/v1/catalog";

/** How many times, and with which pause, to read until the document is the announced one: hosts may differ for a second. */
const MAX_READS = 8;
const PAUSE_MS = 250;

/** Events: those of a follower, and `change` if there are other rules. */
export class RulesStream extends Follower {
  rules = new Rules();

  constructor({ url, token }) {
    super({ url, token, listen: (connection) => this.#listen(connection) });
  }

  async #listen({ signal, upToDate }) {
    const options = { headers: { Accept: "text/event-stream" }, signal };
    const announced = await withTimeout(this.host.request(`${PATH}/changes`, options));
    for await (const { data } of events(announced)) {
      if (data !== undefined) {
        await this.#follow(JSON.parse(data).digest, signal);
        upToDate();
      }
    }
  }

  async #follow(digest, signal) {
    for (let reads = 0; this.rules.digest !== digest && reads < MAX_READS; reads += 1) {
      if (reads > 0) await sleep(PAUSE_MS);
      await this.#read(signal);
      if (signal.aborted) return;
    }
  }

  async #read(signal) {
    const read = async () => (await this.host.request(PATH, { signal })).json();
    const document = await withTimeout(read());
    if (document.digest === this.rules.digest) return;
    await sleep(0);
    if (signal.aborted) return;
    this.rules.update(document);
    await sleep(0);
    emit(this, "change", {});
  }
}
