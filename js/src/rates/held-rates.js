/**
 * The rates of shops, from messages that may repeat and come in any order. The newest value of each rate by publish time is
 * held, and a deleted rate is remembered with its publish time, so that an older message does not bring it back (`given.md`,
 * 6.1). Knows no HTTP.
 *
 * A shop has a `floor`: the publish time up to which the held rates contain all its messages, because all of its rates were
 * listed then. A rate that is neither held nor remembered as deleted did not exist at the floor.
 */

import { PUBLISH_TIME, matching, readRate } from "./message.js";

/** The most deleted rates that are remembered, the latest ones. */
const MAX_DELETED = 10_000;

/** Earlier than every publish time. */
const NEVER = "";

export class HeldRates {
  /** By business unit: `{ floor, newest, rates }`; rates by key: `{ publishTime, rate }`. */
  #shops = new Map();
  /** The publish times of deleted rates, in the order of their deletion; by business unit and key. */
  #deleted = new Map();

  get businessUnitIds() {
    return [...this.#shops.keys()];
  }

  has(businessUnitId) {
    return this.#shops.has(businessUnitId);
  }

  /** The publish time of the newest message about a shop. */
  newest(businessUnitId) {
    return this.#shops.get(businessUnitId)?.newest ?? NEVER;
  }

  rate(businessUnitId, exchangeRateType, currencyIdFrom, currencyIdTo) {
    const key = keyOf({ exchangeRateType, currencyIdFrom, currencyIdTo });
    return this.#shops.get(businessUnitId)?.rates.get(key)?.rate;
  }

  /** The rates of a shop by type, from and to, as the host lists them. */
  rates(businessUnitId) {
    const held = [...(this.#shops.get(businessUnitId)?.rates ?? [])];
    return held.sort(([one], [other]) => (one < other ? -1 : 1)).map(([, { rate }]) => rate);
  }

  /**
   * Applies a message and returns what it changed: `{ createdRates, updatedRates, deletedRates }`. A `whole` message lists all
   * rates of the shop, so the others are deleted.
   */
  apply(message, { whole = false } = {}) {
    const { businessUnitId, publishTime } = message;
    const shop = this.#shop(businessUnitId);
    if (publishTime > shop.newest) shop.newest = publishTime;
    const isNewest = (rate) => publishTime > this.#timeOf(shop, rate);
    const put = (rate) => {
      shop.rates.set(keyOf(rate), { publishTime, rate });
      this.#deleted.delete(`${businessUnitId} ${keyOf(rate)}`);
    };
    const remove = (rate) => {
      const removed = shop.rates.get(keyOf(rate))?.rate;
      shop.rates.delete(keyOf(rate));
      this.#remember(`${businessUnitId} ${keyOf(rate)}`, publishTime);
      return removed ?? [];
    };
    const changed = { createdRates: [], updatedRates: [], deletedRates: [] };
    for (const list of ["createdRates", "updatedRates"]) {
      changed[list] = message[list].filter(isNewest);
      changed[list].forEach(put);
    }
    changed.deletedRates = message.deletedRates.filter(isNewest).flatMap(remove);
    if (whole && publishTime > shop.floor) {
      changed.deletedRates.push(...removeOlder(shop, publishTime));
      shop.floor = publishTime;
    }
    return changed;
  }

  /**
   * Sets the rates of a shop to those that the host listed. `publishTime` is that of the newest message known before the
   * request: the list contains it and all earlier ones.
   */
  replace(businessUnitId, rates, publishTime) {
    const shop = this.#shop(businessUnitId);
    shop.floor = publishTime;
    shop.rates = new Map(rates.map((rate) => [keyOf(rate), { publishTime, rate }]));
  }

  delete(businessUnitId) {
    this.#shops.delete(businessUnitId);
  }

  /** Forgets all publish times, because those of later messages cannot be compared with them. */
  forgetTimes() {
    this.#deleted.clear();
    for (const [businessUnitId, { rates }] of this.#shops) {
      for (const held of rates.values()) held.publishTime = NEVER;
      this.#shops.set(businessUnitId, { floor: NEVER, newest: NEVER, rates });
    }
  }

  toJSON() {
    const shops = [...this.#shops].map(([businessUnitId, { floor, newest, rates }]) => {
      const listed = [...rates.values()].map(({ publishTime, rate }) => ({ publishTime, ...rate }));
      return { businessUnitId, floor, newest, rates: listed };
    });
    return { shops, deleted: [...this.#deleted] };
  }

  /** Reads a result of `toJSON`. Throws if it cannot be read. */
  static from({ shops, deleted }) {
    const held = new HeldRates();
    for (const { businessUnitId, floor, newest, rates } of shops) {
      const shop = Object.assign(held.#shop(businessUnitId), { floor: readTime(floor), newest: readTime(newest) });
      for (const { publishTime, ...row } of rates) {
        const rate = readRate(row, businessUnitId, "$");
        shop.rates.set(keyOf(rate), { publishTime: readTime(publishTime), rate });
      }
    }
    for (const [name, publishTime] of deleted) held.#deleted.set(name, readTime(publishTime));
    return held;
  }

  #shop(businessUnitId) {
    let shop = this.#shops.get(businessUnitId);
    if (shop === undefined) this.#shops.set(businessUnitId, (shop = { floor: NEVER, newest: NEVER, rates: new Map() }));
    return shop;
  }

  /** The publish time of the last change known of a rate, held or deleted. */
  #timeOf(shop, rate) {
    const held = shop.rates.get(keyOf(rate))?.publishTime;
    if (held !== undefined) return held;
    const deleted = this.#deleted.get(`${rate.businessUnitId} ${keyOf(rate)}`) ?? NEVER;
    return deleted > shop.floor ? deleted : shop.floor;
  }

  #remember(name, publishTime) {
    this.#deleted.delete(name);
    this.#deleted.set(name, publishTime);
    if (this.#deleted.size > MAX_DELETED) this.#deleted.delete(this.#deleted.keys().next().value);
  }
}

/** Removes the rates of a shop that are older than a time, and returns them. */
function removeOlder(shop, time) {
  const older = [...shop.rates].filter(([, { publishTime }]) => publishTime < time);
  return older.map(([key, { rate }]) => {
    shop.rates.delete(key);
    return rate;
  });
}

const readTime = (time) => (time === NEVER ? time : matching(PUBLISH_TIME, time, "$", "must have publish times"));

/** The key of a rate within its shop. Currencies have three letters, so no two rates share a key. */
const keyOf = ({ exchangeRateType, currencyIdFrom, currencyIdTo }) => `${exchangeRateType} ${currencyIdFrom} ${currencyIdTo}`;
