/** The exports of every entry, wherever that loads the module from. */

import { current } from "./shared/engine.js";

export { sha256, version } from "../engine/engine.js";
export { Catalog } from "./catalog/catalog.js";
export { compare, findings } from "./catalog/findings.js";
export { runTests } from "./catalog/tests.js";
export { TillgateError } from "./shared/error.js";
export { init, initSync } from "./shared/load.js";
export { calculate, convert, oppositeRate, rateWithMarkup } from "./rates/math.js";

/** Returns a sentence for the cashier about a reason; undefined if the reason is unknown. */
export const describe = (reason) => current().describe(String(reason));
