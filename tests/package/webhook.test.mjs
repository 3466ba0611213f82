// `tillgate/webhook`: what a receiver accepts, and everything that it refuses, each with its own code. Certificates are tested
// in `webhook-certificates.test.mjs`.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { before, describe, test } from "node:test";
import { inspect } from "node:util";

import { TillgateError } from "../../js/src/runtime/node.js";
import { WebhookError, WebhookVerifier } from "../../js/src/runtime/webhook.node.js";
import {
  CALLBACK_URL,
  EMAIL,
  ISSUER,
  SHARED_KEY,
  bodySignature,
  dataSignature,
  delivery,
  envelope,
  hs256,
  identity,
  token,
} from "../support/webhook-sender.mjs";

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
// The certificates of this file are made before this, however long that takes.
const NOW = Date.now() + 60_000;

let ours;
let other;
let short;
let published;

before(() => {
  ours = identity("k-1");
  other = identity("k-1");
  short = identity("k-short", { newkey: ["rsa:1024"] });
  published = { "k-1": ours.pem, "k-short": short.pem };
});

const verifier = (options) =>
  new WebhookVerifier({
    scheme: "BEARER",
    audience: CALLBACK_URL,
    email: EMAIL,
    issuer: ISSUER,
    certificates: published,
    sharedKey: SHARED_KEY,
    now: () => NOW,
    ...options,
  });

const basic = (options) => new WebhookVerifier({ scheme: "BASIC", username: "till", password: "pässword", now: () => NOW, ...options });

const bearer = (options) => `Bearer ${token(options?.by ?? ours, { now: NOW, ...options })}`;
const asBasic = (text) => `Basic ${Buffer.from(text).toString("base64")}`;

/** An accepted delivery, unless something in it is replaced. */
function sent({ headers, body, event, key, ...options } = {}) {
  const made = delivery({ authorization: bearer(options), event, key, now: NOW });
  return { headers: { ...made.headers, ...headers }, body: body ?? made.body };
}

/** The body signature of any text. */
const signedAt = (t, body = JSON.stringify(envelope()), id = "e-1") => ({ "x-service-body-signature": bodySignature({ id, t, body }) });

const seconds = Math.floor(NOW / 1000);

/** Each is refused with its code: `[code, name, delivery, options of the verifier, status]`. */
const HOSTILE = [
  ["missing_token", "there is no Authorization header", () => sent({ headers: { authorization: undefined } })],
  ["wrong_scheme", "Basic credentials where a token is expected", () => sent({ headers: { authorization: asBasic("a:b") } })],
  ["wrong_scheme", "a token without its prefix", () => sent({ headers: { authorization: bearer().slice(7) } })],
  ["duplicate_header", "two Authorization headers", () => twice("Authorization", bearer()), {}, 400],
  ["duplicate_header", "two Authorization headers that a Headers has joined", () => joined("Authorization", bearer()), {}, 400],
  ["duplicate_header", "two signatures", () => twice("X-Service-Signature", dataSignature("")), {}, 400],
  ["duplicate_header", "two signatures of the body", () => twice("x-service-body-SIGNATURE", "t=1,HS256=00"), {}, 400],
  ["oversized_token", "a token of 20,000 characters", () => sent({ claims: { padding: "a".repeat(20_000) } })],
  ["malformed_token", "a token of two parts", () => sent({ headers: { authorization: bearer().split(".").slice(0, 2).join(".") } })],
  ["malformed_token", "a token of four parts", () => sent({ headers: { authorization: `${bearer()}.a` } })],
  ["malformed_token", "an empty token", () => sent({ headers: { authorization: "Bearer " } })],
  ["malformed_token", "a space before the token", () => sent({ headers: { authorization: bearer().replace(" ", "  ") } })],
  ["malformed_token", "a token's header that is not base64url", () => sent({ headers: { authorization: "Bearer a.e30.AA" } })],
  ["malformed_token", "a token's header that is not an object", () => sent({ headers: { authorization: "Bearer WzFd.e30.AA" } })],
  ["malformed_token", "claims that are not an object", () => sent({ claims: "[1]" })],
  ["malformed_token", "claims that are not JSON", () => sent({ claims: "aud" })],
  ["malformed_token", "an issue time that is not a number", () => sent({ claims: { iat: "now" } })],
  ["wrong_algorithm", "alg none, without a signature", () => sent({ header: { alg: "none" }, signature: () => "" })],
  ["wrong_algorithm", "alg none over a valid signature", () => sent({ header: { alg: "none" } })],
  ["wrong_algorithm", "HS256 with the certificate as its key", () => sent({ header: { alg: "HS256" }, signature: hs256(ours.pem) })],
  ["wrong_algorithm", "RS512", () => sent({ header: { alg: "RS512" } })],
  ["wrong_algorithm", "PS256", () => sent({ header: { alg: "PS256" } })],
  ["wrong_algorithm", "RS256 in small letters", () => sent({ header: { alg: "rs256" } })],
  ["wrong_algorithm", "no algorithm", () => sent({ header: { alg: undefined } })],
  ["wrong_algorithm", "alg none and an unknown certificate: the algorithm comes first", () => sent({ header: { alg: "none", kid: "k-9" } })],
  ["forbidden_header", "an extension that must be understood", () => sent({ header: { crit: ["exp"], exp: 1 } })],
  ["forbidden_header", "a payload that is not encoded", () => sent({ header: { b64: false, crit: ["b64"] } })],
  ["forbidden_header", "a token that brings its key", () => sent({ by: other, header: { jwk: { kty: "RSA", n: "AQAB", e: "AQAB" } } })],
  ["forbidden_header", "a token that says where its key is", () => sent({ by: other, header: { jku: "https://evil.example/jwks" } })],
  ["forbidden_header", "a token that says where its certificate is", () => sent({ by: other, header: { x5u: "https://evil.example/x5u" } })],
  ["forbidden_header", "a token that brings its certificate", () => sent({ by: other, header: { x5c: ["AA"] } })],
  ["wrong_type", "an access token", () => sent({ header: { typ: "at+jwt" } })],
  ["wrong_type", "no type", () => sent({ header: { typ: undefined } })],
  ["missing_kid", "no certificate is named", () => sent({ header: { kid: undefined } })],
  ["missing_kid", "a certificate's id that is a number", () => sent({ header: { kid: 1 } })],
  ["unknown_kid", "a certificate that is not published", () => sent({ header: { kid: "k-9" } })],
  ["unknown_kid", "__proto__ as the certificate", () => sent({ header: { kid: "__proto__" } })],
  ["unknown_kid", "toString as the certificate", () => sent({ header: { kid: "toString" } })],
  ["weak_key", "a key of 1024 bits", () => sent({ by: short })],
  ["bad_signature", "another key under the same id", () => sent({ by: other })],
  ["bad_signature", "an empty signature", () => sent({ signature: () => "" })],
  ["bad_signature", "claims that were changed", () => changedClaims({ aud: "https://evil.example" })],
  ["bad_signature", "another key, and another audience: the signature comes first", () => sent({ by: other, claims: { aud: "x" } })],
  ["wrong_audience", "another audience", () => sent({ claims: { aud: "https://other.example/hook" } })],
  ["wrong_audience", "a slash more", () => sent({ claims: { aud: `${CALLBACK_URL}/` } })],
  ["wrong_audience", "several audiences", () => sent({ claims: { aud: [CALLBACK_URL, "https://other.example/hook"] } })],
  ["wrong_audience", "one audience in an array", () => sent({ claims: { aud: [CALLBACK_URL] } })],
  ["wrong_audience", "no audience", () => sent({ claims: { aud: undefined } })],
  ["wrong_audience", "everything is wrong: the audience comes first", () => sent({ claims: { aud: "x", email: "x", iss: "x", exp: 1 } })],
  ["wrong_email", "another service account", () => sent({ claims: { email: "other@host.example" } })],
  ["wrong_email", "the address in capitals", () => sent({ claims: { email: EMAIL.toUpperCase() } })],
  ["wrong_email", "no address, and another issuer", () => sent({ claims: { email: undefined, iss: "x" } })],
  ["email_not_verified", "an address that is not verified", () => sent({ claims: { email_verified: false } })],
  ["email_not_verified", "an address that is verified as a text", () => sent({ claims: { email_verified: "true" } })],
  ["wrong_issuer", "another issuer, and expired", () => sent({ claims: { iss: `${ISSUER}.evil.example`, exp: 1 } })],
  ["missing_expiry", "no expiry", () => sent({ claims: { exp: undefined } })],
  ["missing_expiry", "an expiry that is a text", () => sent({ claims: { exp: String(seconds + 60) } })],
  ["expired", "an expiry of now", () => sent({ claims: { exp: seconds } })],
  ["expired", "an expiry of an hour ago, and a wrong signature of the data", () => sent({ claims: { exp: seconds - 3600 }, key: "another shared key" })],
  ["not_yet_valid", "a token of tomorrow", () => sent({ claims: { nbf: seconds + 86_400 } })],
  ["not_yet_valid", "a token that is issued in six minutes", () => sent({ claims: { iat: seconds + 360 } })],
  ["certificate_expired", "a certificate that has expired", () => sentAt(NOW + 31 * DAY_MS), { now: () => NOW + 31 * DAY_MS }],
  ["certificate_not_yet_valid", "a certificate of the future", () => sentAt(NOW - DAY_MS), { now: () => NOW - DAY_MS }],
  ["missing_signature", "no signature", () => sent({ headers: { "x-service-signature": undefined } })],
  ["missing_signature", "a signature in the header of another name", () => sent(), { signatureHeader: "X-Existing-Signature" }],
  ["malformed_signature", "a signature without its algorithm", () => sent({ headers: { "x-service-signature": dataSignature("").slice(6) } })],
  ["malformed_signature", "a signature in capitals", () => sent({ headers: { "x-service-signature": dataSignature("").toUpperCase() } })],
  ["malformed_signature", "a signature that is cut off", () => sent({ headers: { "x-service-signature": dataSignature("").slice(0, -1) } })],
  ["malformed_signature", "an empty signature", () => sent({ headers: { "x-service-signature": "" } })],
  ["malformed_signature", "a signature beyond ASCII", () => sent({ headers: { "x-service-signature": "HS256=\ud800" } })],
  ["signature_mismatch", "another shared key", () => sent({ key: "another shared key" })],
  ["signature_mismatch", "data that was changed", () => changedBody({ data: btoa('{"action":"DELETED"}') })],
  ["missing_body_signature", "no signature of the body where one is needed", () => sent({ headers: { "x-service-body-signature": undefined } }), { requireBodySignature: true }],
  ["malformed_body_signature", "a time with letters behind it", () => sent({ headers: signedAt(`${seconds}junk`) })],
  ["malformed_body_signature", "a time with a zero before it", () => sent({ headers: signedAt(`0${seconds}`) })],
  ["malformed_body_signature", "a signature of the body without a time", () => sent({ headers: { "x-service-body-signature": dataSignature("") } })],
  ["body_signature_mismatch", "an event's type that was changed", () => changedBody({ type: "projects.events.v1" })],
  ["body_signature_mismatch", "an event's id that was changed", () => changedBody({ id: "e-2" })],
  ["body_signature_mismatch", "a space behind the body", () => sent({ body: `${JSON.stringify(envelope())} ` })],
  ["body_signature_mismatch", "an old delivery with the time of now", () => replayed()],
  ["body_signature_too_old", "a delivery of six minutes ago", () => sent({ headers: signedAt(seconds - 360) })],
  ["body_signature_too_old", "a delivery of two seconds ago, with one second of tolerance", () => sent({ headers: signedAt(seconds - 2) }), { toleranceSeconds: 1 }],
  ["body_signature_too_new", "a delivery of the future", () => sent({ headers: signedAt(seconds + 360) })],
  ["malformed_body", "a body that is not JSON", () => sent({ body: "{" }), {}, 400],
  ["malformed_body", "an empty body", () => sent({ body: "" }), {}, 400],
  ["malformed_body", "a body that is not an object", () => sent({ body: "[]" }), {}, 400],
  ["malformed_body", "a body that is not UTF-8", () => sent({ body: Buffer.from(JSON.stringify(envelope({ source: "\xff" })), "latin1") }), {}, 400],
  ["malformed_body", "data that is not base64", () => changedBody({ data: "e30" }), {}, 400],
  ["malformed_body", "data with a line break", () => changedBody({ data: "e30=\n" }), {}, 400],
  ["malformed_body", "another encoding", () => changedBody({ dataencoding: "hex" }), {}, 400],
  ["malformed_body", "no id", () => changedBody({ id: undefined }), {}, 400],
  ["malformed_body", "an id that no UTF-8 can hold", () => changedBody({ id: "\ud800" }), {}, 400],
  ["malformed_body", "data twice", () => sent({ body: JSON.stringify(envelope()).replace("{", '{"data":"e30=",') }), {}, 400],
  ["malformed_body", "an id twice, once with escapes", () => sent({ body: JSON.stringify(envelope()).replace("{", '{"\\u0069d":"e-2",') }), {}, 400],
  ["malformed_body", "data with escapes", () => sent({ body: JSON.stringify(envelope()).replace('"data":"e', '"data":"\\u0065') }), {}, 400],
  ["body_too_large", "a body above the limit", () => sent({ body: Buffer.alloc(1001, 32) }), { maxBodyBytes: 1000 }, 413],
];

/** Refused credentials of the scheme Basic. */
const HOSTILE_BASIC = [
  ["missing_credentials", "there is no Authorization header", undefined],
  ["wrong_scheme", "a token where credentials are expected", "Bearer a.b.c"],
  ["malformed_credentials", "credentials that are not base64", "Basic till:password"],
  ["malformed_credentials", "credentials without their padding", asBasic("till:pässword").replace(/=+$/, "")],
  ["wrong_credentials", "another password", asBasic("till:password")],
  ["wrong_credentials", "another username", asBasic("tilt:pässword")],
  ["wrong_credentials", "no password", asBasic("till:")],
  ["wrong_credentials", "a beginning of the password", asBasic("till:pässwor")],
  ["wrong_credentials", "no colon", asBasic("till")],
  ["wrong_credentials", "nothing", "Basic "],
];

function twice(name, value) {
  const { headers, body } = sent();
  return { headers: [...Object.entries(headers), [name, value]].flat(), body };
}

function joined(name, value) {
  const made = sent();
  const headers = new Headers(made.headers);
  headers.append(name, value);
  return { headers, body: made.body };
}

function changedClaims(claims) {
  const [header, , signature] = bearer().split(".");
  return sent({ headers: { authorization: [header, Buffer.from(JSON.stringify(claims)).toString("base64url"), signature].join(".") } });
}

const changedBody = (members) => sent({ body: JSON.stringify({ ...envelope(), ...members }) });

const sentAt = (now) => delivery({ authorization: `Bearer ${token(ours, { now })}`, now });

function replayed() {
  const signature = bodySignature({ t: seconds - 3600, body: JSON.stringify(envelope()) });
  return sent({ headers: { "x-service-body-signature": signature.replace(/^t=\d+/, `t=${seconds}`) } });
}

const refused = (promise) => promise.then(() => assert.fail("the delivery was accepted"), (error) => error);
const thrown = (call) => {
  try {
    call();
  } catch (error) {
    return error;
  }
  return assert.fail("nothing was thrown");
};

describe("a delivery is refused:", () => {
  for (const [code, name, make, options, status = 401] of HOSTILE) {
    test(`${name} (${code})`, async () => {
      const error = await refused(verifier(options).verify(make()));
      assert.ok(error instanceof WebhookError, inspect(error));
      assert.deepEqual([error.code, error.status], [code, status]);
    });
  }

  for (const [code, name, authorization] of HOSTILE_BASIC) {
    test(`Basic: ${name} (${code})`, async () => {
      const { headers, body } = delivery({ authorization });
      const error = await refused(basic().verify({ headers, body }));
      assert.ok(error instanceof WebhookError, inspect(error));
      assert.deepEqual([error.code, error.status], [code, 401]);
    });
  }

  test("errors contain neither a token nor claims nor secrets", async () => {
    const secrets = [SHARED_KEY, EMAIL, CALLBACK_URL, "eyJ", "other.example", "pässword", "till:"];
    for (const [, , make, options] of HOSTILE) {
      const printed = inspect(await refused(verifier(options).verify(make())), { depth: 9 }).replaceAll(import.meta.url, "");
      for (const secret of secrets) assert.ok(!printed.includes(secret), printed);
    }
  });

  test("every code is in the types, and the other way round", () => {
    const read = (name) => readFileSync(new URL(`../../js/src/${name}`, import.meta.url), "utf8");
    const typed = read("shared/error.d.cts").match(/export type WebhookErrorCode =([^;]*);/)[1].match(/(?<=\| ")[a-z_]+/g);
    const coded = read("webhook/error.js").match(/(?<=^ {2})[a-z_]+(?=: \[)/gm);
    assert.deepEqual(typed.sort(), coded.sort());
  });
});

describe("a delivery is accepted", () => {
  test("and its event has the members of the envelope and its data", async () => {
    const event = await verifier({ requireBodySignature: true }).verify(sent());
    const { data, dataencoding, ...members } = envelope();
    assert.deepEqual({ ...event }, members);
    assert.deepEqual(event.data, { action: "CREATED", id: "beer" });
    assert.equal(event.data, event.data);
    assert.equal(Buffer.from(event.bytes).toString("base64"), data);
    assert.deepEqual(JSON.parse(JSON.stringify(event)), envelope());
  });

  test("with its headers and its body in any form", async () => {
    const { headers, body } = sent();
    const pairs = Object.entries(headers);
    const forms = [
      headers,
      new Headers(headers),
      new Map(pairs),
      pairs,
      pairs.flat(),
      Object.fromEntries(pairs.map(([name, value]) => [name.toUpperCase(), [value]])),
    ];
    for (const form of forms) assert.equal((await verifier().verify({ headers: form, body })).id, "e-1");
    const bytes = new Uint8Array(body);
    for (const form of [bytes, bytes.buffer, body.toString()]) assert.equal((await verifier().verify({ headers, body: form })).id, "e-1");
  });

  test("by username and password, also while they are being changed", async () => {
    const credentials = [{ username: "till", password: "old" }, { username: "till", password: "new: with colons" }];
    for (const { username, password } of credentials) {
      const { headers, body } = delivery({ authorization: asBasic(`${username}:${password}`) });
      const both = new WebhookVerifier({ scheme: "BASIC", credentials, sharedKey: SHARED_KEY });
      assert.equal((await both.verify({ headers, body })).id, "e-1");
    }
    const { headers, body } = delivery({ authorization: asBasic("till:pässword") });
    assert.equal((await basic().verify({ headers, body })).id, "e-1");
    const error = await refused(basic({ sharedKey: "another shared key" }).verify({ headers, body }));
    assert.equal(error.code, "signature_mismatch");
  });

  test("under any of several shared keys", async () => {
    const both = () => verifier({ sharedKey: ["another shared key", SHARED_KEY] });
    assert.equal((await both().verify(sent())).id, "e-1");
    assert.equal((await both().verify(sent({ key: "another shared key" }))).id, "e-1");
    assert.equal((await refused(both().verify(sent({ key: "a third shared key" })))).code, "signature_mismatch");
    assert.equal((await refused(both().verify(sent({ headers: signedAt(seconds - 360) })))).code, "body_signature_too_old");
  });

  test("with its signature in the header that the webhook names", async () => {
    const { headers, body } = sent();
    const { "x-service-signature": signature, ...others } = headers;
    const named = verifier({ signatureHeader: "X-Existing-Signature" });
    assert.equal((await named.verify({ headers: { ...others, "X-EXISTING-signature": signature }, body })).id, "e-1");
  });

  test("without signatures, if the webhook has no shared key", async () => {
    const { sharedKey, ...options } = { scheme: "BEARER", audience: CALLBACK_URL, email: EMAIL, issuer: ISSUER, certificates: published };
    const { headers, body } = sent();
    const event = await new WebhookVerifier(options).verify({ headers: { authorization: headers.authorization }, body });
    assert.equal(event.id, "e-1");
  });

  test("from a sender whose clock is a little ahead", async () => {
    const claims = { iat: seconds + 200, nbf: seconds + 200, exp: seconds + 3800 };
    assert.equal((await verifier().verify(sent({ claims, headers: signedAt(seconds + 200) }))).id, "e-1");
  });

  test("of a type that is not JSON, and of text that is not what its type says", async () => {
    const deliver = (members) => verifier().verify(sent({ event: envelope(members) }));
    const data = Buffer.from("räksmörgås").toString("base64");
    assert.equal((await deliver({ data, datacontenttype: "text/plain" })).data, "räksmörgås");
    assert.deepEqual((await deliver({ datacontenttype: "application/vnd.till+json; charset=utf-8" })).data.action, "CREATED");
    assert.deepEqual((await deliver({ datacontenttype: undefined })).data.action, "CREATED");
    assert.equal((await deliver({ value: null })).data, null);
    const wrong = await deliver({ data });
    assert.equal(Buffer.from(wrong.bytes).toString(), "räksmörgås");
    const error = thrown(() => wrong.data);
    assert.deepEqual([error.code, error.status], ["malformed_data", 400]);
  });

  test("with members that are not known yet, and 256 KiB of data with anything in it", async () => {
    const value = { text: '{"data":"e30="} \\" , :'.repeat(12_000), nested: { data: "e30=", id: 1, list: [[{ data: [] }]] } };
    const event = await verifier().verify(sent({ event: envelope({ value, added: { data: "x", id: ["y"] } }) }));
    assert.deepEqual(event.data, value);
  });
});

describe("an accepted token is remembered", () => {
  test("until it expires", async () => {
    let now = NOW;
    const one = verifier({ now: () => now });
    const { headers } = sent({ claims: { exp: seconds + 600 } });
    const deliver = () => one.verify({ ...delivery({ authorization: headers.authorization, now }) });
    await deliver();
    now = NOW + 599_000;
    await deliver();
    now = (seconds + 600) * 1000;
    assert.equal((await refused(deliver())).code, "expired");
  });

  test("but not the deliveries that came with it", async () => {
    const one = verifier();
    await one.verify(sent());
    assert.equal((await refused(one.verify(changedBody({ id: "e-2" })))).code, "body_signature_mismatch");
  });

  test("for an hour at most, and no longer than its certificate is valid", async () => {
    let now = NOW;
    const claims = { exp: seconds + 400 * 86_400 };
    const authorization = bearer({ claims });
    const one = verifier({ now: () => now });
    const deliver = () => one.verify(delivery({ authorization, now }));
    await deliver();
    now = NOW + 31 * DAY_MS;
    assert.equal((await refused(deliver())).code, "certificate_expired");
  });

  test("a refused one is not", async () => {
    const one = verifier();
    for (const _ of [1, 2]) assert.equal((await refused(one.verify(sent({ claims: { aud: "x" } })))).code, "wrong_audience");
  });
});

describe("a verifier is not made", () => {
  const OPTIONS = { scheme: "BEARER", audience: "a", email: "b", issuer: "c", certificatesUrl: "https://host.example/certs" };
  const BASIC = { scheme: "BASIC", username: "a", password: "b" };
  const without = (name) => ({ ...OPTIONS, [name]: undefined });
  const KEY = { sharedKey: SHARED_KEY };
  for (const [name, path, options] of [
    ["without options", "$", undefined],
    ["without a scheme", "$.scheme", { ...OPTIONS, scheme: undefined }],
    ["with a scheme that every object has", "$.scheme", { ...OPTIONS, scheme: "toString" }],
    ["without an audience", "$.audience", without("audience")],
    ["with an empty audience", "$.audience", { ...OPTIONS, audience: "" }],
    ["with several audiences", "$.audience", { ...OPTIONS, audience: ["a"] }],
    ["without an e-mail address", "$.email", without("email")],
    ["without an issuer", "$.issuer", without("issuer")],
    ["without certificates", "$.certificatesUrl", without("certificatesUrl")],
    ["with certificates from two places", "$.certificatesUrl", { ...OPTIONS, certificates: { a: "b" } }],
    ["with certificates over http", "$.certificatesUrl", { ...OPTIONS, certificatesUrl: "http://host.example/certs" }],
    ["with a name that begins like this machine's", "$.certificatesUrl", { ...OPTIONS, certificatesUrl: "http://127.0.0.1.evil.example/" }],
    ["with credentials in the address", "$.certificatesUrl", { ...OPTIONS, certificatesUrl: "https://a:b@host.example/" }],
    ["with an address that is none", "$.certificatesUrl", { ...OPTIONS, certificatesUrl: "host" }],
    ["with a certificate that is none", '$.certificates["a"]', { ...without("certificatesUrl"), certificates: { a: "b" } }],
    ["with no certificate at all", "$.certificates", { ...without("certificatesUrl"), certificates: {} }],
    ["with a shared key that is undefined", "$.sharedKey", { ...OPTIONS, sharedKey: undefined }],
    ["with an empty shared key", "$.sharedKey", { ...OPTIONS, sharedKey: "" }],
    ["with a short shared key", "$.sharedKey[1]", { ...OPTIONS, sharedKey: [SHARED_KEY, "short"] }],
    ["with an empty list of shared keys", "$.sharedKey", { ...OPTIONS, sharedKey: [] }],
    ["with a header for a signature, and no shared key", "$.signatureHeader", { ...OPTIONS, signatureHeader: "X-Signature" }],
    ["with a header that cannot be one", "$.signatureHeader", { ...OPTIONS, ...KEY, signatureHeader: "X Signature" }],
    ["with the header of the credentials", "$.signatureHeader", { ...OPTIONS, ...KEY, signatureHeader: "authorization" }],
    ["that needs signed bodies, without a shared key", "$.requireBodySignature", { ...OPTIONS, requireBodySignature: true }],
    ["with a misspelled option", "$.requireBodySignatures", { ...OPTIONS, ...KEY, requireBodySignatures: true }],
    ["with an option of the other scheme", "$.username", { ...OPTIONS, username: "a" }],
    ["with a tolerance of a fraction", "$.toleranceSeconds", { ...OPTIONS, toleranceSeconds: 0.5 }],
    ["with a negative limit", "$.maxBodyBytes", { ...OPTIONS, maxBodyBytes: -1 }],
    ["with a time instead of a clock", "$.now", { ...OPTIONS, now: NOW }],
    ["with something else than fetch", "$.fetch", { ...OPTIONS, fetch: {} }],
    ["without a password", "$.password", { ...BASIC, password: undefined }],
    ["with an empty username", "$.username", { ...BASIC, username: "" }],
    ["with a colon in the username", "$.username", { ...BASIC, username: "a:b" }],
    ["with no credentials", "$.credentials", { scheme: "BASIC", credentials: [] }],
    ["with credentials that lack a password", "$.credentials[0].password", { scheme: "BASIC", credentials: [{ username: "a" }] }],
    ["with credentials in two places", "$.credentials", { ...BASIC, credentials: [BASIC] }],
  ]) {
    test(name, () => {
      const error = thrown(() => new WebhookVerifier(options));
      assert.ok(error instanceof TillgateError && !(error instanceof WebhookError), inspect(error));
      assert.deepEqual([error.code, error.path], ["invalid", path]);
    });
  }

  test("and every fault is named at once", () => {
    const error = thrown(() => new WebhookVerifier({ scheme: "BEARER" }));
    assert.deepEqual(error.faults.map(({ path }) => path), ["$.audience", "$.email", "$.issuer", "$.certificatesUrl"]);
  });
});

test("a parsed body and missing headers are mistakes of the receiver, not of the sender", async () => {
  const { headers, body } = sent();
  for (const [path, request] of [["$.body", { headers, body: JSON.parse(body) }], ["$.headers", { body }]]) {
    const error = await refused(verifier().verify(request));
    assert.deepEqual([error.name, error.code, error.path], ["TillgateError", "invalid", path]);
  }
});
