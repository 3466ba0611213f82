/** The entry for browsers and for unknown runtimes: call `await init()` or `initSync(module)` first. */

export * from "./index.js";
