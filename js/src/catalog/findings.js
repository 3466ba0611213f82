/** Analyzes a rule, which need not be in force: its faults, and the effect of a change. */

import { current, toDocument } from "../shared/engine.js";

/**
 * Returns the faults of a condition or a project, the most serious first. `rule` is `{ condition, other? }` or `{ project }`.
 */
export function findings(rule) {
  return current().findings(toDocument(rule, "rule")).findings;
}

/** Says that two versions of a rule decide the same, or returns a request that they decide differently. `null` is no rule. */
export function compare(before, after) {
  return current().compare(`{"before":${toDocument(before, "version before")},"after":${toDocument(after, "version after")}}`);
}
