// Possible values of a body, a path or a query that programs have stumbled over: texts, numbers, times, ids, lengths.

import { Raw } from "./json-text.mjs";

/** The lengths that the service limits, in bytes or in characters; one less and one more are tried too. */
const LIMITS = [1, 3, 16, 32, 64, 100, 128, 255, 256, 1_000, 1_024, 2_048, 8_192];

/** The element counts that the service limits, likewise. */
const COUNTS = [1, 16, 50, 64, 100, 1_000];

/** Characters of one to four bytes, characters that change the direction or are invisible, and halves of a surrogate pair. */
const CHARACTERS = ["a", "0", "é", "한", "😀", "\0", "\x1f", "\x7f", "\u0085", "\u202e", "\u2066", "\ufeff", "\u2028", "\ud800", "\udc00", "\uffff", "e\u0301", "%", "\\", '"', "/", " ", "\n"];

const TEXTS = ["", " ", " a", "a ", "null", "true", "NaN", "__proto__", "constructor", "$", "$.a", "*", "_", "\ud800a", "\udc00\ud800", "\u202egnp.exe", "a\0b", "a\r\nSet-Cookie: a=b", "<script>", "{{", "İ", "ß"];

const NUMBERS = [
  ..."0 -0 1 -1 0.5 1.10 1e2 1E+2 1e-6 0.000001 0.0000001 0.9999995 99.9999 99.99999 100 150 151 2000000 2000000.000001 10000 10001 600000 600001".split(" "),
  ..."999999999999999 1000000000000000 999999999.999999 123456789.1234567 9007199254740993 9223372036854775807 9223372036854775808".split(" "),
  ..."18446744073709551616 170141183460469231731687303715884105728 1e15 1e-400 1e400 -1e400 1e99999999999 0e99999999999 1e-99999999999".split(" "),
  ..."01 +1 .5 1. 1e 0x10 1_000 NaN Infinity -".split(" "),
];

const TIMES = [
  "2026-02-30", "2026-02-29T00:00:00Z", "2026-11-20", "2026-11-20T17:40:00Z", "2026-11-20t17:40:00z", "2026-11-20 17:40:00Z", "2026-11-20T17:40:60Z", "2026-11-20T24:00:00Z",
  "2026-11-20T17:40:00+25:00", "2026-11-20T17:40:00-12:00", "2026-11-20T17:40:00.1234567890123Z", "0000-01-01T00:00:00Z", "-0001-01-01T00:00:00Z", "1969-12-31T23:59:59Z", "1600-01-01T00:00:00Z",
  "9999-12-31T23:59:59.999999999Z", "+275760-09-13T00:00:00Z", "+999999-01-01T00:00:00Z", "2026-W01-1", "20261120T174000Z", "1e9", "-62167219200",
];

const DURATIONS = ["0s", "0", "1ns", "1h 30m", "1h30m", "-1s", "2 days", "7d", "7d 1s", "30d", "30days 1ns", "365d", "365d 1s", "1.5h", "PT1H", "1y 1y", "18446744073709551615s", "18446744073709551615s 1000000000ns", "99999999999999999999s", "584542046090y", "1month"];

const IDS = [
  ".", "..", "...", "a/b", "a\\b", "a b", "a%2fb", "%2e", "%00", "A", "a:b", "-", "00000000-0000-0000-0000-000000000000", "FFFFFFFF-FFFF-4FFF-8FFF-FFFFFFFFFFFF", "{0b8a5d3e-6c1f-4a52-9d7e-2f4b8c6d1e90}",
  "urn:uuid:0b8a5d3e-6c1f-4a52-9d7e-2f4b8c6d1e90", "0b8a5d3e6c1f4a529d7e2f4b8c6d1e90", "ping", "listen", "replay", "health", "COMPANY", "EUR", "eur", "XXX", "SEK\0", "SALES", "sales", "*", "x.y.v1", "X.v1", "a..v1", ".v1", "a.v0", "a.v01", "a.v99999999999999999999",
];

const URLS = [
  "https://", "https:", "//a", "http://127.0.0.1/", "https://127.1/", "https://0x7f000001/", "https://[::1]/", "https://[::ffff:127.0.0.1]/", "https://[::1%25eth0]/", "https://a:b@127.0.0.1/", "https://127.0.0.1/#f", "https://127.0.0.1:0/",
  "https://127.0.0.1:65536/", "https://127.0.0.1/%zz", "https://127.0.0.1/\u202e", "https://\u3002/", "https://xn--a/", "https://a_b.invalid/", "javascript:alert(1)", "file:///etc/passwd", "https://127.0.0.1/?a=" + "b".repeat(2_100), "http://localhost:1/x", "https://invalid./",
];

/** Values of other types than the accepted one, and schemas that may trip a checker. */
const OTHERS = [
  null, true, false, [], {}, [[]], [null], [{}], { "": "" }, { a: { a: { a: {} } } }, { $ref: "#" }, { $ref: "http://127.0.0.1:9/" }, { type: "string", pattern: "(a+)+$" }, { pattern: "(" }, { pattern: "\\p{L}{1000}" },
  { $ref: "#/definitions/a", definitions: { a: { $ref: "#/definitions/a" } } }, { allOf: [{ $ref: "#" }, { $ref: "#" }] }, { minLength: 1e300 }, { multipleOf: 0 }, { enum: [] }, { const: "\ud800" }, { type: "nothing" }, { $schema: "http://json-schema.org/draft-04/schema#" },
];

const near = (random, limits) => Math.max(0, random.pick(limits) + random.below(3) - 1);

/** A text of a length near a limit, in bytes or in characters. */
export function longText(random) {
  const character = random.pick(CHARACTERS.slice(0, 5));
  const length = near(random, LIMITS);
  return random.chance(0.5) ? character.repeat(length) : ofBytes(character, length);
}

/** A text of some bytes: if the character does not fit at the end, `a` fills the rest. */
function ofBytes(character, bytes) {
  const size = Buffer.byteLength(character);
  return character.repeat(Math.floor(bytes / size)) + "a".repeat(bytes % size);
}

/** Any text; `text` is an accepted one. */
export function hostileText(random, text = "") {
  switch (random.below(9)) {
    case 0:
      return longText(random);
    case 1:
      return random.pick(TEXTS);
    case 2:
      return random.pick(TIMES);
    case 3:
      return random.pick(DURATIONS);
    case 4:
      return random.pick(IDS);
    case 5:
      return random.pick(URLS);
    case 6:
      return random.pick(NUMBERS);
    case 7:
      return text.toUpperCase() === text ? text.toLowerCase() : text.toUpperCase();
    default: {
      const at = random.below(text.length + 1);
      return text.slice(0, at) + random.pick(CHARACTERS) + text.slice(at);
    }
  }
}

/** Any value in place of an accepted one, mostly of the same type, as a tree. */
export function hostileValue(random, value) {
  if (random.chance(0.15)) return structuredClone(random.pick(OTHERS));
  if (random.chance(0.05)) return nested(random);
  if (random.chance(0.03)) return new Raw(String.raw`"\ud800 \u0000 \uDFFF\uD800 \x"`.slice(0, random.chance(0.8) ? -4 : undefined) + '"');
  const isNumber = typeof value === "number" || value instanceof Raw;
  return isNumber !== random.chance(0.2) ? new Raw(random.pick(NUMBERS)) : hostileText(random, typeof value === "string" ? value : "");
}

/** A value nested about as deeply as allowed, or much deeper. */
function nested(random) {
  const depth = random.pick([28, 29, 30, 31, 32, 33, 34, 127, 128, 129, 5_000]);
  return new Raw(random.chance(0.5) ? "[".repeat(depth) + "]".repeat(depth) : '{"a":'.repeat(depth) + "0" + "}".repeat(depth));
}

/** A random number of elements for a list. */
export const hostileCount = (random) => near(random, COUNTS);
