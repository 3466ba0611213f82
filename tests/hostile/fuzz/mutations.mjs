// The changes to an accepted request: to its body, its path, its query, its method and its headers.
//
// A request is `{ route, as, method, path: [segment], query: [[name, value]], headers, body }`; `body` is a tree
// (`json-text.mjs`), a text, or missing.

import { places, structured, write } from "./json-text.mjs";
import { hostileCount, hostileText, hostileValue, longText } from "./values.mjs";

const METHODS = ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW"];

const CONTENT_TYPES = [
  "", "text/plain", "application/xml", "text/csv", "application/json; charset=utf-16", "application/json;charset=utf-8", "APPLICATION/JSON", "application/problem+json", "application/json, text/plain", "json", "application/",
  "application/x-www-form-urlencoded", "multipart/form-data", "multipart/form-data; boundary=", "multipart/form-data; boundary=x", `multipart/form-data; boundary=${"x".repeat(80)}`, "application/json; a=\"", "*/*",
];

/** The headers that the host reads, each with invalid values. */
const HEADERS = {
  "if-match": ["*", '""', "x", '"', '"a b"', 'W/"x"', '"a", "b", "', `"${"x".repeat(4_000)}"`, '"\t"', ","],
  "if-none-match": ["*", "*, *", '"', 'W/', '"a b"', ", ,"],
  accept: ["text/html", "application/xml;q=1, */*;q=0", "*/*;q=2", "", ";", "application/json;q=0.0001", "application/*"],
  "accept-encoding": ["gzip;q=0", "gzip;q=x", "br, *;q=0", "identity;q=0, *;q=0", ",", "gzip, ".repeat(500)],
  "content-encoding": ["gzip", "identity", "deflate, gzip", "x", ""],
  "correlation-id": ["x", "0".repeat(36), "{0b8a5d3e-6c1f-4a52-9d7e-2f4b8c6d1e90}", "00000000-0000-0000-0000-000000000000", " "],
  "last-event-id": ["earliest", "latest", "x", "0", "-1", "~", "18446744073709551616", "a/b/c", "x".repeat(4_000)],
  authorization: ["", "Bearer", "Bearer ", "Bearer x", "Bearer a.b.c", "bearer  x", "Basic", "Basic x", "Basic Og==", "Basic OjE6Mg==", "Basic /////w==", `Bearer ${"a".repeat(8_193)}`, "Negotiate x"],
  range: ["bytes=0-0", "bytes=-1", "x"],
  "x-forwarded-for": ["127.0.0.1", "x", "::1, x", "999.1.1.1"],
};

/** Percent-encodes a text, correctly or not. */
function encoded(random, text) {
  switch (random.below(8)) {
    case 0:
      return text.replaceAll(/./gsu, (character) => [...Buffer.from(character)].map((byte) => `%${byte.toString(16).padStart(2, "0")}`).join(""));
    case 1:
      return `${encode(text)}${random.pick(["%", "%z", "%zz", "%ff", "%c0%ae", "%ed%a0%80", "%00", "%0d%0a", "+"])}`;
    case 2:
      return encode(encode(text));
    default:
      return encode(text);
  }
}

/** The form of a text in a path or query; halves of a surrogate pair, which UTF-8 cannot encode, as their bytes would be. */
const encode = (text) => text.replaceAll(/[^\w.~:{}-]/gsu, (character) => (/[\ud800-\udfff]/.test(character) && character.length === 1 ? "%ed%a0%80" : encodeURIComponent(character)));

const bodyMutations = {
  value: (random, place) => place.set(hostileValue(random, place.value)),
  text: (random, place) => place.set(random.chance(0.5) ? longText(random) : hostileText(random, typeof place.value === "string" ? place.value : "")),
  missing: (_, place) => place.remove(),
  double: (_, place) => place.double(),
  unknown: (random, place) => {
    if (Array.isArray(place.value)) place.value.push(place.value.constructor === Array ? hostileValue(random) : [hostileText(random), hostileValue(random)]);
  },
  many: (random, place) => {
    if (!Array.isArray(place.value) || place.value.constructor !== Array || place.value.length === 0) return;
    const [element] = place.value;
    place.set(Array.from({ length: hostileCount(random) }, (_, at) => (typeof element === "string" ? `${element}${at}` : structured(element))));
  },
};

/** Changes the tree of a body at one place. */
function mutateTree(request, random) {
  const place = random.pick(places(request.body, (tree) => (request.body = tree)));
  bodyMutations[random.weighted({ value: 5, text: 5, missing: 2, double: 1, unknown: 1, many: 2 })](random, place);
}

/** Changes the text of a body. */
function mutateText(request, random) {
  const text = typeof request.body === "string" ? request.body : write(request.body ?? "");
  const at = random.below(text.length + 1);
  request.body = random.pick([
    () => text.slice(0, at),
    () => text.slice(0, at) + hostileText(random) + text.slice(at),
    () => text.slice(0, at) + text.slice(at + 1),
    () => `\ufeff${text}`,
    () => `${text}${random.pick([" ", "\0", "{}", ",", "\n\n", "]"])}`,
    () => `${text}${text}`,
    () => "",
    () => text.replaceAll(/\d+/g, () => hostileText(random)),
  ])();
}

const mutations = {
  body: (request, random) => (typeof request.body === "string" ? mutateText : mutateTree)(request, random),
  text: mutateText,
  segment: (request, random) => {
    const at = random.below(request.path.length);
    request.path[at] = encoded(random, hostileText(random, request.path[at]));
  },
  path: (request, random) => {
    const at = random.below(request.path.length + 1);
    request.path.splice(at, random.below(2), ...random.pick([[""], ["."], [".."], ["%2e%2e"], ["%2E"], ["x"], ["x".repeat(9_000)], []]));
  },
  query: (request, random) => {
    const known = request.query.length > 0 && random.chance(0.8);
    const at = random.below(request.query.length);
    const [name, value] = known ? request.query[at] : [random.pick(["limit", "cursor", "dryRun", "overlap", "status", "since", encoded(random, hostileText(random))]), ""];
    const changed = [name, encoded(random, hostileText(random, value))];
    if (!known || random.chance(0.2)) request.query.push(changed);
    else if (random.chance(0.1)) request.query.splice(at, 1);
    else request.query[at] = changed;
  },
  method: (request, random) => (request.method = random.pick(METHODS)),
  type: (request, random) => (request.headers["content-type"] = random.pick(CONTENT_TYPES)),
  header: (request, random) => {
    const name = random.pick(Object.keys(HEADERS));
    const value = random.pick(HEADERS[name]);
    request.headers[name] = random.chance(0.1) && name !== "authorization" ? [value, value] : value;
  },
};

/** Changes a request one to three times. */
export function mutate(request, random) {
  const weights = { body: request.body === undefined ? 0 : 12, text: 2, segment: 4, path: 1, query: 4, method: 1, type: 1, header: 2 };
  for (let times = 1 + random.below(3); times > 0; times -= 1) mutations[random.weighted(weights)](request, random);
}
