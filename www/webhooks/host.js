/**
 * The requests of the Webhooks view: webhooks and their health, pings, events and consumers, deliveries and their replay.
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
    return this.#ask(WEBHOOKS);
  }

  /** The health of each webhook in the last 24 hours. */
  async health() {
    return this.#ask(`${WEBHOOKS}/health`);
  }

  /** A webhook and its version: `{ body, etag }`. */
  async webhook(id) {
    const response = await this.#session.request(webhookPath(id));
    return { body: parseExactly(await response.text()), etag: response.headers.get("ETag") };
  }

  /** Creates a webhook. The answer has its shared key if the host generated one. */
  async create(webhook) {
    return this.#write("POST", WEBHOOKS, webhook);
  }

  /** Replaces a webhook if it still has the version `etag`. The answer has its shared key if the host generated one. */
  async replace(id, webhook, etag) {
    return this.#write("PUT", webhookPath(id), webhook, { "If-Match": etag });
  }

  async remove(id, etag) {
    await this.#write("DELETE", webhookPath(id), undefined, { "If-Match": etag });
  }

  /** Replaces the shared key with a generated one, and returns it; the old one keeps working for `overlap`. */
  async rotateSharedKey(id, overlap) {
    return this.#write("POST", `${webhookPath(id)}/shared-key?${new URLSearchParams({ overlap })}`);
  }

  /** Sends a ping as an ordinary delivery: `{ id, deliveryId }`. */
  async ping(id) {
    return this.#write("POST", `${webhookPath(id)}/ping`);
  }

  /** Ends the pause of a webhook at once. */
  async resume(id) {
    await this.#write("POST", `${webhookPath(id)}/resume`);
  }

  /** Sends a ping with unsaved settings, and returns the attempt: nothing is stored. */
  async tryPing(webhook) {
    return this.#write("POST", `${WEBHOOKS}/ping`, webhook);
  }

  /** Publishes an event, given as JSON: `{ id, deliveries }`. Each id is published once. */
  async publish(json) {
    return (await this.#session.send("/api/v1/events", { method: "POST", body: json })).body;
  }

  /** Every consumer of events. */
  async consumers() {
    return this.#ask(CONSUMERS);
  }

  async removeConsumer(name) {
    await this.#write("DELETE", `${CONSUMERS}/${encodeURIComponent(name)}`);
  }

  /** A page of deliveries, newest first: `{ items, next? }`. A page may be empty and others still follow it. */
  async deliveries(filter, { limit, cursor }) {
    const query = Object.entries({ ...filter, limit, cursor }).filter(([, value]) => value !== undefined);
    return this.#ask(`${DELIVERIES}?${new URLSearchParams(query)}`);
  }

  /** A delivery with its attempts and its request. */
  async delivery(id) {
    return this.#ask(deliveryPath(id));
  }

  /** Sends the event of a delivery again, and returns the delivery. */
  async replay(id) {
    return this.#write("POST", `${deliveryPath(id)}/replay`);
  }

  /** Sends the events of all deliveries of a filter again, in the background; returns the id of the replay. */
  async replayAll(filter) {
    return (await this.#write("POST", `${DELIVERIES}/replay`, filter)).id;
  }

  /** The progress of a replay. */
  async replayProgress(id) {
    return this.#ask(`${DELIVERIES}/replays/${encodeURIComponent(id)}`);
  }

  /** The certificates of the tokens in deliveries, by their key's id. */
  async certificates() {
    return this.#ask("/oauth2/v1/certs");
  }

  async #ask(path) {
    return (await this.#session.request(path)).json();
  }

  async #write(method, path, body, headers) {
    return (await this.#session.send(path, { method, headers, body: body && JSON.stringify(body) })).body;
  }
}
