/**
 * The session of a user: permissions, the tenant's rules, which keep themselves up to date, the topic of rate changes, the
 * state of polling, and requests that change something.
 */

import { TillgateError } from "../../js/src/index.js";
import { withTimeout } from "../../js/src/shared/deadline.js";
import { Host } from "../../js/src/shared/host.js";
import { HOST, randomId, readCaller, tokensOf } from "./caller.js";
import { memoryOf } from "./memory.js";
import { missingPermission } from "./messages.js";
import { RulesStream } from "./rules-stream.js";

const SUBSCRIBE = "exr.rates-changed.subscribe";

/** Events: `change` of the rules, `state`, `error`, and `permissions` if the host refused something. */
export class Session extends EventTarget {
  #token;
  #person;
  #clientId;
  #host;
  #tenant;
  #permissions;
  #refused = new Set();
  #stream;
  #topic;
  #Topic;
  #polling;
  #watched = "rules";
  #isVisible = true;
  /** Tells the session from those before and after it. */
  id = randomId();

  constructor(token, { person, clientId }) {
    super();
    this.#token = token;
    this.#person = person;
    this.#clientId = clientId;
    this.#host = new Host({ url: HOST, token: markingUnsent(token) });
  }

  /** Signs in with a client's credentials, or with a token or token source, of a known person if possible. */
  static async open(credentials) {
    const session = new Session(tokensOf(credentials), credentials);
    try {
      await session.#start();
    } catch (error) {
      session.close();
      throw error;
    }
    return session;
  }

  async #start() {
    const { tenantId, permissions } = await readCaller(this.#host);
    this.#tenant = tenantId;
    this.#permissions = new Set(permissions);
    if (!this.seesRules) return;
    this.#stream = new RulesStream({ url: HOST, token: this.#token });
    for (const type of ["change", "state", "error"]) this.#stream.addEventListener(type, ({ error }) => this.#emit(type, { error }));
    await this.#stream.ready();
  }

  /** Listens to an event; returns a function that stops listening. */
  on(type, listener) {
    this.addEventListener(type, listener);
    return () => this.removeEventListener(type, listener);
  }

  /** True if the user has a permission. */
  may(permission) {
    return this.#permissions.has(permission) && !this.#refused.has(permission);
  }

  get seesRules() {
    return this.may("ecs.condition.read") && this.may("crs.project.read");
  }

  get seesRates() {
    return this.may("exr.rate.read") || this.may("exr.business-unit.read");
  }

  get seesWebhooks() {
    return this.may("exe.webhook.read");
  }

  get seesPlatform() {
    return [...this.#permissions].some((permission) => permission.startsWith("iam.") && this.may(permission));
  }

  /** Evaluates an error of the host: a permission may have been withdrawn, or the session has ended. */
  learn(error) {
    if (error.code === "unauthenticated") this.#emit("error", { error });
    const missing = error.status === 403 ? missingPermission(error) : undefined;
    if (missing === undefined || this.#refused.has(missing)) return;
    this.#refused.add(missing);
    if (missing === SUBSCRIBE) this.#closeTopic();
    this.#emit("permissions", {});
  }

  /** READY while changes are received, STALE while they are not, POLLED if the user may not receive them. */
  get state() {
    if (this.#watched === "rules") return this.#stream?.state ?? "STARTING";
    if (this.#watched === "rates") return this.topic?.state ?? "POLLED";
    return this.#polling?.state ?? "STARTING";
  }

  /** A catalog that decides about these conditions and this project. */
  catalog(conditionIds, projectId) {
    return this.#stream.rules.catalog(conditionIds, projectId);
  }

  get host() {
    return this.#host;
  }

  /** Gets a token, for the documents of the API that the page opens. */
  token(options) {
    return this.#token(options);
  }

  get tenant() {
    return this.#tenant;
  }

  /** The signed-in person, `{ name, signOutUrl }`; undefined if it is a client, or unknown. */
  get person() {
    return this.#person;
  }

  /** The signed-in client; undefined if it is a person, or unknown. */
  get clientId() {
    return this.#clientId;
  }

  /** The topic of rate changes; undefined if the user may not subscribe, or before the view of rates is loaded. */
  get topic() {
    if (!this.may(SUBSCRIBE) || this.#Topic === undefined) return undefined;
    if (this.#topic === undefined) {
      this.#topic = new this.#Topic({ url: HOST, token: this.#token });
      this.#topic.addEventListener("state", () => this.#emit("state", {}));
      this.#topic.addEventListener("error", ({ error }) => this.learn(error));
    }
    return this.#topic;
  }

  /** Sets the class of the topic, which is loaded with the view of rates. */
  subscribeBy(Topic) {
    this.#Topic = Topic;
  }

  #closeTopic() {
    this.#topic?.close();
    this.#topic = undefined;
    this.#emit("state", {});
  }

  /** Sets the polling of webhooks and deliveries, `{ state, now }`, or tells that its state has changed. */
  poll(polling) {
    this.#polling = polling;
    this.#emit("state", {});
  }

  /** The conditions that the host lists, by id. */
  conditions() {
    return this.#stream.rules.conditions;
  }

  /** Names the version of the rules. */
  get digest() {
    return this.#stream.rules.digest;
  }

  /** The listed condition with an id, or undefined, also if the user may not see rules. */
  condition(id) {
    return this.#stream?.rules.condition(id);
  }

  /** The condition with an id that decides, or undefined. */
  conditionInForce(id) {
    return this.#stream.rules.used(id);
  }

  /** The ids of the conditions that decide; the same list as before unless one came or went. */
  inForce() {
    return this.#stream.rules.inForce;
  }

  /** The ids of the conditions about a license; the same list as before unless one came or went. */
  licenses() {
    return this.#stream.rules.licenses;
  }

  /** The tenant's condition that decides in place of the global one with its id; undefined if the global one decides. */
  inPlaceOf(id) {
    const used = this.conditionInForce(id);
    return used?.scope === "TENANT" ? used : undefined;
  }

  /** Causes the view to show unsaved input, and an open form to look for others' changes. */
  changed() {
    this.#emit("change", {});
  }

  projects() {
    return this.#stream.rules.projects;
  }

  /** The project with an id, or undefined, also if the user may not see rules. */
  project(id) {
    return this.#stream?.rules.project(id);
  }

  retry() {
    this.#stream?.retry();
    this.#topic?.retry();
    this.#polling?.now();
  }

  /**
   * Follows the changes of `rules`, `rates`, `webhooks` or `settings`, only while the page is visible: a browser opens at most
   * six connections to a host for all pages, and each stream takes one.
   */
  follow({ watched = this.#watched, isVisible = this.#isVisible }) {
    this.#watched = watched;
    this.#isVisible = isVisible;
    const set = (stream, isFollowed) => (isFollowed ? stream?.resume() : stream?.pause());
    set(this.#stream, isVisible && watched === "rules");
    set(watched === "rates" ? this.topic : this.#topic, isVisible && watched === "rates");
    this.#emit("state", {});
  }

  get isVisible() {
    return this.#isVisible;
  }

  close() {
    this.#stream?.close();
    this.#topic?.close();
  }

  /** Unsaved input. */
  get memory() {
    return memoryOf(this.#tenant);
  }

  /** Reads a resource as stored now: `{ body, etag }`. A stale answer, served while the store is away, is an error. */
  async read(path) {
    const unknown = () => new TillgateError({ code: "unavailable", message: "what is stored cannot be read" });
    const response = await this.request(path).catch((error) => {
      throw error.isStale ? unknown() : error;
    });
    if (response.headers.has("Tillgate-Stale")) throw unknown();
    return { body: await response.json(), etag: response.headers.get("ETag") };
  }

  /**
   * Writes a resource if it still has the version `etag`; without one, if it does not exist yet. Returns the result of `send`.
   */
  async write(path, body, etag) {
    const headers = etag === undefined ? { "If-None-Match": "*" } : { "If-Match": etag };
    return this.send(path, { method: "PUT", headers, body: JSON.stringify(body) });
  }

  async remove(path, etag) {
    await this.send(path, { method: "DELETE", headers: { "If-Match": etag } });
  }

  /**
   * Sends a request that changes something: `{ headers, body }`, the body as `parse` reads it. The error is `lost` if the
   * answer is: the connection broke, a gateway or the host failed, or nothing came in time. The request may then have taken
   * effect.
   */
  async send(path, options, parse = JSON.parse) {
    const controller = new AbortController();
    try {
      return await withTimeout(this.#exchange(path, { ...options, signal: controller.signal }, parse));
    } catch (error) {
      if (!isLost(error)) throw error;
      throw new TillgateError({ code: "lost", message: "the answer was lost", cause: error });
    } finally {
      controller.abort();
    }
  }

  async #exchange(path, options, parse) {
    const response = await this.request(path, options);
    const text = await response.text();
    try {
      return { headers: response.headers, body: text === "" ? undefined : parse(text) };
    } catch (cause) {
      throw new Error("this is not the host's answer", { cause });
    }
  }

  /** Sends a request that changes nothing, and returns the response. */
  async request(path, options) {
    try {
      return await this.host.request(path, options);
    } catch (error) {
      this.learn(error);
      throw error;
    }
  }

  #emit(type, detail) {
    this.dispatchEvent(Object.assign(new Event(type), detail));
  }
}

/** True if a failed request may have taken effect. A 429 is answered before anything is done. */
const isLost = (error) => !error.isUnsent && (!(error instanceof TillgateError) || (error.isTemporary && error.status !== 429));

/** A token source whose errors say that the request was not sent. */
const markingUnsent = (source) => (options) =>
  source(options).catch((error) => {
    throw Object.assign(error, { isUnsent: true });
  });
