/**
 * The requests of the Rates view: business units, rates, changes with their dry runs, history and messages. Numbers are texts
 * in both directions.
 */

import { parseExactly } from "../../js/src/rates/message.js";
import { withReason } from "../shared/reason.js";
import { number, toExactJson } from "./exact.js";

/** The most answers kept to compare with the next ones. */
const MAX_KEPT = 500;

/** The most pages of a history: 100,000 values. */
const MAX_PAGES = 100;

const unitPath = (id) => `/api/v1/business-units/${encodeURIComponent(id)}`;
const filePath = (id, { exchangeRateTypes, crosses, acceptDeviation }) =>
  `/api/v1/reference-rates/import?${new URLSearchParams({ businessUnitId: id, exchangeRateTypes: exchangeRateTypes.join(), source: "ECB", crosses, acceptDeviation })}`;
const ratesPath = (id) => `${unitPath(id)}/exchange-rates`;

export class RatesHost {
  #session;
  #kept = new Map();

  constructor(session) {
    this.#session = session;
  }

  /** Every business unit. */
  async units() {
    return this.#get("/api/v1/business-units");
  }

  /** The rates that a unit uses. An unchanged answer is the same object again. */
  async used(id) {
    return this.#get(`/api/v1/exchange-rates?${new URLSearchParams({ businessUnit: id })}`);
  }

  /** The rates set at a unit. */
  async setAt(id) {
    return this.#get(ratesPath(id));
  }

  /** The rates set at a unit, and their version: `{ body, etag }`. */
  async setAtWithVersion(id) {
    const body = await this.setAt(id);
    return { body, etag: this.#kept.get(ratesPath(id))?.etag };
  }

  /** A unit and its version: `{ body, etag }`. */
  async unit(id) {
    const response = await this.#session.request(unitPath(id));
    return { body: parseExactly(await response.text()), etag: response.headers.get("ETag") };
  }

  /** Tries a change of a unit. */
  async tryUnit(id, unit) {
    return this.#ask("PUT", `${unitPath(id)}?dryRun=true`, writtenUnit(unit));
  }

  /** Writes a unit if it still has the version `etag`; without one, if it does not exist. Returns the id of the change. */
  async writeUnit(id, unit, etag, reason) {
    const headers = etag === undefined ? { "If-None-Match": "*" } : { "If-Match": etag };
    const answer = await this.#session.send(withReason(unitPath(id), reason), { method: "PUT", headers, body: toExactJson(writtenUnit(unit)) });
    return answer.headers.get("Correlation-Id");
  }

  async removeUnit(id, etag, reason) {
    await this.#session.send(withReason(unitPath(id), reason), { method: "DELETE", headers: { "If-Match": etag } });
  }

  /** Tries a change of rates, `{ set, delete }`. */
  async tryRates(id, change) {
    return this.#ask("POST", `${ratesPath(id)}?dryRun=true`, writtenRates(change));
  }

  /**
   * Changes rates, all or none, if those set still have the version `etag`; returns
   * `{ correlationId, created, updated, deleted, unchanged }`. `acceptDeviation` accepts moves of any size; `reason` says why.
   */
  async changeRates(id, change, etag, { acceptDeviation = false, reason } = {}) {
    const query = acceptDeviation ? "?acceptDeviation=true" : "";
    return this.#write(withReason(`${ratesPath(id)}${query}`, reason), writtenRates(change), { "If-Match": etag });
  }

  /** The values of a used rate over time, oldest first: `{ at, rateValue?, rateValueWithMarkup?, setAt?, by?, note? }`. */
  async history(id, { exchangeRateType, currencyIdFrom, currencyIdTo }, since, limit = 1000) {
    const query = { businessUnit: id, exchangeRateType, currencyIdFrom, currencyIdTo, since, limit };
    const items = [];
    let cursor;
    for (let page = 0; page < MAX_PAGES; page += 1) {
      const asked = new URLSearchParams({ ...query, ...(cursor !== undefined && { cursor }) });
      const answer = await this.#ask("GET", `/api/v1/exchange-rates/history?${asked}`);
      items.push(...answer.items);
      cursor = answer.next;
      if (cursor === undefined || limit === 1) break;
    }
    return items;
  }

  /** Tries loading a file of reference rates at a unit: `{ document, exchangeRateTypes, crosses, acceptDeviation }`. */
  async tryReferenceFile(id, asked) {
    const response = await this.#session.request(`${filePath(id, asked)}&dryRun=true`, sentFile(asked));
    return parseExactly(await response.text());
  }

  /** Loads it: rates beyond the tolerance are left out unless `acceptDeviation`. */
  async loadReferenceFile(id, asked, reason) {
    return (await this.#session.send(withReason(filePath(id, asked), reason), sentFile(asked), parseExactly)).body;
  }

  /** The progress of a change to the shops. */
  async progress(correlationId) {
    return this.#ask("GET", `/api/v1/exchange-rates/changes/${encodeURIComponent(correlationId)}`);
  }

  /** Sends every rate of the shops at or below a unit to the subscribers; returns the id of the change. */
  async sendInitialState(businessUnitId) {
    return (await this.#write("/api/v1/initial-state", { tenantId: this.#session.tenant, businessUnitId })).correlationId;
  }

  /** Makes a request that changes nothing. */
  async #ask(method, path, body) {
    const response = await this.#session.request(path, { method, body: body && toExactJson(body) });
    return parseExactly(await response.text());
  }

  /** Makes a request that changes something. */
  async #write(path, body, headers) {
    return (await this.#session.send(path, { method: "POST", headers, body: toExactJson(body) }, parseExactly)).body;
  }

  async #get(path) {
    const kept = this.#kept.get(path);
    const response = await this.#session.request(path, { headers: kept?.etag ? { "If-None-Match": kept.etag } : {} });
    if (response.status === 304) return kept.body;
    const body = parseExactly(await response.text());
    if (this.#kept.size >= MAX_KEPT) this.#kept.clear();
    this.#kept.set(path, { etag: response.headers.get("ETag"), body });
    return body;
  }
}

/** A file as sent: its first bytes tell the host its kind. */
function sentFile({ document }) {
  const begin = String.fromCharCode(...document.subarray(0, 100)).replace(/^\xef\xbb\xbf/, "").trimStart();
  const type = begin.startsWith("PK") ? "application/zip" : begin.startsWith("<") ? "application/xml" : "text/csv";
  return { method: "POST", headers: { "Content-Type": type }, body: document };
}

const writtenRates = ({ set = [], delete: gone = [] }) => ({
  ...(set.length > 0 && { set: set.map((rate) => ({ ...rate, rateValue: number(rate.rateValue) })) }),
  ...(gone.length > 0 && { delete: gone }),
});

const writtenUnit = ({ markupPercentage, markups, tolerancePercentage, tolerances, ...unit }) => ({
  ...unit,
  ...writtenPercentages("markupPercentage", markupPercentage, "markups", markups),
  ...writtenPercentages("tolerancePercentage", tolerancePercentage, "tolerances", tolerances),
});

/** A general percentage and those of pairs, as far as they are set. */
const writtenPercentages = (name, general, listName, list) => ({
  ...(general !== undefined && { [name]: number(general) }),
  ...(list?.length > 0 && { [listName]: list.map((entry) => ({ ...entry, [name]: number(entry[name]) })) }),
});
