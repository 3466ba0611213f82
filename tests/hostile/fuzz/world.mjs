// The world of the requests in `requests.json`: a tenant with one of everything, created again when a request has removed it;
// and the senders.

import { randomUUID } from "node:crypto";

import { ageCondition, evaluation, administrator, registration } from "../host.mjs";
import { ask, freshAddress, json, keepAlive } from "../wire.mjs";

const TENANT = "fuzz";
const ROLES = ["ecs.editor", "ecs.evaluator", "exr.editor", "exr.subscriber", "exe.editor", "exe.publisher", "iam.admin"];
const CONDITION = "watched";

const unit = (id, body) => ({ method: "PUT", path: `/api/v1/business-units/${id}`, body });
const webhook = { name: "ERP", callbackUrl: "https://127.0.0.1:9/hook", eventTypes: ["x.orders.v1"], authentication: { type: "BEARER" } };
const software = { softwareId: "till", softwareVersion: "1" };

export class World {
  #host;
  #admin;
  #tenant;
  #watcher;
  #agent = keepAlive();
  #names = { project: randomUUID(), change: randomUUID() };
  #count = 0;

  static async begin(host) {
    const world = new World();
    world.#host = host;
    world.#admin = await administrator(host);
    world.#tenant = await world.#admin.client(TENANT, ROLES);
    world.#watcher = await world.#admin.client("watcher", ["ecs.editor", "ecs.evaluator"]);
    await ask(host, { ...ageCondition(CONDITION), token: world.#watcher.token });
    await world.restore();
    return world;
  }

  /** The headers that identify the sender of a request, and its connection. */
  sender(as) {
    const bearer = (token) => ({ headers: { authorization: `Bearer ${token}` }, agent: this.#agent });
    const { clientId, clientSecret } = this.#tenant;
    switch (as) {
      case "operator":
        return bearer(this.#admin.token);
      case "tenant":
        return bearer(this.#tenant.token);
      case "client":
        return { headers: { authorization: `Basic ${btoa(`${clientId}:${clientSecret}`)}` }, from: freshAddress() };
      default:
        // Registrations and wrong secrets are counted by address.
        return { headers: {}, from: freshAddress() };
    }
  }

  /** Replaces the names written as `{{name}}` in a text. */
  named(text) {
    return text.replaceAll(/\{\{(\w+)\}\}/g, (whole, name) => (name === "unique" ? `u${(this.#count += 1)}` : (this.#names[name] ?? whole)));
  }

  /** Checks that the host lives and decides: its fault, if any. */
  async fault() {
    const health = await ask(this.#host, { path: "/healthz", agent: this.#agent });
    if (health.status !== 200) return `/healthz was answered with ${health.status}`;
    const decided = await ask(this.#host, { ...evaluation(CONDITION), token: this.#watcher.token, agent: this.#agent });
    const isRight = decided.status === 200 && json(decided).allow === true;
    return isRight ? undefined : `a decision was answered with ${decided.status} ${decided.body.toString().slice(0, 200)}`;
  }

  /** Creates what is missing. Things that changes have made impossible stay missing. */
  async restore() {
    const names = this.#names;
    const change = randomUUID();
    await this.#send(unit("company", { type: "COMPANY" }));
    await this.#send(unit("group", { type: "GROUP", parentId: "company" }));
    await this.#send(unit("shop", { type: "STORE", parentId: "group" }));
    const rate = { method: "PUT", path: "/api/v1/business-units/company/exchange-rates/SALES/SEK/EUR", body: { rateValue: 11 }, headers: { "correlation-id": change } };
    if ((await this.#send(rate)).status < 300) names.change = change;
    await this.#send(ageCondition("beer"));
    await this.#send({ method: "PUT", path: "/api/v1/entity-conditions/tools", body: { rule: "LICENSE_REQUIREMENT", condition_value: {} } });
    await this.#send({ method: "PUT", path: `/api/v1/projects/${names.project}`, body: { restrictions: [] } });
    await this.#send({ method: "PUT", path: `/v1/tenants/${TENANT}/decision-log`, body: { decisionLog: "all" } });
    const sold = { sequence: 1, at: "2026-11-20T17:40:00Z", itemId: "can", conditionId: "beer", decision: "ALLOW" };
    await this.#send({ method: "POST", path: "/api/v1/decisions", body: { till: "till-1", decisions: [sold] } });
    await this.#restoreClients();
    await this.#restoreWebhooks();
  }

  async #restoreClients() {
    const names = this.#names;
    const tenant = `/v1/tenants/${TENANT}`;
    await this.#send({ method: "POST", path: `${tenant}/templates`, body: { ...software, name: "A till", claimsSchema: {}, roles: [] } });
    const statement = await this.#send({ method: "POST", path: `${tenant}/software-statements`, body: { ...software, usingGlobalTemplate: false } });
    if (statement.status === 201) {
      names.statement = json(statement).softwareStatement;
      names.jti = JSON.parse(Buffer.from(names.statement.split(".")[1], "base64url")).jti;
    }
    const client = await this.#send({ path: `${tenant}/clients/${names.client}` });
    if (client.status === 200 && json(client).status !== "Revoked") return;
    const registered = await ask(this.#host, registration(TENANT, software.softwareId, { restored: randomUUID() }));
    if (registered.status === 201) names.client = json(registered).clientId;
  }

  async #restoreWebhooks() {
    const names = this.#names;
    const isThere = async (id) => (await this.#send({ path: `/api/v1/webhooks/${id}` })).status === 200;
    const make = async (name, path, body) => {
      if (await isThere(names[name])) return;
      const made = await this.#send({ method: "POST", path, body });
      if (made.status === 201) names[name] = json(made).id;
    };
    await make("webhook", "/api/v1/webhooks", webhook);
    const published = await this.#send({ method: "POST", path: "/api/v1/events", body: { type: "x.orders.v1", data: {} } });
    names.event = json(published).id;
    const deliveries = await this.#send({ path: "/api/v1/deliveries?limit=1" });
    names.delivery = json(deliveries).items?.[0]?.id ?? names.delivery;
    const replay = await this.#send({ method: "POST", path: "/api/v1/deliveries/replay", body: { eventType: "x.nothing.v1" } });
    if (replay.status === 202) names.replay = json(replay).id;
  }

  async #send(request) {
    const answer = await ask(this.#host, { ...request, token: this.#tenant.token, agent: this.#agent });
    if (answer.status === 0 || answer.status >= 500) throw new Error(`${answer.what}: ${answer.status || answer.why} ${answer.body.toString().slice(0, 300)}`);
    return answer;
  }
}
