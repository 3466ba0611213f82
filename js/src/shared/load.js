/** Loads the module: from the caller's source or, where it is not ready on import, from the default one. */

import { isReady, start } from "./engine.js";
import { TillgateError } from "./error.js";

let loading;
let findDefault = () => {
  throw new TillgateError({ code: "not_ready", message: "`init` needs the module here: its URL, its bytes or what is compiled of them" });
};

/** Sets the default source of `init`. */
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
  if (isReady()) return;
  try {
    start(source instanceof WebAssembly.Module ? source : new WebAssembly.Module(source));
  } catch (cause) {
    throw notCompiled(cause);
  }
}

async function compile(given) {
  const source = (await given) ?? (await findDefault());
  if (source instanceof WebAssembly.Module) return source;
  const isBytes = source instanceof ArrayBuffer || ArrayBuffer.isView(source);
  const response = isBytes ? undefined : await fetched(source);
  // Streaming requires the right media type, which some servers do not send.
  const streams = response?.headers.get("content-type")?.startsWith("application/wasm");
  try {
    if (streams) return await WebAssembly.compileStreaming(response);
    return await WebAssembly.compile(isBytes ? source : await response.arrayBuffer());
  } catch (cause) {
    throw notCompiled(cause);
  }
}

async function fetched(source) {
  let response;
  try {
    response = source instanceof Response ? source : await fetch(source);
  } catch (cause) {
    throw notLoaded(source.url ?? source, cause.message, cause);
  }
  if (!response.ok) throw notLoaded(response.url, response.status);
  return response;
}

const notLoaded = (url, why, cause) => new TillgateError({ code: "unavailable", message: `the module cannot be loaded from ${url}: ${why}`, cause });

function notCompiled(cause) {
  if (cause instanceof TillgateError) return cause;
  return new TillgateError({ code: "wrong_module", message: `the module cannot be compiled: ${cause.message}`, cause });
}
