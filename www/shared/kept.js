/**
 * Entries that are read repeatedly as a whole. An unchanged entry is the same object as before, so that nothing made of it
 * must be made again.
 */

export class Kept {
  #keyOf;
  #known = new Map();

  /** `keyOf` identifies an entry. */
  constructor(keyOf) {
    this.#keyOf = keyOf;
  }

  /** The entries of a new answer. */
  update(entries) {
    const next = new Map();
    for (const entry of entries) {
      const key = this.#keyOf(entry);
      const text = JSON.stringify(entry);
      const before = this.#known.get(key);
      next.set(key, before?.text === text ? before : { entry, text });
    }
    this.#known = next;
    return [...next.values()].map(({ entry }) => entry);
  }

  /** The entry with a key, or undefined. */
  get(key) {
    return this.#known.get(key)?.entry;
  }
}

/** A list, or the one before if both have the same entries. */
export const sameList = (before, list) => (before?.length === list.length && list.every((entry, at) => entry === before[at]) ? before : list);
