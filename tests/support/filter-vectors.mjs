// The vectors of filters (`tests/webhooks/filters.json`) as texts with all digits of their numbers: each filter, and the
// envelope of its event.

import { readFileSync } from "node:fs";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

import { parseExactly } from "../../www/webhooks/exact-json.js";

const FILE = new URL("../webhooks/filters.json", import.meta.url);

/** Runs code that needs `JSON.rawJSON`, which Node 20 has behind a flag, for contexts made from then on. */
export function exactly(run) {
  const own = JSON;
  if (own.rawJSON === undefined) {
    setFlagsFromString("--harmony-json-parse-with-source");
    globalThis.JSON = runInNewContext("JSON");
  }
  try {
    return run();
  } finally {
    globalThis.JSON = own;
  }
}

/** The envelope of a published event. A text with its own media type is sent unchanged. */
function envelopeOf({ type, id = "made by the host", datacontenttype, data }) {
  const sent = datacontenttype !== undefined && typeof data === "string" ? data : JSON.stringify(data);
  const base64 = Buffer.from(sent).toString("base64");
  return JSON.stringify({ id, type, datacontenttype: datacontenttype ?? "application/json", data: base64, dataencoding: "base64" });
}

/** `{ name, filter, envelope, matches }`. */
export const VECTORS = exactly(() => {
  const { vectors } = parseExactly(readFileSync(FILE, "utf8"));
  return vectors.map(({ name, filter, event, matches }) => ({ name, filter: JSON.stringify(filter), envelope: envelopeOf(event), matches }));
});
