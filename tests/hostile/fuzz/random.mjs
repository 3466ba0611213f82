// Repeatable random choices: the same seed gives the same choices.

/** Choices from a seed, a whole number (mulberry32). */
export class Random {
  #state;

  constructor(seed) {
    this.#state = seed >>> 0;
  }

  /** From 0 to less than 1. */
  next() {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A whole number from 0 to less than `end`. */
  below(end) {
    return Math.floor(this.next() * end);
  }

  /** True with this probability. */
  chance(part) {
    return this.next() < part;
  }

  /** One of a list. */
  pick(list) {
    return list[this.below(list.length)];
  }

  /** One of the values of `{ value: weight }`. */
  weighted(weights) {
    const all = Object.values(weights).reduce((sum, weight) => sum + weight, 0);
    let at = this.below(all);
    for (const [value, weight] of Object.entries(weights)) {
      at -= weight;
      if (at < 0) return value;
    }
    throw new Error("no weights");
  }

  /** A UUID. */
  uuid() {
    const digits = Array.from({ length: 32 }, () => this.below(16).toString(16)).join("");
    return `${digits.slice(0, 8)}-${digits.slice(8, 12)}-4${digits.slice(13, 16)}-a${digits.slice(17, 20)}-${digits.slice(20)}`;
  }
}
