/**
 * The entry for Node, Deno and Bun: ready on import. The module is part of the code, so every bundle includes it, wherever
 * that is put.
 */

import { Buffer } from "node:buffer";
import { gunzipSync } from "node:zlib";

import compressed from "../../engine/module.js";
import { initSync } from "../shared/load.js";

export * from "../index.js";

initSync(gunzipSync(Buffer.from(compressed, "base64")));
