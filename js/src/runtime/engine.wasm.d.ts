// `tillgate/engine.wasm`: what a bundler makes of the file of the module, its URL or the compiled module.

import type { CompiledModule } from "../shared/load.js";

declare const module: string | CompiledModule;
export default module;
