/** The entry for browsers, and wherever nothing more is known: `await init()`, or `initSync(module)`, comes first. */

export * from "./index.js";
