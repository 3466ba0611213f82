/** The entry for workers whose modules are compiled when they are deployed: ready on import. */

import module from "../engine/tillgate_bg.wasm";
import { initSync } from "./load.js";

export * from "./index.js";

initSync(module);
