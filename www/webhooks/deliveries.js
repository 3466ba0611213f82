/**
 * The deliveries of a filter, as far back as asked for, newest first. New ones and changes are merged into the known ones.
 * Knows no elements.
 */

/** The deliveries of a page, and of a first reading. */
const PAGE = 50;

/** The most pages that one search reads: with a rare filter many may be empty. */
const MAX_PAGES = 20;

/** The most deliveries that a reading asks for one by one, because they are no longer on the first page. */
const MAX_SINGLE = 10;

/** After a longer pause, more may have come than fit on a page. */
const GAP_MS = 15_000;

const PERIODS_MS = { "1h": 3_600_000, "24h": 86_400_000, "7d": 7 * 86_400_000 };

/** The filter in the host's form: a period becomes a time. */
export function asked({ period, since, until, ...rest }, now = Date.now()) {
  const begin = Object.hasOwn(PERIODS_MS, period) ? new Date(now - PERIODS_MS[period]).toISOString() : since;
  return { ...rest, ...(begin && { since: begin }), ...(until && { until }) };
}

/** True if a delivery may still change by itself. */
export const isUnsettled = ({ status }) => status === "PENDING" || status === "RETRYING" || status === "HELD";

const newestFirst = (one, other) => (one.createdAt === other.createdAt ? (one.id < other.id ? 1 : -1) : one.createdAt < other.createdAt ? 1 : -1);

export class Deliveries {
  #host;
  #filter;
  #known = new Map();
  #suspects = new Set();
  #older;
  #readAt;
  #turn = 0;

  constructor(host, filter) {
    this.#host = host;
    this.#filter = filter;
  }

  /** The known ones, newest first. */
  all() {
    return [...this.#known.values()].sort(newestFirst);
  }

  /** True if there may be older ones. */
  get hasOlder() {
    return this.#older !== undefined;
  }

  /** True if anything was read. */
  get isRead() {
    return this.#readAt !== undefined;
  }

  /** Reads new ones and changes. */
  async renew() {
    if (!this.isRead || Date.now() - this.#readAt > GAP_MS) return this.#readNewest();
    const page = await this.#page(undefined);
    const isGap = page.items.length >= PAGE && !page.items.some(({ id }) => this.#known.has(id));
    if (isGap) return this.#readNewest();
    this.#merge(page.items);
    for (const { id } of page.items) this.#suspects.delete(id);
    await this.#readSingly(new Set(page.items.map(({ id }) => id)));
    this.#readAt = Date.now();
  }

  /** Reads older ones: until a page is full, none are left, or the search has taken long. */
  async readOlder() {
    const { items, next } = await this.#search(this.#older);
    this.#merge(items);
    this.#older = next;
    return items.length;
  }

  /** Reads all known ones again, one after another: settled ones can be sent again too. */
  suspect() {
    for (const id of this.#known.keys()) this.#suspects.add(id);
  }

  /** Starts again: those older than the answer are read on demand. */
  async #readNewest() {
    const { items, next } = await this.#search(undefined);
    const isContinued = items.length === 0 || items.some(({ id }) => this.#known.has(id));
    if (!isContinued) this.#known.clear();
    if (this.#known.size === 0) this.#older = next;
    this.#merge(items);
    this.#readAt = Date.now();
  }

  async #search(cursor) {
    const found = [];
    let next = cursor;
    for (let page = 0; page < MAX_PAGES; page += 1) {
      const answer = await this.#page(next);
      found.push(...answer.items);
      next = answer.next;
      if (next === undefined || found.length >= PAGE) break;
    }
    return { items: found, next };
  }

  async #page(cursor) {
    return this.#host.deliveries(asked(this.#filter), { limit: PAGE, cursor });
  }

  /** Reads some of those that may have changed and are no longer on the first page, in turn. */
  async #readSingly(fresh) {
    const due = this.all().filter((delivery) => (isUnsettled(delivery) || this.#suspects.has(delivery.id)) && !fresh.has(delivery.id));
    const some = Array.from({ length: Math.min(MAX_SINGLE, due.length) }, (_, at) => due[(this.#turn + at) % due.length]);
    this.#turn += some.length;
    const read = await Promise.all(some.map(({ id }) => this.#host.delivery(id).catch(ignoreNotFound)));
    for (const { id } of some) this.#suspects.delete(id);
    this.#merge(read.filter(Boolean).map(({ attempts, request, ...delivery }) => delivery));
  }

  #merge(items) {
    for (const item of items) this.#known.set(item.id, item);
  }
}

const ignoreNotFound = (error) => {
  if (error.status !== 404) throw error;
};
