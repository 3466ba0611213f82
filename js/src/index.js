/** The exports of every entry, wherever it loads the module from. */

import { current } from "./engine.js";

export { sha256, version } from "../engine/engine.js";
export { Catalog } from "./catalog.js";
export { TillgateError } from "./error.js";
export { init, initSync } from "./load.js";
export { calculate, convert, oppositeRate, rateWithMarkup } from "./rates.js";

/** A sentence for the cashier about a reason; undefined when the reason is unknown. */
export const describe = (reason) => current().describe(String(reason));
