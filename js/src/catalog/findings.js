/** What is said of a rule that need not be in force: what is wrong with it, and what a change of it does. */

import { current, toDocument } from "../shared/engine.js";

/** What is wrong with a condition or a project, the most serious first. `rule` is `{ condition, other? }` or `{ project }`. */
export function findings(rule) {
  return current().findings(toDocument(rule, "rule")).findings;
}

/** Whether two versions of a rule decide the same, or a request that they decide differently. `null` is a rule that is not there. */
export function compare(before, after) {
  return current().compare(`{"before":${toDocument(before, "version before")},"after":${toDocument(after, "version after")}}`);
}
