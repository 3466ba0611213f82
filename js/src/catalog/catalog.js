/**
 * A prepared catalog: everything that a tenant's decisions depend on, ready for many evaluations. The module decides; this
 * class only shapes the requests.
 */

import { current, toDocument, toText } from "../shared/engine.js";
import { TillgateError, requireConditionId, unknownCondition } from "../shared/error.js";
import { readDecisionOptions } from "../shared/options.js";
import { runTestsOf } from "./tests.js";

/** Releases garbage-collected catalogs in the module too, where the runtime supports this; some workers do not. */
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

  /** Prepares the answer of `GET /api/v1/catalog`, or a document of the same shape: `{ global, tenant, projects? }`. */
  constructor(document) {
    this.#text = toDocument(document, "document");
    this.#prepare();
  }

  /**
   * Decides about one item by a condition. `request` is `{ item, context }`. With `{ explain: true }`, here and below, each
   * result says what was compared; with `{ lenient: true }` unknown members of the request are ignored instead of an error.
   */
  evaluateCondition(conditionId, request, options) {
    // A till uses few conditions, and often the same one again.
    if (conditionId !== this.#conditionId) {
      this.#line = `condition ${toLine(conditionId)}\n`;
      this.#conditionId = conditionId;
    }
    requireConditionId(conditionId);
    try {
      return this.#evaluate(this.#line, request, options);
    } catch (error) {
      throw error.code === "condition_not_found" ? unknownCondition(conditionId) : error;
    }
  }

  /** Decides about one item on a project. `request` is `{ projectId, item }`. */
  evaluateProjectRestrictions(request, options) {
    return this.#evaluate("project\n", request, options);
  }

  /** Decides about a basket. `request` is `{ items, projectId?, context }`. */
  evaluateBasket(request, options) {
    return this.#evaluate("basket\n", request, options);
  }

  /**
   * Decides about many rows by one condition or project: `{ conditionId }` or `{ projectId }`. A row is `{ id,
   * additionalProperties?, customer_age?, licenses? }`. Returns the outcome of each, in order; rows with the same outcome
   * share one frozen object.
   */
  evaluateMany({ conditionId, projectId } = {}, rows, options) {
    const { lenient } = readDecisionOptions(options);
    if ((conditionId === undefined) === (projectId === undefined)) {
      throw new TillgateError({ code: "invalid", message: "rows are decided by a conditionId or by a projectId" });
    }
    const line = projectId === undefined ? `condition ${toLine(conditionId)}\n` : `project ${toLine(projectId)}\n`;
    const call = lenient ? `lenient ${line}` : line;
    const text = toText({ rows }, "rows");
    let answer;
    try {
      answer = this.#ready().many(this.#handle, call, text);
    } catch (error) {
      throw error.code === "condition_not_found" ? unknownCondition(conditionId) : error;
    }
    const outcomes = answer.outcomes.map(frozen);
    return answer.rows.map((number) => outcomes[number]);
  }

  /** Runs the tests of every condition and project of the document. Returns `{ passed, failed }`. */
  test() {
    this.#requireDocument();
    return runTestsOf(this.#text);
  }

  /** Releases the module's memory at once instead of at garbage collection. */
  free() {
    if (this.#text === undefined) return;
    registry.unregister(this);
    this.#instance.release(this.#handle);
    this.#text = this.#instance = undefined;
  }

  #evaluate(line, request, options) {
    const instance = this.#ready();
    const text = toText(request, "request");
    if (options === undefined) return instance.evaluate(this.#handle, line, text);
    const { explain, lenient } = readDecisionOptions(options);
    const call = lenient ? `lenient ${line}` : line;
    return explain ? instance.explain(this.#handle, call, text) : instance.evaluate(this.#handle, call, text);
  }

  /** Returns the current instance, with the document prepared in it. */
  #ready() {
    const instance = current();
    if (instance !== this.#instance) this.#prepare();
    return instance;
  }

  /** Prepares the document in the current instance, which may have replaced a discarded one. */
  #prepare() {
    this.#requireDocument();
    const instance = current();
    this.#handle = instance.prepare("catalog\n", this.#text);
    this.#instance = instance;
    registry.unregister(this);
    registry.register(this, { instance, handle: this.#handle }, this);
  }

  #requireDocument() {
    if (this.#text === undefined) throw new TillgateError({ code: "freed", message: "this catalog has been freed" });
  }
}

if (Symbol.dispose) Catalog.prototype[Symbol.dispose] = Catalog.prototype.free;

/** Freezes an outcome, because many rows share it. */
function frozen(outcome) {
  outcome.results.forEach(Object.freeze);
  Object.freeze(outcome.results);
  return Object.freeze(outcome);
}

/** Returns an id for the line that names the call. A newline, which no valid id contains, must not end the line. */
const toLine = (id) => {
  const text = String(id);
  return text.includes("\n") ? text.replaceAll("\n", " ") : text;
};
