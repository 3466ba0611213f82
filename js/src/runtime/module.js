/** `tillgate/module`: the module itself, for programs that do not load it from this package. */

import compressed from "../../engine/module.js";
import { fromBase64 } from "../shared/base64.js";

export { sha256, version } from "../../engine/engine.js";

/** The bytes of the module, as a host of the same release decides with. */
export async function bytes() {
  const stream = new Response(fromBase64(compressed)).body.pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
