/** The entry for Node: ready on import. */

import { readFileSync } from "node:fs";

import { initSync } from "./load.js";

export * from "./index.js";

initSync(readFileSync(new URL("../engine/tillgate_bg.wasm", import.meta.url)));
