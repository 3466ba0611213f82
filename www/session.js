/**
 * The session of a user: the tenant's catalog, which keeps itself up to date, and the requests that change it. The
 * token is kept in memory only.
 */

import { CatalogClient, clientCredentials } from "../js/src/client.js";

/** The address of the host, which also served this page. */
const HOST = new URL("..", import.meta.url).href.replace(/\/$/, "");

const byId = (one, other) => (one.id < other.id ? -1 : 1);

export class Session {
  #client;

  constructor(token) {
    this.#client = new CatalogClient({ url: HOST, token });
  }

  /** Signs in with the credentials of a client, or with a token. */
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

  /** Listens to `change`, `state` or `error`; returns a function that stops listening. */
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

  /** The version and the SHA-256 of the host's module, from its catalog. */
  get engine() {
    return this.#client.document.engine;
  }

  /** What `GET /api/v1/entity-conditions` lists: global conditions and the tenant's; if ids collide, the global one. */
  conditions() {
    const { global, tenant } = this.#client.document;
    const taken = new Set(global.map(({ id }) => id));
    return [...global, ...tenant.filter(({ id }) => !taken.has(id))].sort(byId);
  }

  /** The conditions that decisions use: the enabled ones; if ids collide, the tenant's. */
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

  /**
   * Follows changes only while the page is visible: a browser opens at most six connections to a host for all pages.
   */
  follow(isVisible) {
    if (isVisible) this.#client.resume();
    else this.#client.pause();
  }

  close() {
    this.#client.close();
  }

  /** Reads a resource: `{ body, etag }`. */
  async read(path) {
    const response = await this.host.request(path);
    return { body: await response.json(), etag: response.headers.get("ETag") };
  }

  /** Writes a resource if it still has the version `etag`; without one, if it does not exist yet. */
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
