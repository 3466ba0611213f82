/** What every entry offers, wherever the module comes from. */

import { current } from "./engine.js";

export { sha256, version } from "../engine/engine.js";
export { Catalog } from "./catalog.js";
export { TillgateError } from "./error.js";
export { init, initSync } from "./load.js";
export { calculate, convert, oppositeRate, rateWithMarkup } from "./rates.js";

/** A sentence for an operator about a reason's code; undefined when it is none. */
export const describe = (reason) => current().describe(String(reason));
