/**
 * A catalog that was prepared: what a tenant may sell to whom, to be asked many times. The decisions are the module's;
 * here are only the questions' shapes.
 */

import { current } from "./engine.js";
import { TillgateError } from "./error.js";

/** Catalogs that nobody holds any more are forgotten by the module too, where the runtime tells; some workers do not. */
const forgotten =
  typeof FinalizationRegistry === "undefined"
    ? { register() {}, unregister() {} }
    : new FinalizationRegistry(({ instance, handle }) => instance.release(handle));

export class Catalog {
  #text;
  #instance;
  #handle;
  #conditionId;
  #line = "condition undefined\n";

  /** Prepares the answer of `GET /api/v1/catalog`, or the same in parts: `{ global, tenant, projects? }`. */
  constructor(document) {
    this.#text = toText(document);
    this.#prepare();
  }

  /** May this item be sold, by this condition? `request` is `{ item, context }`. */
  evaluateCondition(conditionId, request) {
    // A till asks for few conditions, one after the other the same.
    if (conditionId !== this.#conditionId) {
      this.#conditionId = conditionId;
      this.#line = `condition ${toLine(conditionId)}\n`;
    }
    return this.#evaluate(this.#line, request);
  }

  /** May this item be sold on a project? `request` is `{ projectId, item }`. */
  evaluateProjectRestrictions(request) {
    return this.#evaluate("project\n", request);
  }

  /** May all of these be sold? `request` is `{ items, projectId?, context }`. */
  evaluateBasket(request) {
    return this.#evaluate("basket\n", request);
  }

  /** Gives back the module's memory at once, rather than when nobody holds this any more. */
  free() {
    if (this.#text === undefined) return;
    forgotten.unregister(this);
    this.#instance.release(this.#handle);
    this.#text = this.#instance = undefined;
  }

  #evaluate(line, request) {
    const instance = current();
    if (instance !== this.#instance) this.#prepare();
    return instance.evaluate(this.#handle, line, toText(request));
  }

  /** Also after the instance that knew this catalog was left behind. */
  #prepare() {
    if (this.#text === undefined) throw new TillgateError({ code: "freed", message: "this catalog was freed" });
    const instance = current();
    this.#handle = instance.prepare("catalog\n", this.#text);
    this.#instance = instance;
    forgotten.unregister(this);
    forgotten.register(this, { instance, handle: this.#handle }, this);
  }
}

if (Symbol.dispose) Catalog.prototype[Symbol.dispose] = Catalog.prototype.free;

/** What has no JSON form is refused as the engine refuses what is no JSON. */
export function toText(value) {
  try {
    return JSON.stringify(value) ?? "undefined";
  } catch (cause) {
    throw new TillgateError({ code: "invalid", message: `has no JSON form: ${cause.message}`, cause });
  }
}

/** An id as the line takes it: one with a newline is none, and must not end the line. */
const toLine = (id) => {
  const text = String(id);
  return text.includes("\n") ? text.replaceAll("\n", " ") : text;
};
