/**
 * Where pages load the module from: the file beside this package, which bundlers find by this expression. It is in no
 * build for a runtime that is ready on import.
 */

import { loadFrom } from "../shared/load.js";

loadFrom(() => new URL("../../engine/tillgate_bg.wasm", import.meta.url));
