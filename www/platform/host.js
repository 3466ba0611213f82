/**
 * The requests of the Platform view: tenants, clients, templates, statements, roles, keys, jobs, usage and the choice of the
 * decision log.
 */

/** Stands for a tenant: the templates that every tenant may use. */
export const ALL_TENANTS = "_";

/** The entries per page of a list. */
const PAGE = 500;

const path = (...segments) => `/v1/${segments.map(encodeURIComponent).join("/")}`;
const ofTenant = (tenant, ...segments) => path("tenants", tenant, ...segments);
const ofTemplate = (owner, { softwareId, softwareVersion }) => ofTenant(owner, "templates", softwareId, softwareVersion);

/** The key rings and their paths. */
const KEYS = { tokens: path("keys"), webhooks: path("webhook-keys") };

/** Reads clients; numeric claims become texts with all their digits. */
const readClients = (text) => JSON.parse(text, (key, value, context) => (typeof value === "number" ? (context?.source ?? String(value)) : value));

export class PlatformHost {
  #session;

  constructor(session) {
    this.#session = session;
  }

  /** Every tenant, by id. */
  tenants = () => this.#ask(path("tenants"));

  /** Reads a tenant, with its version. */
  tenant = (tenant) => this.#session.read(ofTenant(tenant));

  /** Creates a tenant that does not exist yet. */
  makeTenant = ({ id, ...settings }) => this.#session.write(ofTenant(id), settings);

  /** A page of the clients of a tenant, with a status if given: `{ items, next? }`. */
  async clients(tenant, { status, cursor }) {
    const response = await this.#session.request(`${ofTenant(tenant, "clients")}?${query({ status, cursor, limit: PAGE })}`);
    return readClients(await response.text());
  }

  /** A client and its version: `{ body, etag }`. */
  client = ({ tenantId, clientId }) => this.#session.read(ofTenant(tenantId, "clients", clientId));

  authorize = ({ tenantId, clientId }) => this.#send("PUT", ofTenant(tenantId, "clients", clientId, "authorize"));

  revoke = ({ tenantId, clientId }) => this.#send("PUT", ofTenant(tenantId, "clients", clientId, "revoke"));

  removeClient = ({ tenantId, clientId }, etag) => this.#session.remove(ofTenant(tenantId, "clients", clientId), etag);

  /**
   * Replaces a client's secret, and returns the new one: `{ clientId, clientSecret }`. The old one keeps working for
   * `overlap`.
   */
  newSecret = ({ tenantId, clientId }, overlap) => this.#send("POST", `${ofTenant(tenantId, "clients", clientId, "secret")}?${query({ overlap })}`);

  setRoles = ({ tenantId, clientId }, roles, etag) => this.#session.write(ofTenant(tenantId, "clients", clientId, "roles"), { roles }, etag);

  /** The templates of a tenant, or those for all tenants. */
  templates = (owner) => this.#ask(ofTenant(owner, "templates"));

  template = (owner, template) => this.#session.read(ofTemplate(owner, template));

  createTemplate = (owner, template) => this.#send("POST", ofTenant(owner, "templates"), template);

  removeTemplate = (owner, template, etag) => this.#session.remove(ofTemplate(owner, template), etag);

  /** A page of the software statements of a tenant: `{ items, next? }`. */
  statements = (tenant, { cursor }) => this.#ask(`${ofTenant(tenant, "software-statements")}?${query({ cursor, limit: PAGE })}`);

  /** Creates a statement, and returns its text: `{ softwareStatement }`. */
  createStatement = (tenant, statement) => this.#send("POST", ofTenant(tenant, "software-statements"), statement);

  withdraw = (tenant, jti) => this.#send("DELETE", ofTenant(tenant, "software-statements", jti));

  /** Every role, with its permissions. */
  roles = () => this.#ask(path("roles"));

  /** A role and its version: `{ body, etag }`. */
  role = ({ roleId }) => this.#session.read(path("roles", roleId));

  /** Writes a role if it still has the version `etag`; without one, if it does not exist. */
  writeRole = ({ roleId, permissions }, etag) => this.#session.write(path("roles", roleId), { permissions }, etag);

  removeRole = ({ roleId }, etag) => this.#session.remove(path("roles", roleId), etag);

  /** A tenant's usage of each quota. */
  usage = (tenant) => this.#ask(ofTenant(tenant, "usage"));

  /** The choice of decisions that a tenant records: `{ body: { decisionLog }, etag }`. */
  decisionLog = (tenant) => this.#session.read(ofTenant(tenant, "decision-log"));

  recordDecisions = (tenant, decisionLog, etag) => this.#session.write(ofTenant(tenant, "decision-log"), { decisionLog }, etag);

  /** The keys of a ring, the newest last. */
  keys = (ring) => this.#ask(KEYS[ring]);

  rotate = (ring) => this.#send("POST", `${KEYS[ring]}/rotate`);

  /** A page of the dead letters: `{ items, next? }`. */
  jobs = ({ cursor }) => this.#ask(`${path("jobs", "dead-letters")}?${query({ cursor, limit: PAGE })}`);

  retryJob = ({ id }) => this.#send("POST", path("jobs", "dead-letters", id, "retry"));

  dropJob = ({ id }) => this.#send("DELETE", path("jobs", "dead-letters", id));

  async #ask(address) {
    return (await this.#session.request(address)).json();
  }

  async #send(method, address, body) {
    return (await this.#session.send(address, { method, body: body && JSON.stringify(body) })).body;
  }
}

const query = (parameters) => new URLSearchParams(Object.entries(parameters).filter(([, value]) => value !== undefined));
