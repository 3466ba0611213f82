/**
 * The tests of a rule: requests that a condition or project must answer in a certain way, kept in its document. The same code
 * of the module runs them and makes decisions.
 */

import { current, toDocument } from "../shared/engine.js";
import { TillgateError } from "../shared/error.js";

/** Runs the tests of one document: `{ condition, other? }` or `{ project }`. Returns `{ passed, failed }`. */
export const runTests = (document) => current().tests(toDocument(document, "document"));

/** Runs the tests of every condition and project in the JSON text of a catalog. */
export function runTestsOf(catalog) {
  try {
    return current().tests(`{"catalog":${catalog}}`);
  } catch (error) {
    if (error.code !== "invalid") throw error;
    const faults = error.faults.map(({ path, message }) => ({ path: path.replace("$.catalog", "$"), message }));
    throw new TillgateError({ ...faults[0], code: "invalid", faults });
  }
}
