/**
 * The module: its one instance, and calls of its C ABI (`engine/README.md`). Knows texts and handles, and nothing of what
 * they mean.
 *
 * The C ABI and not the glue that wasm-bindgen makes: one crossing and one copy a call instead of five and three, so
 * a decision takes two thirds of the time; and an instance can be left behind. After a trap an instance is never entered
 * again: the next call makes a new one, and what was prepared is prepared again when it is asked.
 */

import { TillgateError } from "./error.js";

const ABI_VERSION = 1;
const NO_MEMORY = 0xffffffff;
const FAILED = 0x31; // "1"

/**
 * Texts up to this are written character by character until one is not ASCII: in browsers that is the faster way, in Node
 * `encodeInto` is, whatever the length (`tests/bench.mjs`).
 */
const SHORT = globalThis.process?.versions?.node === undefined ? 256 : 0;

/** Longer texts are measured before room is made for them. */
const LONG = 1 << 16;

/**
 * Behind the item's id, answers are the same for many items: each is read once, and copied. So many of them, of so many
 * characters, are kept.
 */
const decided = new Map();
const MOST = 256;
const LONGEST = 4096;
const ID = '{"id":"';

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** An answer's place is a 64-bit integer; this splits it without a BigInt of its own for each half. */
const packed = new BigInt64Array(1);
const [LENGTH, AT] = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1 ? [0, 1] : [1, 0];
const halves = new Uint32Array(packed.buffer);

let module;
let instance;

/** Whether there is a module to decide with. */
export const isReady = () => module !== undefined;

/** Takes a compiled module, the first one that comes. */
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

/** The instance in use, made when there is none. */
export function current() {
  if (instance !== undefined) return instance;
  if (module === undefined) {
    throw new TillgateError({ code: "not_ready", message: "the module is not loaded yet: await init() first" });
  }
  return (instance = new Instance(module));
}

class Instance {
  constructor(compiled) {
    this.exports = new WebAssembly.Instance(compiled, traps(compiled)).exports;
    this.bytes = new Uint8Array(this.exports.memory.buffer);
    const version = this.exports.tillgate_abi_version?.();
    if (version !== ABI_VERSION) {
      throw new TillgateError({
        code: "wrong_module",
        message: `this is not the module of this package: its ABI is ${version}, not ${ABI_VERSION}`,
      });
    }
  }

  /** Prepares a document and answers its handle; `line` says which kind it is of. */
  prepare(line, text) {
    return this.#call("tillgate_prepare", line, text);
  }

  /** Decides; `line` names the call. */
  evaluate(handle, line, text) {
    // As `#call`, written out: this is what a till waits for.
    const length = this.#write(line, text);
    let answer;
    try {
      answer = this.exports.tillgate_evaluate(handle, length);
    } catch (cause) {
      throw this.#trapped(cause);
    }
    packed[0] = answer;
    const begin = halves[AT];
    const bytes = this.#view();
    const told = decoder.decode(bytes.subarray(begin + 1, begin + halves[LENGTH]));
    if (bytes[begin] === FAILED) throw new TillgateError(JSON.parse(told));
    return decision(told);
  }

  /** Rate math. */
  rates(text) {
    return this.#call("tillgate_rates", "", text);
  }

  /** A sentence about a reason's code, or undefined. The one call that the C ABI does not have: wasm-bindgen's. */
  describe(text) {
    const { describe, __wbindgen_malloc: allocate, __wbindgen_free: free } = this.exports;
    const sent = encoder.encode(text);
    try {
      const place = allocate(sent.length, 1) >>> 0;
      this.#view().set(sent, place);
      const [at, length] = describe(place, sent.length);
      if (at === 0) return undefined;
      const sentence = decoder.decode(this.#view().subarray(at >>> 0, (at >>> 0) + length));
      free(at, length, 1);
      return sentence;
    } catch (cause) {
      throw this.#trapped(cause);
    }
  }

  /** Forgets what was prepared; nothing when this instance was left behind. */
  release(handle) {
    if (this === instance) this.exports.tillgate_release(handle);
  }

  #call(name, line, text) {
    const length = this.#write(line, text);
    let answer;
    try {
      answer = this.exports[name](length);
    } catch (cause) {
      throw this.#trapped(cause);
    }
    return this.#read(answer);
  }

  /** Memory, seen anew after it grew. */
  #view() {
    if (this.bytes.byteLength === 0) this.bytes = new Uint8Array(this.exports.memory.buffer);
    return this.bytes;
  }

  /** Writes a line and a text into the input buffer and answers their length in bytes. */
  #write(line, text) {
    if (text.length > LONG) return this.#writeLong(line + text);
    const room = 3 * (line.length + text.length);
    const at = this.#input(room);
    const bytes = this.#view();
    // A line is short, and ASCII; joining it to its text would copy both.
    const begin = writeAscii(line, bytes, at);
    if (begin < line.length) return this.#writeLong(line + text);
    if (text.length <= SHORT && writeAscii(text, bytes, at + begin) === text.length) return begin + text.length;
    return begin + encoder.encodeInto(text, bytes.subarray(at + begin, at + room)).written;
  }

  #writeLong(text) {
    const sent = encoder.encode(text);
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
      throw new TillgateError({ code: "too_large", message: "there is no memory for an input of this size" });
    }
    return at;
  }

  /** The value of an answer; throws the error that it is. */
  #read(answer) {
    packed[0] = answer;
    const begin = halves[AT];
    const bytes = this.#view();
    const value = JSON.parse(decoder.decode(bytes.subarray(begin + 1, begin + halves[LENGTH])));
    if (bytes[begin] === FAILED) throw new TillgateError(value);
    return value;
  }

  #trapped(cause) {
    if (this === instance) instance = undefined;
    return new TillgateError({
      code: "trap",
      message: "the module ended in the middle of a call; the next call runs in a new instance",
      cause,
    });
  }
}

/** The decision that a text tells. */
function decision(text) {
  // An item's answer begins with its id, in which no quote stands that is not escaped; a basket's does not.
  const end = text.startsWith(ID) ? text.indexOf('","allow":', ID.length) : -1;
  if (end < 0 || text.length - end > LONGEST) return JSON.parse(text);
  const id = text.slice(ID.length, end);
  const rest = text.slice(end + 2);
  let said = decided.get(rest);
  if (said === undefined) {
    said = JSON.parse(`{${rest}`);
    if (decided.size >= MOST) decided.clear();
    decided.set(rest, said);
  }
  // Copies, which are their caller's to change.
  const results = said.results.map((result) => ({ ...result }));
  return { id: id.includes("\\") ? JSON.parse(`"${id}"`) : id, allow: said.allow, results };
}

/** Writes a text as long as it is ASCII, and answers how much of it. */
function writeAscii(text, bytes, at) {
  let written = 0;
  for (; written < text.length; written += 1) {
    const unit = text.charCodeAt(written);
    if (unit > 0x7f) break;
    bytes[at + written] = unit;
  }
  return written;
}

/** What the module imports is for its other face: here nothing may call it. */
function traps(compiled) {
  const imports = {};
  for (const { module: from, name } of WebAssembly.Module.imports(compiled)) {
    imports[from] ??= {};
    imports[from][name] = () => {
      throw new Error(`${name} is for the module's other face`);
    };
  }
  return imports;
}
