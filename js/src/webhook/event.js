/**
 * The event in the body of a delivery (`given.md`, 2.8). The text of `data` is what was signed, so it must be in the body
 * exactly once and as plain base64: then every parser reads the same data.
 */

import { fromBase64 } from "../shared/base64.js";
import { TillgateError } from "../shared/error.js";
import { WebhookError } from "./error.js";

const MAX_ID_LENGTH = 256;
const JSON_TYPE = /^(?:application\/json|[^;\s]+\+json)\s*(?:;|$)/i;

/** The strings and brackets of a JSON text, and all else between white space, commas and colons. */
const TOKENS = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\]:]|[^\s"{}[\],:]+/gs;

/** Decodes UTF-8 and keeps a byte order mark. */
const textOf = (bytes) => new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);

/** Returns the bytes of a body as received. */
export function toBytes(body) {
  if (typeof body === "string") return new TextEncoder().encode(body);
  if (body instanceof ArrayBuffer) return new Uint8Array(body);
  if (body instanceof Uint8Array) return body;
  const message = "must be the bytes or the text that was received, not what a parser made of it";
  throw new TillgateError({ code: "invalid", path: "$.body", message });
}

/** Returns the text of a body and its members. */
export function readEnvelope(bytes) {
  let text;
  let envelope;
  try {
    text = textOf(bytes);
    envelope = JSON.parse(text);
  } catch {
    throw new WebhookError({ code: "malformed_body" });
  }
  if (!isEnvelope(envelope) || !isWrittenOnce(text, envelope.data)) throw new WebhookError({ code: "malformed_body" });
  return { text, envelope };
}

function isEnvelope(value) {
  if (value === null || typeof value !== "object" || Array.isArray(value)) return false;
  const { id, time, type, data, dataencoding } = value;
  return (
    isId(id) &&
    [time, type].every((member) => typeof member === "string" && member !== "") &&
    dataencoding === "base64" &&
    typeof data === "string" &&
    fromBase64(data) !== undefined
  );
}

const isId = (id) => typeof id === "string" && id !== "" && id.length <= MAX_ID_LENGTH && !/\p{Surrogate}/u.test(id);

/** True if no member occurs twice in the text and `data` has no escapes. The text is that of a JSON object. */
function isWrittenOnce(text, data) {
  const names = new Set();
  let depth = 0;
  let name;
  let previous;
  for (const [token] of text.matchAll(TOKENS)) {
    if (depth === 1 && token === ":") {
      name = JSON.parse(previous);
      if (names.has(name)) return false;
      names.add(name);
    } else if (depth === 1 && previous === ":" && name === "data") {
      if (token !== `"${data}"`) return false;
    }
    if (token === "{" || token === "[") depth += 1;
    else if (token === "}" || token === "]") depth -= 1;
    previous = token;
  }
  return true;
}

/** An event. `id` stays the same when it is delivered again; use it to handle each event once. */
export class WebhookEvent {
  #envelope;
  #bytes;
  #data;

  constructor(envelope) {
    this.#envelope = envelope;
    this.id = envelope.id;
    this.time = envelope.time;
    this.type = envelope.type;
    this.datacontenttype = envelope.datacontenttype;
    this.meta = envelope.meta;
    this.source = envelope.source;
    this.specversion = envelope.specversion;
  }

  get bytes() {
    return (this.#bytes ??= fromBase64(this.#envelope.data));
  }

  /** The data: a value if it is JSON, otherwise text. */
  get data() {
    return (this.#data ??= { value: this.#read() }).value;
  }

  /** The envelope as received. */
  toJSON() {
    return this.#envelope;
  }

  #read() {
    try {
      const text = textOf(this.bytes);
      return JSON_TYPE.test(this.datacontenttype ?? "application/json") ? JSON.parse(text) : text;
    } catch {
      throw new WebhookError({ code: "malformed_data" });
    }
  }
}
