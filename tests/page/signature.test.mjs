// The decisions of the page's signature check, without a browser: tokens, user names, signatures, and pasted text.
//
//     cargo build && node --test tests/page/signature.test.mjs     needs openssl, which makes the certificates

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createHmac, sign } from "node:crypto";
import { readFileSync } from "node:fs";
import { before, describe, test } from "node:test";
import { promisify } from "node:util";

import { receiver } from "../support/receiver.mjs";
import { DEADLINE_MS } from "../support/wait.mjs";
import { identity } from "../support/webhook-sender.mjs";
import { initSync } from "../../js/src/runtime/browser.js";
import { check, verdict } from "../../www/webhooks/checks.js";
import { curlOf } from "../../www/shared/curl.js";
import { dataText } from "../../www/webhooks/event-data.js";
import { readHeaders, splitRequest } from "../../www/webhooks/pasted-request.js";

/** Whole seconds, like the times in tokens and signatures. */
const NOW = Math.floor(Date.now() / 1000) * 1000;
const DAY_MS = 86_400_000;
const SHARED_KEY = "0123456789abcdef-shared";

const ours = identity("key-1");
const published = ({ pem }) => JSON.stringify({ "key-1": pem });
const certificates = published(ours);
const expected = { certificates, audience: "https://erp.example/hook", email: "dispatcher@tillgate.example", issuer: "https://identity.tillgate.example", sharedKey: SHARED_KEY };

const CLAIMS = {
  aud: expected.audience,
  email: expected.email,
  email_verified: true,
  azp: "1184",
  sub: "1184",
  iss: expected.issuer,
  iat: NOW / 1000 - 600,
  exp: NOW / 1000 + 3000,
};

const part = (value) => Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url");

/** The sender's token, with the given changes. */
function token({ header = {}, claims = {}, key = ours.key } = {}) {
  const signed = `${part({ alg: "RS256", kid: "key-1", typ: "JWT", ...header })}.${part({ ...CLAIMS, ...claims })}`;
  return `${signed}.${sign("sha256", Buffer.from(signed), key).toString("base64url")}`;
}

const hmac = (text, key = SHARED_KEY) => `HS256=${createHmac("sha256", key).update(text).digest("hex")}`;
const data = Buffer.from('{"orderId":"1001"}').toString("base64");
const BODY = JSON.stringify({ id: "event-1", time: "2026-11-21T11:59:00.000Z", type: "orders.events.v1", data, dataencoding: "base64", specversion: "1.0" });

/** The headers of a delivery, with the given changes; undefined leaves one out. */
function headersOf(changes = {}) {
  const t = NOW / 1000 - 60;
  const all = {
    authorization: `Bearer ${token()}`,
    "x-service-signature": hmac(data),
    "x-service-body-signature": `t=${t},${hmac(`event-1.${t}.${BODY}`)}`,
    ...changes,
  };
  return new Map(Object.entries(all).filter(([, value]) => value !== undefined).map(([name, value]) => [name, [value].flat()]));
}

/** The headers of Standard Webhooks for the same delivery. */
function standard(key = SHARED_KEY) {
  const t = NOW / 1000 - 60;
  const signed = createHmac("sha256", key).update(`event-1.${t}.${BODY}`).digest("base64");
  return { "webhook-id": "event-1", "webhook-timestamp": String(t), "webhook-signature": `v1,${signed}` };
}

/** The checks of a request, by title. */
async function checked({ headers, body = BODY, known = {}, now = NOW } = {}) {
  const checks = await check({ headers: headersOf(headers), body }, { ...expected, ...known }, now);
  const of = (title) => checks.find((each) => each.title === title) ?? { state: "not made" };
  return { checks, of, verdict: verdict(checks) };
}

before(() => initSync(readFileSync(new URL("../../js/engine/tillgate_bg.wasm", import.meta.url))));

describe("a delivery as it is sent", () => {
  test("passes every check, in the order in which a receiver makes them", async () => {
    const { checks, verdict } = await checked();
    assert.deepEqual(
      checks.map(({ title, state }) => `${title}: ${state}`),
      [
        "Authorization header: pass",
        "The token can be read: pass",
        "Certificate: pass",
        "Signature of the token: pass",
        "Audience: pass",
        "Sender’s e-mail: pass",
        "Issuer: pass",
        "Time: pass",
        "Envelope: pass",
        "Signature of the data: pass",
        "Signature of the whole body: pass",
      ],
    );
    assert.deepEqual(verdict, { state: "pass", text: "Every check passes." });
  });

  test("is left open where nothing is known to compare with", async () => {
    const nothing = { certificates: "", audience: undefined, email: undefined, issuer: undefined, sharedKey: undefined };
    const { checks, of, verdict } = await checked({ known: nothing });
    assert.equal(of("Audience").detail, "The token says “https://erp.example/hook”. Enter the address of the endpoint.");
    assert.equal(checks.filter(({ state }) => state === "fail").length, 0);
    assert.deepEqual(verdict, { state: "open", text: "Nothing is wrong so far. 7 checks are still open." });
  });
});

describe("the token", () => {
  const fails = async (options, title, detail) => {
    const { of } = await checked(options);
    assert.equal(of(title).state, "fail", of(title).detail);
    assert.match(of(title).detail, detail);
    return of;
  };
  const bearer = (...given) => ({ headers: { authorization: `Bearer ${token(...given)}` } });

  test("must be there once, and be a bearer token or a user name with a password", async () => {
    await fails({ headers: { authorization: undefined } }, "Authorization header", /^There is no Authorization header\.$/);
    await fails({ headers: { authorization: ["Bearer a", "Bearer b"] } }, "Authorization header", /occurs 2 times/);
    await fails({ headers: { authorization: "Digest abc" } }, "Authorization header", /must begin with “Bearer ” or “Basic ”/);
  });

  test("is refused before any key is looked at unless it is RS256 and names no key of its own", async () => {
    for (const alg of ["none", "HS256", "ES256"]) {
      const of = await fails(bearer({ header: { alg } }), "The token can be read", new RegExp(`signed with “${alg}”. Only RS256`));
      assert.equal(of("Certificate").state, "not made");
    }
    for (const name of ["jwk", "jku", "x5u", "x5c", "crit", "b64"]) await fails(bearer({ header: { [name]: "x" } }), "The token can be read", new RegExp(`“${name}”`));
    await fails(bearer({ header: { typ: undefined } }), "The token can be read", /not “JWT”/);
    await fails({ headers: { authorization: "Bearer abc.def" } }, "The token can be read", /three parts/);
    await fails({ headers: { authorization: `Bearer ${"a".repeat(9000)}` } }, "The token can be read", /longer than 8,192/);
  });

  test("is left open when it was left out of what was copied", async () => {
    const { of } = await checked({ headers: { authorization: "Bearer …" } });
    assert.deepEqual(of("The token can be read"), { title: "The token can be read", state: "open", detail: "The token was left out here. Paste it as your receiver got it." });
    assert.equal(of("Signature of the data").state, "pass", "the other checks are made");
  });

  test("needs the certificate of its key", async () => {
    for (const kid of ["key-2", "__proto__", "toString"]) await fails(bearer({ header: { kid } }), "Certificate", /None of the 1 certificates/);
    await fails({ known: { certificates: "nonsense" } }, "Certificate", /must be a JSON object/);
    await fails({ known: { certificates: '{"key-1":"-----BEGIN CERTIFICATE-----\\nAAAA\\n-----END CERTIFICATE-----"}' } }, "Certificate", /cannot be read/);
    await fails({ known: { certificates: published(identity("key-1", { newkey: ["ed25519"] })) } }, "Certificate", /no RSA key/);
    for (const days of [-1, 31]) await fails({ now: NOW + days * DAY_MS }, "Certificate", /^The certificate of this key is only valid from /);
  });

  test("must be signed by the key of the certificate, with at least 2,048 bits", async () => {
    await fails(bearer({ key: identity("key-1").key }), "Signature of the token", /does not match the certificate/);
    const [header, , signature] = token().split(".");
    const changed = [header, part({ ...CLAIMS, aud: "https://other.example" }), signature].join(".");
    await fails({ headers: { authorization: `Bearer ${changed}` } }, "Signature of the token", /does not match/);
    const short = identity("key-1", { newkey: ["rsa:1024"] });
    await fails({ ...bearer({ key: short.key }), known: { certificates: published(short) } }, "Signature of the token", /1,024 bits/);
  });

  test("must be for this endpoint, from this sender and issuer, and not have expired", async () => {
    await fails({ known: { audience: "https://other.example" } }, "Audience", /^The token says “https:\/\/erp\.example\/hook”\.$/);
    await fails({ known: { audience: "https://ERP.example/hook/" } }, "Audience", /only in capital letters or in the slash/);
    await fails(bearer({ claims: { aud: [CLAIMS.aud] } }), "Audience", /which is not text/);
    await fails({ known: { email: "someone@else.example" } }, "Sender’s e-mail", /dispatcher@tillgate\.example/);
    await fails(bearer({ claims: { email_verified: "true" } }), "Sender’s e-mail", /does not say that the e-mail is verified/);
    await fails(bearer({ claims: { iss: undefined } }), "Issuer", /does not have it/);
    await fails({ now: NOW + 3_600_000 }, "Time", /^Expired 10 minutes ago/);
    await fails(bearer({ claims: { exp: undefined } }), "Time", /does not say when it expires/);
    await fails(bearer({ claims: { iat: NOW / 1000 + 301 } }), "Time", /^Valid only from .* One of the clocks is wrong\.$/);
  });
});

describe("the user name and the password", () => {
  const basic = (text) => ({ authorization: `Basic ${Buffer.from(text).toString("base64")}` });
  const known = { username: "erp", password: "p:ä" };

  test("are compared, and the password may have a colon", async () => {
    const title = "User name and password";
    assert.equal((await checked({ headers: basic("erp:p:ä"), known })).of(title).state, "pass");
    assert.equal((await checked({ headers: basic("erp:p"), known })).of(title).detail, "The password is different.");
    assert.equal((await checked({ headers: basic("other:p:ä"), known })).of(title).detail, "The user name is “other”.");
    assert.equal((await checked({ headers: basic("erp:p:ä") })).of(title).state, "open");
    assert.match((await checked({ headers: { authorization: "Basic …" }, known })).of(title).detail, /were left out/);
    assert.match((await checked({ headers: basic("nothing"), known })).of(title).detail, /cannot be read/);
  });
});

describe("the signatures", () => {
  test("do not match another key or changed content, and say which", async () => {
    const other = await checked({ known: { sharedKey: "another key of 16" } });
    assert.match(other.of("Signature of the data").detail, /the shared key is different, or the content is not exactly/);
    assert.equal(other.verdict.text, "A receiver rejects this. What fails: signature of the data.");
    const formatted = await checked({ body: JSON.stringify(JSON.parse(BODY), null, 2) });
    assert.equal(formatted.of("Signature of the data").state, "pass", "it covers the data alone");
    assert.match(formatted.of("Signature of the whole body").detail, /may have been formatted/);
  });

  test("of the body are rejected when they are old or from the future", async () => {
    const later = await checked({ now: NOW + 600_000 });
    assert.match(later.of("Signature of the whole body").detail, /^It matches, but was made 11 minutes ago\./);
    const earlier = await checked({ now: NOW - 600_000 });
    assert.match(earlier.of("Signature of the whole body").detail, /in the future\. One of the clocks is wrong/);
  });

  test("may come under another header, and the body’s may be missing", async () => {
    const renamed = { "x-service-signature": undefined, "x-shop-signature": hmac(data), "x-service-body-signature": undefined };
    const { of } = await checked({ headers: renamed, known: { signatureHeader: "X-Shop-Signature" } });
    assert.equal(of("Signature of the data").state, "pass");
    assert.equal(of("Signature of the whole body").state, "open");
    const missing = await checked({ headers: { "x-service-signature": undefined } });
    assert.deepEqual([missing.of("Signature of the data").state, missing.of("Signature of the data").detail], ["fail", "There is no X-Service-Signature header."]);
  });

  test("are explained when the key or the header cannot be one", async () => {
    assert.match((await checked({ known: { sharedKey: "short" } })).of("Signature of the data").detail, /16 to 128/);
    assert.match((await checked({ known: { sharedKey: ` ${SHARED_KEY}` } })).of("Signature of the data").detail, /without the spaces around/);
    assert.match((await checked({ headers: { "x-service-signature": hmac(data).toUpperCase() } })).of("Signature of the data").detail, /must read HS256=/);
  });

  test("of Standard Webhooks are enough, under the shared key or its secret", async () => {
    const alone = { ...standard(), "x-service-signature": undefined, "x-service-body-signature": undefined };
    for (const sharedKey of [SHARED_KEY, `whsec_${btoa(SHARED_KEY)}`]) {
      const { checks, of, verdict } = await checked({ headers: alone, known: { sharedKey } });
      assert.deepEqual(checks.slice(-2).map(({ title }) => title), ["Envelope", "Signature of Standard Webhooks"]);
      assert.equal(of("Signature of Standard Webhooks").detail, "It matches, and was made 60 seconds ago.");
      assert.equal(verdict.text, "Every check passes.");
    }
    const open = await checked({ headers: alone, known: { sharedKey: undefined } });
    assert.equal(open.of("Signature of Standard Webhooks").detail, "Enter the shared key.");
    const all = await checked({ headers: standard() });
    assert.deepEqual(all.checks.slice(-3).map(({ title, state }) => `${title}: ${state}`), ["Signature of Standard Webhooks: pass", "Signature of the data: pass", "Signature of the whole body: pass"]);
  });

  test("of Standard Webhooks decide: the others hold the old key while it is replaced", async () => {
    const key = "the key that replaces it";
    const signed = standard()["webhook-signature"];
    const both = `${standard(key)["webhook-signature"]} ${signed}`;
    const { of, verdict } = await checked({ headers: { ...standard(), "webhook-signature": both }, known: { sharedKey: key } });
    assert.equal(of("Signature of Standard Webhooks").state, "pass");
    assert.equal(of("Signature of the data").state, "open");
    assert.match(of("Signature of the data").detail, /made with the old one\.$/);
    assert.equal(verdict.state, "open");
  });

  test("of Standard Webhooks are rejected when they do not match, are incomplete or are old", async () => {
    const title = "Signature of Standard Webhooks";
    const fails = async (options, detail) => {
      const { of, verdict } = await checked({ ...options, headers: { ...standard(), ...options.headers } });
      assert.match(of(title).detail, detail);
      assert.equal(verdict.text, "A receiver rejects this. What fails: signature of Standard Webhooks.");
    };
    await fails({ known: { sharedKey: "another key of 16" } }, /the shared key is different/);
    await fails({ headers: { "webhook-id": "event-2" } }, /^It does not match\./);
    await fails({ headers: { "webhook-timestamp": undefined } }, /^There is no webhook-timestamp header\.$/);
    await fails({ headers: { "webhook-signature": ["v1,a", "v1,b"] } }, /occurs 2 times/);
    await fails({ headers: { "webhook-signature": "HS256=00" } }, /v1, and base64/);
    const later = await checked({ headers: standard(), now: NOW + 600_000 });
    assert.match(later.of(title).detail, /^It matches, but was made 11 minutes ago\./);
  });

  test("need an envelope", async () => {
    assert.equal((await checked({ body: "" })).of("Envelope").state, "open");
    assert.equal((await checked({ body: "[]" })).of("Envelope").detail, "The body is not a JSON object.");
    assert.equal((await checked({ body: "{}" })).of("Envelope").detail, "The body has no id and no data.");
    assert.match((await checked({ body: BODY.replace('{"id"', '{"id":"other","id"') })).of("Envelope").detail, /a member occurs twice/);
  });
});

describe("what is pasted and copied", () => {
  test("the text of a request is taken apart, and what is not a header is told", () => {
    const { head, body } = splitRequest("POST /hook HTTP/1.1\r\nHost: erp.example\r\nX-A: 1\r\nX-A: 2\r\n\r\n{\"id\":1}\r\n");
    assert.equal(body, '{"id":1}');
    const { headers, unread } = readHeaders(`${head}\r\nnot a header`);
    assert.deepEqual([...headers], [["host", ["erp.example"]], ["x-a", ["1", "2"]]]);
    assert.deepEqual(unread, ["not a header"]);
    assert.equal(splitRequest("X-A: 1\n\n").body, undefined);
  });

  test("data is shown with line breaks, and its numbers as they were sent", () => {
    const encoded = (text) => ({ data: Buffer.from(text).toString("base64"), dataencoding: "base64" });
    assert.equal(dataText(encoded('{"a":[1.10,{}],"b":"x: {, ü","c":12345678901234567890}')), '{\n  "a": [\n    1.10,\n    {}\n  ],\n  "b": "x: {, ü",\n  "c": 12345678901234567890\n}');
    assert.equal(dataText(encoded("plain text")), "plain text");
    assert.equal(dataText({ data: "%%%", dataencoding: "base64" }), undefined);
  });

  test("curl sends what was sent, whatever it holds, with places for secrets", () => {
    const request = { method: "POST", url: "https://erp.example/hook?a='b'", headers: { authorization: "Bearer …", "x-a": "it's", "content-length": "5" }, body: `{"a":"it's $HOME"}` };
    assert.equal(
      curlOf(request),
      [
        `curl --globoff --request POST 'https://erp.example/hook?a='\\''b'\\'''`,
        `--header "authorization: Bearer $TOKEN"`,
        `--header 'x-a: it'\\''s'`,
        `--data-raw '{"a":"it'\\''s $HOME"}'`,
      ].join(" \\\n  "),
    );
    assert.match(curlOf({ ...request, headers: { Authorization: "Basic …" } }), /"Authorization: Basic \$CREDENTIALS"/);
  });

  test("curl takes nothing of a request for a pattern or the name of a file", async () => {
    const endpoint = await receiver();
    try {
      const [path, body] = ["/hook?ids=[1-2]&of={a,b}", "@package.json"];
      await promisify(execFile)("bash", ["-c", curlOf({ url: `${endpoint.url}${path}`, headers: {}, body })], { timeout: DEADLINE_MS });
      assert.deepEqual(endpoint.got.map((each) => [each.head.split("\n")[0], each.body]), [[`POST ${path} HTTP/1.1`, body]]);
    } finally {
      endpoint.end();
    }
  });
});
