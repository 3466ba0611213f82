// A host of exchange rates within a test, for behavior that the program cannot show on demand: messages in any order, repeats,
// resets, slow answers. It has the documented routes of a consumer, and shops that set their own rates; the module computes
// these. Tests without its controls run against the program too.

import { createServer } from "node:http";
import { text } from "node:stream/consumers";

import { calculate, convert } from "../../js/src/runtime/node.js";

export const TENANT = "demo";
const RATES = "/api/v1/exchange-rates";
const TOPIC = "/api/v1/topics/cer.public.event.rates-changed.v1";

/** The problem codes of its errors. */
const CODES = { 400: "invalid", 401: "unauthenticated", 403: "permission_missing" };

/** Amounts are JSON numbers on the wire, written from their text. */
const toJson = (value) => JSON.stringify(value).replace(/"(rateValue|rateValueWithMarkup|amount)":"([\d.]+)"/g, '"$1":$2');

/** Starts the host; returns the same as `demo()` of `program.mjs`, and the controls. */
export async function ratesHost() {
  const host = new RatesHost();
  await new Promise((resolve) => host.server.listen(0, "127.0.0.1", resolve));
  host.url = `http://127.0.0.1:${host.server.address().port}`;
  return host;
}

class RatesHost {
  clientId = "till";
  clientSecret = "secret";
  /** `METHOD path` of every request; those of the topic include the cursor to resume from. */
  requests = [];
  cursors = [];
  /** The form of events: the ends of lines, and the bytes sent at once. */
  wire = { eol: "\n", bytes: Infinity };
  /** True if `proceed()` publishes the messages of an initial state. */
  isSlow = false;
  #waiting = [];
  /** True if a stream starts with its position. */
  greets = true;
  /** The prefix of this log's cursors. */
  #epoch = "c";
  #tokens = new Map();
  #units = new Map();
  /** The companies and groups. */
  #above = new Set();
  #log = [];
  #oldest = 0;
  #listeners = new Set();
  #changes = new Map();
  #gates = [];
  #micros = Date.now() * 1000;
  #count = 0;

  constructor() {
    this.server = createServer((request, response) => {
      this.#answer(request, response).catch((error) => response.writeHead(500).end(toJson({ message: String(error) })));
    });
  }

  /** A token, which may lack permissions. */
  token = async (...without) => {
    const token = `token-${(this.#count += 1)}`;
    this.#tokens.set(token, without);
    return token;
  };

  api = async (method, path, body) => {
    const headers = { Authorization: `Bearer ${await this.token()}` };
    return fetch(this.url + path, { method, headers, body: body && JSON.stringify(body) });
  };

  end() {
    this.endStreams();
    this.server.close();
    this.server.closeAllConnections();
  }

  /** Refuses all tokens that were issued, and ends the streams. */
  revoke() {
    this.#tokens.clear();
    this.endStreams();
  }

  endStreams() {
    for (const { response } of this.#listeners) response.end();
    this.#listeners.clear();
  }

  /** Makes the next request of a path wait, before or after it is handled: `{ arrived, open }`. */
  gate(path, when = "before") {
    const gate = { path, when, opened: later(), reached: later() };
    this.#gates.push(gate);
    return { arrived: gate.reached.promise, open: gate.opened.resolve };
  }

  /** Publishes the next messages of an initial state. */
  proceed(messages = Infinity) {
    for (const publish of this.#waiting.splice(0, messages)) publish();
  }

  /** Forgets the messages so far. */
  trim() {
    this.#oldest = this.#log.length;
  }

  /** Loses the log: its cursors are malformed from now on. */
  replaceLog() {
    this.#epoch = "new";
    this.#log = [];
    this.#oldest = 0;
  }

  /** The next publish time. */
  time() {
    this.#micros += 1;
    return new Date(this.#micros / 1000).toISOString().replace("Z", `${String(this.#micros % 1000).padStart(3, "0")}Z`);
  }

  /** A message of the topic with these lists. */
  message(businessUnitId, lists, { publishTime = this.time(), tenantId = TENANT, correlationId = `change-${publishTime}` } = {}) {
    const attributes = { "Tenant-Id": tenantId, "Business-Unit-Id": businessUnitId, "Correlation-Id": correlationId };
    return { messageId: `m-${publishTime}`, publishTime, attributes, data: { tenantId, businessUnitId, ...lists } };
  }

  /** Appends a message, or the text of one, to the topic. */
  publish(message) {
    const data = typeof message === "string" ? message : toJson(message);
    this.#log.push({ businessUnitId: message.attributes?.["Business-Unit-Id"], data });
    for (const listener of this.#listeners) this.#send(listener, this.#log.length - 1);
  }

  /** Sends a heartbeat to all streams; with `cursor`, also the end of the log: in a "comment" or in an "event". */
  heartbeat({ cursor } = {}) {
    const end = this.#cursor(this.#log.length);
    const lines = { comment: [`: cursor ${end}`], event: [`id: ${end}`, ""] }[cursor] ?? [];
    lines.unshift(": alive");
    lines.push("");
    for (const { response } of this.#listeners) this.#write(response, lines);
  }

  get listeners() {
    return this.#listeners.size;
  }

  #cursor(position) {
    return `${this.#epoch}${position}`;
  }

  #send({ response, businessUnitId, tenantId }, position) {
    const entry = this.#log[position];
    if (tenantId !== null && tenantId !== TENANT) return;
    if (businessUnitId !== null && (entry.businessUnitId ?? businessUnitId) !== businessUnitId) return;
    this.#write(response, [`id: ${this.#cursor(position + 1)}`, `data: ${entry.data}`, "", ""]);
  }

  #write(response, lines) {
    const bytes = Buffer.from(lines.join(this.wire.eol));
    const step = Math.min(this.wire.bytes, bytes.length);
    for (let at = 0; at < bytes.length; at += step) response.write(bytes.subarray(at, at + step));
  }

  async #answer(request, response) {
    const { pathname, searchParams } = new URL(request.url, this.url);
    const { method, headers } = request;
    const body = await text(request);
    const gate = this.#gates.find(({ path }) => path === pathname);
    if (gate !== undefined) this.#gates.splice(this.#gates.indexOf(gate), 1);
    gate?.reached.resolve();
    if (gate?.when === "before") await gate.opened.promise;
    this.requests.push(`${method} ${pathname}`);
    const without = this.#tokens.get(headers.authorization?.replace("Bearer ", ""));
    const answer = this.#route({ method, pathname, searchParams, headers, body, without, response });
    if (gate?.when === "after") await gate.opened.promise;
    if (answer === "stream") return;
    const [status, value] = answer;
    const isProblem = status >= 400;
    response.writeHead(status, { "Content-Type": isProblem ? "application/problem+json" : "application/json" });
    response.end(value === undefined ? undefined : toJson(isProblem ? { statusCode: status, code: CODES[status], ...value } : value));
  }

  #route({ method, pathname, searchParams, headers, body, without, response }) {
    if (pathname === "/oauth2/token") {
      const token = `token-${(this.#count += 1)}`;
      this.#tokens.set(token, []);
      return [200, { access_token: token, expires_in: 3600 }];
    }
    if (without === undefined) return [401, { message: "the token is not valid" }];
    const needs = (permission) => without.includes(permission);
    const [, id, rate] = /^\/api\/v1\/business-units\/([^/]+)(?:\/exchange-rates\/(.+))?$/.exec(pathname) ?? [];
    if (rate !== undefined) return this.#setRate(method, id, rate, body);
    if (id !== undefined) return this.#setUnit(method, id, body);
    if (pathname === TOPIC) return this.#listen(searchParams, headers, response);
    if (pathname === "/api/v1/initial-state") return this.#initialState(JSON.parse(body));
    if (needs("exr.rate.read")) return [403, { message: "exr.rate.read is missing" }];
    if (pathname === `${RATES}/convert`) return this.#convert(body);
    if (pathname.startsWith(`${RATES}/changes/`)) {
      const change = this.#changes.get(decodeURIComponent(pathname.slice(`${RATES}/changes/`.length)));
      return change ? [200, change] : [404, { code: "change_not_found", message: "there is no such change" }];
    }
    const unit = this.#units.get(searchParams.get("businessUnit"));
    return unit ? [200, unit.rates] : [404, { code: "business_unit_not_found", message: "there is no such business unit" }];
  }

  #setUnit(method, id, body) {
    if (method === "DELETE") {
      this.#units.get(id).set.clear();
      this.#update(id);
      this.#units.delete(id);
      return [204];
    }
    const { type, markupPercentage } = JSON.parse(body);
    const isNew = !this.#units.has(id);
    if (type !== "STORE") this.#above.add(id);
    else {
      const unit = this.#units.get(id) ?? { set: new Map(), rates: [] };
      this.#units.set(id, Object.assign(unit, { markupPercentage }));
      this.#update(id);
    }
    return [isNew ? 201 : 200, { id, type }];
  }

  #setRate(method, id, path, body) {
    const { set } = this.#units.get(id);
    const [exchangeRateType, currencyIdFrom, currencyIdTo] = path.split("/");
    const isNew = !set.has(path);
    const rateValue = /"rateValue": *([\d.]+)/.exec(body)?.[1];
    if (method === "DELETE") set.delete(path);
    else set.set(path, { exchangeRateType, currencyIdFrom, currencyIdTo, rateValue });
    this.#update(id);
    return method === "DELETE" ? [204] : [isNew ? 201 : 200, set.get(path)];
  }

  /** Computes the rates that a shop uses, and publishes the differences. */
  #update(id) {
    const unit = this.#units.get(id);
    const markupPercentage = unit.markupPercentage === undefined ? null : String(unit.markupPercentage);
    const levels = [{ businessUnitId: id, rates: [...unit.set.values()], markupPercentage }];
    const at = `${this.time().slice(0, 23)}Z`;
    const [{ rates, ...lists }] = calculate([{ op: "difference", before: unit.rates, levels, at }]);
    unit.rates = rates;
    const sent = Object.entries(lists).filter(([, list]) => list.length > 0);
    if (sent.length > 0) this.publish(this.message(id, Object.fromEntries(sent.map(([name, list]) => [name, list.map(toTopic)]))));
  }

  #listen(searchParams, headers, response) {
    if (this.#above.has(searchParams.get("businessUnitId"))) return [400, { message: ["$.businessUnitId must be a shop"] }];
    const cursor = headers["last-event-id"];
    this.cursors.push(cursor);
    const after = cursor ?? searchParams.get("after") ?? "latest";
    const from = after === "latest" ? this.#log.length : after === "earliest" ? this.#oldest : this.#position(after);
    if (from === undefined) return [400, { message: ["$.after must be a cursor"] }];
    const listener = { response, businessUnitId: searchParams.get("businessUnitId"), tenantId: searchParams.get("tenantId") };
    response.writeHead(200, { "Content-Type": "text/event-stream" });
    response.flushHeaders();
    if (this.greets) this.#write(response, [`: cursor ${this.#cursor(from)}`, ""]);
    if (from < this.#oldest) this.#write(response, [`id: ${this.#cursor(this.#oldest)}`, "event: reset", "data: {}", "", ""]);
    for (let at = Math.max(from, this.#oldest); at < this.#log.length; at += 1) this.#send(listener, at);
    this.#listeners.add(listener);
    response.on("close", () => this.#listeners.delete(listener));
    return "stream";
  }

  #position(cursor) {
    const isKnown = cursor.startsWith(this.#epoch);
    return isKnown ? Number(cursor.slice(this.#epoch.length)) : undefined;
  }

  #initialState({ tenantId, businessUnitId }) {
    if (tenantId !== TENANT) return [404, { code: "tenant_not_found", message: "there is no such tenant" }];
    const correlationId = `state-${this.time()}`;
    const ids = businessUnitId === undefined ? [...this.#units.keys()] : [businessUnitId];
    const change = { correlationId, state: "RUNNING", businessUnits: { total: ids.length, done: 0, published: 0 } };
    this.#changes.set(correlationId, change);
    for (const id of ids) {
      this.#waiting.push(() => {
        const rates = this.#units.get(id).rates.map(toTopic);
        this.publish(this.message(id, rates.length > 0 ? { updatedRates: rates } : {}, { correlationId }));
        change.businessUnits.done += 1;
        change.businessUnits.published += 1;
        if (change.businessUnits.done === ids.length) change.state = "DONE";
      });
    }
    if (!this.isSlow) this.proceed();
    return [200, { correlationId }];
  }

  #convert(body) {
    const { businessUnitId, exchangeRateType, from, to, withMarkup = false } = JSON.parse(body);
    const amount = /"amount": *([\d.]+)/.exec(body)[1];
    const isApplied = (row) => row.exchangeRateType === exchangeRateType && row.currencyIdFrom === to && row.currencyIdTo === from;
    const rate = this.#units.get(businessUnitId).rates.find(isApplied);
    if (rate === undefined) return [404, { code: "rate_not_found", message: "there is no such rate" }];
    const value = withMarkup ? rate.rateValueWithMarkup : rate.rateValue;
    return [200, { amount: convert(amount, value, { currency: to }), currency: to, rate }];
  }
}

/** A rate in the form of the topic. */
const toTopic = ({ currencyIdFrom, currencyIdTo, setAt, ...rest }) => ({
  ...rest,
  sourceCurrencyCode: currencyIdFrom,
  targetCurrencyCode: currencyIdTo,
});

function later() {
  const made = {};
  made.promise = new Promise((resolve) => (made.resolve = resolve));
  return made;
}
