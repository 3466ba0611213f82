/** The entry for browsers and for unknown runtimes: call `await init()` or `initSync(module)` first. */

import "./embedded.js";

export * from "../index.js";
