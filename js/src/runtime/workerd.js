/** The entry for workers that compile their modules at deployment: ready on import. */

import module from "../../engine/tillgate_bg.wasm";
import { initSync } from "../shared/load.js";

export * from "../index.js";

initSync(module);
