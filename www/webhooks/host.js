/**
 * What the Webhooks view asks the host: webhooks and their health, pings, events and who asks for them, deliveries and their
 * replay.
 */

import { parseExactly } from "./exact-json.js";

const WEBHOOKS = "/api/v1/webhooks";
const DELIVERIES = "/api/v1/deliveries";
const CONSUMERS = "/api/v1/event-consumers";

const webhookPath = (id) => `${WEBHOOKS}/${encodeURIComponent(id)}`;
const deliveryPath = (id) => `${DELIVERIES}/${encodeURIComponent(id)}`;

export class WebhooksHost {
  #session;

  constructor(session) {
    this.#session = session;
  }

  /** Every webhook. */
  async webhooks() {
    return this.#ask("GET", WEBHOOKS);
  }

  /** How each webhook fared in the last 24 hours. */
  async health() {
    return this.#ask("GET", `${WEBHOOKS}/health`);
  }

  /** A webhook and its version: `{ body, etag }`. */
  async webhook(id) {
    const response = await this.#request(webhookPath(id));
    return { body: parseExactly(await response.text()), etag: response.headers.get("ETag") };
  }

  /** Creates a webhook. The answer has its shared key if the host has generated one. */
  async create(webhook) {
    return this.#ask("POST", WEBHOOKS, webhook);
  }

  /** Replaces a webhook if it still has the version `etag`. The answer has its shared key if the host has generated one. */
  async replace(id, webhook, etag) {
    return this.#ask("PUT", webhookPath(id), webhook, { "If-Match": etag });
  }

  async remove(id, etag) {
    await this.#request(webhookPath(id), { method: "DELETE", headers: { "If-Match": etag } });
  }

  /** Replaces the shared key by a generated one, and returns it; the old one keeps working for `overlap`. */
  async rotateSharedKey(id, overlap) {
    return this.#ask("POST", `${webhookPath(id)}/shared-key?${new URLSearchParams({ overlap })}`);
  }

  /** Sends a ping as an ordinary delivery: `{ id, deliveryId }`. */
  async ping(id) {
    return this.#ask("POST", `${webhookPath(id)}/ping`);
  }

  /** Sends a ping with settings that are not saved, and returns the attempt: nothing is stored. */
  async tryPing(webhook) {
    return this.#ask("POST", `${WEBHOOKS}/ping`, webhook);
  }

  /** Publishes an event, given as JSON: `{ id, deliveries }`. */
  async publish(json) {
    const response = await this.#request("/api/v1/events", { method: "POST", body: json });
    return response.json();
  }

  /** Every consumer of events. */
  async consumers() {
    return this.#ask("GET", CONSUMERS);
  }

  async removeConsumer(name) {
    await this.#request(`${CONSUMERS}/${encodeURIComponent(name)}`, { method: "DELETE" });
  }

  /** A page of deliveries, newest first: `{ items, next? }`. A page may have no items and still be followed by others. */
  async deliveries(filter, { limit, cursor }) {
    const query = Object.entries({ ...filter, limit, cursor }).filter(([, value]) => value !== undefined);
    return this.#ask("GET", `${DELIVERIES}?${new URLSearchParams(query)}`);
  }

  /** A delivery with its attempts and its request. */
  async delivery(id) {
    return this.#ask("GET", deliveryPath(id));
  }

  /** Sends the event of a delivery again, and returns the delivery. */
  async replay(id) {
    return this.#ask("POST", `${deliveryPath(id)}/replay`);
  }

  /** Sends the events of all deliveries that a filter finds again, in the background; returns the id of the replay. */
  async replayAll(filter) {
    return (await this.#ask("POST", `${DELIVERIES}/replay`, filter)).id;
  }

  /** How far a replay has come. */
  async replayProgress(id) {
    return this.#ask("GET", `${DELIVERIES}/replays/${encodeURIComponent(id)}`);
  }

  /** The certificates of the tokens that deliveries carry, by their key's id. */
  async certificates() {
    return this.#ask("GET", "/oauth2/v1/certs");
  }

  async #ask(method, path, body, headers) {
    const response = await this.#request(path, { method, headers, body: body && JSON.stringify(body) });
    return response.json();
  }

  async #request(path, options) {
    try {
      return await this.#session.host.request(path, options);
    } catch (error) {
      this.#session.learn(error);
      throw error;
    }
  }
}
