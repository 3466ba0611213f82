/**
 * A prepared catalog: everything that a tenant's decisions depend on, to be evaluated many times. The module decides;
 * this only gives the requests their shape.
 */

import { current, toText } from "../shared/engine.js";
import { TillgateError, requireConditionId, unknownCondition } from "../shared/error.js";

/** Releases garbage-collected catalogs in the module too, where the runtime supports it; some workers do not. */
const registry =
  typeof FinalizationRegistry === "undefined"
    ? { register() {}, unregister() {} }
    : new FinalizationRegistry(({ instance, handle }) => instance.release(handle));

export class Catalog {
  #text;
  #instance;
  #handle;
  #conditionId;
  #line = "condition undefined\n";

  /** Prepares the answer of `GET /api/v1/catalog`, or a document of this shape: `{ global, tenant, projects? }`. */
  constructor(document) {
    this.#text = toText(document, "document");
    this.#prepare();
  }

  /** Decides about one item by a condition. `request` is `{ item, context }`. */
  evaluateCondition(conditionId, request) {
    // A till uses few conditions, and often the same one again.
    if (conditionId !== this.#conditionId) {
      this.#line = `condition ${toLine(conditionId)}\n`;
      this.#conditionId = conditionId;
    }
    requireConditionId(conditionId);
    try {
      return this.#evaluate(this.#line, request);
    } catch (error) {
      throw error.code === "not_found" ? unknownCondition(conditionId) : error;
    }
  }

  /** Decides about one item on a project. `request` is `{ projectId, item }`. */
  evaluateProjectRestrictions(request) {
    return this.#evaluate("project\n", request);
  }

  /** Decides about a basket. `request` is `{ items, projectId?, context }`. */
  evaluateBasket(request) {
    return this.#evaluate("basket\n", request);
  }

  /** Releases the module's memory at once instead of at garbage collection. */
  free() {
    if (this.#text === undefined) return;
    registry.unregister(this);
    this.#instance.release(this.#handle);
    this.#text = this.#instance = undefined;
  }

  #evaluate(line, request) {
    const instance = current();
    if (instance !== this.#instance) this.#prepare();
    return instance.evaluate(this.#handle, line, toText(request, "request"));
  }

  /** Prepares the document in the current instance, also after the one that held it was discarded. */
  #prepare() {
    if (this.#text === undefined) throw new TillgateError({ code: "freed", message: "this catalog has been freed" });
    const instance = current();
    this.#handle = instance.prepare("catalog\n", this.#text);
    this.#instance = instance;
    registry.unregister(this);
    registry.register(this, { instance, handle: this.#handle }, this);
  }
}

if (Symbol.dispose) Catalog.prototype[Symbol.dispose] = Catalog.prototype.free;

/** An id on the line that names the call. A newline, which no valid id contains, must not end the line. */
const toLine = (id) => {
  const text = String(id);
  return text.includes("\n") ? text.replaceAll("\n", " ") : text;
};
