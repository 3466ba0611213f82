/** Loads the module: from a source that the caller gives or, where it has to be fetched, from the place that is set. */

import { isReady, start } from "./engine.js";
import { TillgateError } from "./error.js";

let loading;
let findDefault = () => {
  throw new TillgateError({ code: "not_ready", message: "`init` needs the URL or the bytes of the module here" });
};

/** Sets how to find the URL of the module when `init` is given nothing. */
export function loadFrom(find) {
  findDefault = find;
}

/**
 * Loads the module. `source` is a URL, a Request or a Response to fetch it from, its bytes, or a WebAssembly.Module.
 * Once the module is loaded, further calls do nothing. After a failure `init` may be called again.
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

/** Loads the module synchronously, from a WebAssembly.Module or its bytes. */
export function initSync(source) {
  if (!isReady()) start(source instanceof WebAssembly.Module ? source : new WebAssembly.Module(source));
}

async function compile(given) {
  const source = (await given) ?? findDefault();
  if (source instanceof WebAssembly.Module) return source;
  if (source instanceof ArrayBuffer || ArrayBuffer.isView(source)) return WebAssembly.compile(source);
  const response = source instanceof Response ? source : await fetch(source);
  if (!response.ok) throw new Error(`the module cannot be loaded from ${response.url}: ${response.status}`);
  // Streaming requires the right media type, which some servers do not send.
  const streams = response.headers.get("content-type")?.startsWith("application/wasm");
  return streams ? WebAssembly.compileStreaming(response) : WebAssembly.compile(await response.arrayBuffer());
}
