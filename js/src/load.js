/**
 * Loading the module where it has to be fetched: `await init()` takes it from beside this file, or from where one says.
 */

import { isReady, start } from "./engine.js";

let loading;

/**
 * Loads the module: a URL, a Request or a Response to fetch it from, its bytes, or a WebAssembly.Module. Once it is
 * there, further calls do nothing; after a failure one may try again.
 */
export async function init(source) {
  if (isReady()) return;
  loading ??= compile(source).then(start);
  try {
    await loading;
  } finally {
    loading = undefined;
  }
}

/** The same at once, from a WebAssembly.Module or its bytes. */
export function initSync(source) {
  if (!isReady()) start(source instanceof WebAssembly.Module ? source : new WebAssembly.Module(source));
}

async function compile(given) {
  const source = (await given) ?? new URL("../engine/tillgate_bg.wasm", import.meta.url);
  if (source instanceof WebAssembly.Module) return source;
  if (source instanceof ArrayBuffer || ArrayBuffer.isView(source)) return WebAssembly.compile(source);
  const response = source instanceof Response ? source : await fetch(source);
  if (!response.ok) throw new Error(`the module is not at ${response.url}: ${response.status}`);
  // Servers that do not know the type are served by the slower way.
  const streams = response.headers.get("content-type")?.startsWith("application/wasm");
  return streams ? WebAssembly.compileStreaming(response) : WebAssembly.compile(await response.arrayBuffer());
}
