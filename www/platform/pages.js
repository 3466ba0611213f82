/**
 * A list that is read page by page. A page may be empty and others still follow it.
 */

import { Kept } from "../shared/kept.js";

export class Pages {
  #readPage;
  #kept;
  #next;
  #count = 0;
  #all = [];
  /** The current reading: each waits for the one before, which may change what is to be read. */
  #turn = Promise.resolve();

  /** `readPage` reads the page after a cursor, `{ items, next? }`; `keyOf` identifies an entry. */
  constructor(readPage, keyOf) {
    this.#readPage = readPage;
    this.#kept = new Kept(keyOf);
  }

  /** The entries read so far. */
  get all() {
    return this.#all;
  }

  /** The number of pages read. */
  get count() {
    return this.#count;
  }

  get hasMore() {
    return this.#next !== undefined;
  }

  /** Reads as many pages again as were read before, at least to the first one with an entry. */
  renew = () => this.#inTurn(async () => {
    const wanted = Math.max(1, this.#count);
    let [items, next, count] = [[], undefined, 0];
    do {
      const page = await this.#readPage(next);
      items = items.concat(page.items);
      [next, count] = [page.next, count + 1];
    } while (next !== undefined && (count < wanted || items.length === 0));
    [this.#next, this.#count] = [next, count];
    this.#all = this.#kept.update(items);
  });

  /** Reads the next entries, if there are any. */
  more = () => this.#inTurn(async () => {
    const before = this.#all.length;
    while (this.hasMore && this.#all.length === before) {
      const { items, next } = await this.#readPage(this.#next);
      [this.#next, this.#count] = [next, this.#count + 1];
      this.#all = this.#kept.update(this.#all.concat(items));
    }
  });

  #inTurn(read) {
    const result = this.#turn.then(read);
    this.#turn = result.catch(() => {});
    return result;
  }
}
