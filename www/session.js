/**
 * Who is signed in, what they see, and how they change it. The catalog keeps itself up to date; the token lives in memory
 * and goes with the page.
 */

import { CatalogClient, clientCredentials } from "../js/src/client.js";

/** Where the host is: where this page came from. */
const HOST = new URL("..", import.meta.url).href.replace(/\/$/, "");

const byId = (one, other) => (one.id < other.id ? -1 : 1);

export class Session {
  #client;

  constructor(token) {
    this.#client = new CatalogClient({ url: HOST, token });
  }

  /** Signs in with a client's credentials, or with a token that one has. */
  static async open({ clientId, clientSecret, token }) {
    const audience = document.querySelector("meta[name=tillgate-audience]").content;
    const tokenUrl = `${HOST}/oauth2/token`;
    const session = new Session(token ?? clientCredentials({ tokenUrl, clientId, clientSecret, audience }));
    try {
      await session.#client.ready();
    } catch (error) {
      session.close();
      throw error;
    }
    return session;
  }

  /** `change`, `state` or `error`; answers how to stop listening. */
  on(type, listener) {
    this.#client.addEventListener(type, listener);
    return () => this.#client.removeEventListener(type, listener);
  }

  get state() {
    return this.#client.state;
  }

  get catalog() {
    return this.#client.catalog;
  }

  get host() {
    return this.#client.host;
  }

  get tenant() {
    return this.#client.document.tenantId;
  }

  /** The host's own SHA-256 of its module, as its catalog tells. */
  get engine() {
    return this.#client.document.engine;
  }

  /** What `GET /api/v1/entity-conditions` lists: the global ones and the tenant's, the global one when ids collide. */
  conditions() {
    const { global, tenant } = this.#client.document;
    const taken = new Set(global.map(({ id }) => id));
    return [...global, ...tenant.filter(({ id }) => !taken.has(id))].sort(byId);
  }

  /** The conditions that decisions look at: enabled, and the tenant's when ids collide. */
  inForce() {
    const { global, tenant } = this.#client.document;
    const all = new Map([...global, ...tenant].filter(({ enabled }) => enabled).map((condition) => [condition.id, condition]));
    return [...all.values()].sort(byId);
  }

  projects() {
    return this.#client.document.projects;
  }

  retry() {
    this.#client.retry();
  }

  /** Follows changes while someone looks: a browser has six connections to a host, and pages that stay open. */
  follow(isSeen) {
    if (isSeen) this.#client.resume();
    else this.#client.pause();
  }

  close() {
    this.#client.close();
  }

  /** What is at a path, and its version. */
  async read(path) {
    const response = await this.host.request(path);
    return { body: await response.json(), etag: response.headers.get("ETag") };
  }

  /** Writes, provided that what is there is the version one knows, or that nothing is there. */
  async write(path, body, etag) {
    const headers = etag === undefined ? { "If-None-Match": "*" } : { "If-Match": etag };
    await this.host.request(path, { method: "PUT", headers, body: JSON.stringify(body) });
  }

  async remove(path, etag) {
    await this.host.request(path, { method: "DELETE", headers: { "If-Match": etag } });
  }
}

export const conditionPath = (id) => `/api/v1/entity-conditions/${encodeURIComponent(id)}`;
export const projectPath = (id) => `/api/v1/projects/${encodeURIComponent(id)}`;
