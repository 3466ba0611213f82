/**
 * The module: its one instance, and calls of its C ABI (`engine/README.md`). Handles texts and handles of documents, not their
 * meaning.
 *
 * It uses the C ABI and not wasm-bindgen's glue. A call crosses the boundary once instead of five times and copies once
 * instead of three times, so a decision takes two thirds of the time, and an instance can be discarded. After a trap an
 * instance is never entered again: the next call creates a new one, and documents are prepared again when they are used.
 */

import { TillgateError } from "./error.js";

const ABI_VERSION = 1;
const NO_MEMORY = 0xffffffff;
const FAILED = 0x31; // "1"

/**
 * Texts of up to this length are written character by character, up to the first that is not ASCII. In browsers that is
 * faster; in Node `encodeInto` is faster at any length (`tests/benches/package.mjs`).
 */
const SHORT = globalThis.process?.versions?.node === undefined ? 256 : 0;

/** Longer texts are encoded first, so that the buffer is no larger than needed. */
const LONG = 1 << 16;

/**
 * A cache of parsed decisions. After the item's id, the answers for many items are identical: each is parsed once and then
 * copied. The cache holds at most `MAX_OUTCOMES`, of at most `MAX_OUTCOME_LENGTH` characters.
 */
const outcomes = new Map();
const MAX_OUTCOMES = 256;
const MAX_OUTCOME_LENGTH = 4096;
const ID = '{"id":"';

/** Created on first use, because the pages that tests simulate may have none. */
let encoder;
let decoder;
const getEncoder = () => (encoder ??= new TextEncoder());
const getDecoder = () => (decoder ??= new TextDecoder("utf-8", { ignoreBOM: true }));

/** Splits the 64-bit integer that a call returns without creating a BigInt for each half. */
const packed = new BigInt64Array(1);
const [LENGTH, POINTER] = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1 ? [0, 1] : [1, 0];
const halves = new Uint32Array(packed.buffer);

let module;
let instance;

/** True if the module is loaded. */
export const isReady = () => module !== undefined;

/** Sets the compiled module. Only the first call has an effect. */
export function start(compiled) {
  if (module !== undefined) return;
  module = compiled;
  try {
    current();
  } catch (error) {
    module = undefined;
    throw error;
  }
}

/** Returns the current instance; creates one if there is none. */
export function current() {
  if (instance !== undefined) return instance;
  if (module === undefined) {
    throw new TillgateError({ code: "not_ready", message: "the module is not loaded yet: call `await init()` first" });
  }
  return (instance = new Instance(module));
}

/**
 * The JSON of a value; `name` says what it is. A missing value, or one without JSON, is an `invalid` error, as malformed JSON
 * is for the engine.
 */
export function toText(value, name, replacer) {
  if (value === undefined) throw new TillgateError({ code: "invalid", message: `the ${name} is missing` });
  try {
    return JSON.stringify(value, replacer) ?? "undefined";
  } catch (cause) {
    throw new TillgateError({ code: "invalid", message: `the input cannot be written as JSON: ${cause.message}`, cause });
  }
}

/**
 * The JSON of a document that is set up once, such as a catalog. It may contain what JavaScript has and JSON does not: a `Map`
 * becomes an object, a `Set` an array, a `BigInt` an integer.
 */
export const toDocument = (value, name) => toText(value, name, inJson);

function inJson(_, value) {
  if (typeof value === "bigint") return Number(value);
  if (value instanceof Map) return Object.fromEntries(value);
  return value instanceof Set ? [...value] : value;
}

class Instance {
  constructor(compiled) {
    this.exports = new WebAssembly.Instance(compiled, traps(compiled)).exports;
    this.bytes = new Uint8Array(this.exports.memory.buffer);
    const version = this.exports.tillgate_abi_version?.();
    if (version !== ABI_VERSION) {
      throw new TillgateError({
        code: "wrong_module",
        message: `the module does not belong to this package: its ABI version is ${version}, not ${ABI_VERSION}`,
      });
    }
  }

  /** Prepares a document and returns its handle; `line` is the kind of document. */
  prepare(line, text) {
    return this.#call("tillgate_prepare", line, text);
  }

  /** Decides; `line` names the call. */
  evaluate(handle, line, text) {
    // `#call`, inlined for speed.
    const length = this.#write(line, text);
    let answer;
    try {
      answer = this.exports.tillgate_evaluate(handle, length);
    } catch (cause) {
      throw this.#trapped(cause);
    }
    packed[0] = answer;
    const begin = halves[POINTER];
    const bytes = this.#view();
    const json = getDecoder().decode(bytes.subarray(begin + 1, begin + halves[LENGTH]));
    if (bytes[begin] === FAILED) throw new TillgateError(JSON.parse(json));
    return parseDecision(json);
  }

  /** Decides and says why; `line` names the call. */
  explain(handle, line, text) {
    return this.#call("tillgate_evaluate", `explain ${line}`, text, handle);
  }

  /** Decides about many rows; `line` names the condition or the project. */
  many(handle, line, text) {
    return this.#call("tillgate_evaluate_many", line, text, handle);
  }

  rates(text) {
    return this.#call("tillgate_rates", "", text);
  }

  /** Makes or verifies a webhook's signature. */
  signature(text) {
    return this.#call("tillgate_signature", "", text);
  }

  /** Returns the faults of a rule. */
  findings(text) {
    return this.#call("tillgate_findings", "", text);
  }

  /** Compares the decisions of two versions of a rule. */
  compare(text) {
    return this.#call("tillgate_compare", "", text);
  }

  /** Runs tests. */
  tests(text) {
    return this.#call("tillgate_tests", "", text);
  }

  /** Returns the sentence for a reason, or undefined. The C ABI lacks this call, so it uses wasm-bindgen's. */
  describe(text) {
    const { describe, __wbindgen_malloc: allocate, __wbindgen_free: free } = this.exports;
    const sent = getEncoder().encode(text);
    try {
      const pointer = allocate(sent.length, 1) >>> 0;
      this.#view().set(sent, pointer);
      const [at, length] = describe(pointer, sent.length);
      if (at === 0) return undefined;
      const sentence = getDecoder().decode(this.#view().subarray(at >>> 0, (at >>> 0) + length));
      free(at, length, 1);
      return sentence;
    } catch (cause) {
      throw this.#trapped(cause);
    }
  }

  /** Releases a document; does nothing if this instance was discarded. */
  release(handle) {
    if (this === instance) this.exports.tillgate_release(handle);
  }

  #call(name, line, text, ...handle) {
    const length = this.#write(line, text);
    let answer;
    try {
      answer = this.exports[name](...handle, length);
    } catch (cause) {
      throw this.#trapped(cause);
    }
    return this.#read(answer);
  }

  /** Returns the memory; a new view after it has grown. */
  #view() {
    if (this.bytes.byteLength === 0) this.bytes = new Uint8Array(this.exports.memory.buffer);
    return this.bytes;
  }

  /** Writes a line and a text into the input buffer and returns their length in bytes. */
  #write(line, text) {
    if (text.length > LONG) return this.#writeLong(line + text);
    const room = 3 * (line.length + text.length);
    const at = this.#input(room);
    const bytes = this.#view();
    // A line is short and ASCII. Joining it to its text would copy both.
    const begin = writeAscii(line, bytes, at);
    if (begin < line.length) return this.#writeLong(line + text);
    if (text.length <= SHORT && writeAscii(text, bytes, at + begin) === text.length) return begin + text.length;
    return begin + getEncoder().encodeInto(text, bytes.subarray(at + begin, at + room)).written;
  }

  #writeLong(text) {
    const sent = getEncoder().encode(text);
    const at = this.#input(sent.length);
    this.#view().set(sent, at);
    return sent.length;
  }

  #input(length) {
    let at;
    try {
      at = this.exports.tillgate_input(length) >>> 0;
    } catch (cause) {
      throw this.#trapped(cause);
    }
    if (at === NO_MEMORY) {
      throw new TillgateError({ code: "too_large", message: "there is not enough memory for an input of this size" });
    }
    return at;
  }

  /** Returns the value of an answer, or throws its error. */
  #read(answer) {
    packed[0] = answer;
    const begin = halves[POINTER];
    const bytes = this.#view();
    const value = JSON.parse(getDecoder().decode(bytes.subarray(begin + 1, begin + halves[LENGTH])));
    if (bytes[begin] === FAILED) throw new TillgateError(value);
    return value;
  }

  #trapped(cause) {
    if (this === instance) instance = undefined;
    return new TillgateError({
      code: "trap",
      message: "the module stopped during the call; the next call uses a new instance",
      cause,
    });
  }
}

/** Parses a decision. */
function parseDecision(text) {
  // The answer for an item begins with its id, in which all quotes are escaped; the answer for a basket does not.
  const end = text.startsWith(ID) ? text.indexOf('","allow":', ID.length) : -1;
  if (end < 0 || text.length - end > MAX_OUTCOME_LENGTH) return JSON.parse(text);
  const id = text.slice(ID.length, end);
  const rest = text.slice(end + 2);
  let outcome = outcomes.get(rest);
  if (outcome === undefined) {
    outcome = JSON.parse(`{${rest}`);
    if (outcomes.size >= MAX_OUTCOMES) outcomes.clear();
    outcomes.set(rest, outcome);
  }
  // The copies may be changed by the caller.
  const results = outcome.results.map((result) => ({ ...result }));
  return { id: id.includes("\\") ? JSON.parse(`"${id}"`) : id, allow: outcome.allow, results };
}

/** Writes a text up to its first character that is not ASCII, and returns the number of characters written. */
function writeAscii(text, bytes, at) {
  let written = 0;
  for (; written < text.length; written += 1) {
    const unit = text.charCodeAt(written);
    if (unit > 0x7f) break;
    bytes[at + written] = unit;
  }
  return written;
}

/** The module's imports serve its JavaScript face. The C ABI calls none of them. */
function traps(compiled) {
  const imports = {};
  for (const { module: from, name } of WebAssembly.Module.imports(compiled)) {
    imports[from] ??= {};
    imports[from][name] = () => {
      throw new Error(`${name} must not be called through the C ABI`);
    };
  }
  return imports;
}
