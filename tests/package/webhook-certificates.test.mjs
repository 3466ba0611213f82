// The certificates of `tillgate/webhook`: when they are fetched, how long they are kept, and the behavior if the address
// cannot be reached or answers nonsense.

import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { after, before, beforeEach, describe, mock, test } from "node:test";

import { parseCertificate } from "../../js/src/webhook/certificate.js";
import { WebhookVerifier } from "../../js/src/runtime/webhook.node.js";
import { within } from "../support/wait.mjs";
import { CALLBACK_URL, EMAIL, ISSUER, certificateServer, delivery, identity, publish, token } from "../support/webhook-sender.mjs";

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

let ours;
let next;
let late;
let elliptic;
let server;
let now;
const servers = [];

before(() => {
  ours = identity("k-1");
  next = identity("k-2");
  late = identity("k-late", { days: 365 * 60 });
  elliptic = identity("k-ec", { newkey: ["ec", "-pkeyopt", "ec_paramgen_curve:P-256"] });
});
beforeEach(async () => {
  now = Date.now();
  server = await certificateServer([ours]);
  servers.push(server);
});
after(() => servers.forEach(({ end }) => end()));

const verifier = (options) =>
  new WebhookVerifier({
    scheme: "BEARER",
    audience: CALLBACK_URL,
    email: EMAIL,
    issuer: ISSUER,
    certificatesUrl: server.url,
    now: () => now,
    ...options,
  });

let tokens = 0;

/** A delivery with its own token, so that none was accepted before. */
const by = (identity, header) => delivery({ authorization: `Bearer ${token(identity, { header, now, claims: { jti: String((tokens += 1)) } })}` });

/** The code of the error for a refused delivery; "accepted" without one. */
const outcome = (receiver, request) => receiver.verify(request).then(() => "accepted", ({ code }) => code);

const fail = (response) => response.writeHead(503).end();

describe("certificates are fetched", () => {
  test("once for many deliveries that arrive together", async () => {
    const receiver = verifier();
    const outcomes = await Promise.all(Array.from({ length: 50 }, () => outcome(receiver, by(ours))));
    assert.deepEqual([new Set(outcomes), server.asked], [new Set(["accepted"]), 1]);
  });

  test("once for 1,000 unknown ids, and again for one after 30 seconds", async () => {
    const receiver = verifier();
    const request = (at) => outcome(receiver, by(ours, { kid: `k-${at}x` }));
    const outcomes = [...(await Promise.all(Array.from({ length: 500 }, (_, at) => request(at))))];
    for (let at = 500; at < 1000; at += 1) outcomes.push(await request(at));
    assert.deepEqual([new Set(outcomes), server.asked], [new Set(["unknown_kid"]), 1]);
    assert.equal(await outcome(receiver, by(ours)), "accepted");
    now += 29_999;
    assert.equal(await request(1), "unknown_kid");
    assert.equal(server.asked, 1);
    now += 1;
    assert.equal(await request(2), "unknown_kid");
    assert.equal(server.asked, 2);
  });

  test("again after their max-age", async () => {
    const receiver = verifier();
    await receiver.verify(by(ours));
    now += 47 * MINUTE_MS;
    await receiver.verify(by(ours));
    assert.equal(server.asked, 1);
    now += 13 * MINUTE_MS;
    await receiver.verify(by(ours));
    assert.equal(server.asked, 2);
  });

  test("before their max-age is over, without a delivery that waits for them", async () => {
    const receiver = verifier();
    await receiver.verify(by(ours));
    let release;
    const released = new Promise((resolve) => (release = resolve));
    server.answer = (response) => released.then(() => publish([ours, next])(response));
    now += 49 * MINUTE_MS;
    await receiver.verify(by(ours));
    release();
    assert.equal(await outcome(receiver, by(next)), "accepted");
    assert.equal(server.asked, 2);
  });

  test("for a new id, so that a rotated key is accepted at once", async () => {
    const receiver = verifier();
    await receiver.verify(by(ours));
    server.answer = publish([ours, next]);
    now += 31 * SECOND_MS;
    assert.equal(await outcome(receiver, by(next)), "accepted");
    assert.equal(await outcome(receiver, by(ours)), "accepted");
    assert.equal(server.asked, 2);
  });

  test("not for a token with another algorithm or without an id", async () => {
    const receiver = verifier();
    for (const header of [{ alg: "none" }, { kid: undefined }, { crit: ["exp"] }, { typ: "at+jwt" }]) await outcome(receiver, by(ours, header));
    assert.equal(server.asked, 0);
  });

  test("again when the clock was set back", async () => {
    const receiver = verifier();
    await receiver.verify(by(ours));
    now -= 2 * MINUTE_MS;
    await receiver.verify(by(ours));
    assert.equal(server.asked, 2);
  });

  for (const [name, headers, ageMs] of [
    ["an hour without a max-age", {}, HOUR_MS],
    ["five minutes if it is shorter", { "Cache-Control": "max-age=1" }, 5 * MINUTE_MS],
    ["five minutes if they must not be kept", { "Cache-Control": "no-store, max-age=0" }, 5 * MINUTE_MS],
    ["a day if it is longer", { "Cache-Control": "public,max-age=999999999" }, 24 * HOUR_MS],
    ["less what a cache on the way has used of it", { "Cache-Control": "max-age=3600", Age: "1800" }, 30 * MINUTE_MS],
  ]) {
    test(`and kept for ${name}`, async () => {
      server.answer = publish([ours], headers);
      const receiver = verifier();
      const start = now;
      await receiver.verify(by(ours));
      now = start + ageMs * 0.79;
      await receiver.verify(by(ours));
      assert.equal(server.asked, 1);
      now = start + ageMs;
      await receiver.verify(by(ours));
      assert.equal(server.asked, 2);
    });
  }

  test("with keys until after 2049", async () => {
    server.answer = publish([late]);
    assert.equal(await outcome(verifier(), by(late)), "accepted");
  });
});

describe("while the address is down", () => {
  test("known certificates are used for a day longer", async () => {
    const receiver = verifier();
    const start = now;
    await receiver.verify(by(ours));
    server.answer = fail;
    now = start + 25 * HOUR_MS - 1;
    assert.equal(await outcome(receiver, by(ours)), "accepted");
    now = start + 25 * HOUR_MS;
    assert.equal(await outcome(receiver, by(ours)), "certificates_unavailable");
  });

  test("a delivery cannot be verified now, which is not a rejection", async () => {
    server.answer = fail;
    const receiver = verifier();
    await assert.rejects(receiver.verify(by(ours)), { name: "WebhookError", code: "certificates_unavailable", status: 503, retryAfterMs: 30_000 });
    now += 20 * SECOND_MS;
    await assert.rejects(receiver.verify(by(ours)), { status: 503, retryAfterMs: 10_000 });
  });

  test("an unknown id may be a new one, so it is not rejected either", async () => {
    const receiver = verifier();
    await receiver.verify(by(ours));
    server.answer = fail;
    now += MINUTE_MS;
    assert.equal(await outcome(receiver, by(next)), "certificates_unavailable");
    assert.equal(await outcome(receiver, by(ours)), "accepted");
  });

  test("it is asked once in 30 seconds, counted from the last attempt", async () => {
    server.answer = fail;
    const receiver = verifier();
    for (let at = 0; at < 50; at += 1) assert.equal(await outcome(receiver, by(ours)), "certificates_unavailable");
    assert.equal(server.asked, 1);
    now += 30 * SECOND_MS;
    server.answer = publish([ours]);
    assert.equal(await outcome(receiver, by(ours)), "accepted");
    assert.equal(server.asked, 2);
  });

  test("a delivery waits for it once, not every time", { timeout: 30_000 }, async () => {
    let fetch = globalThis.fetch;
    const receiver = verifier({ fetch: (...request) => fetch(...request) });
    await receiver.verify(by(ours));
    fetch = () => Promise.reject(new Error("refused"));
    now += 2 * HOUR_MS;
    assert.equal(await outcome(receiver, by(ours)), "accepted");
    // From here on it does not answer, and the timeout never ends.
    const hangs = mock.fn(() => new Promise(() => {}));
    fetch = hangs;
    mock.timers.enable({ apis: ["setTimeout"] });
    try {
      now += 31 * SECOND_MS;
      assert.equal(await outcome(receiver, by(ours)), "accepted");
      // It is not asked again during a request either, even if the clock is set forward.
      now += 31 * SECOND_MS;
      assert.equal(await outcome(receiver, by(ours)), "accepted");
      assert.equal(hangs.mock.callCount(), 1);
    } finally {
      mock.timers.reset();
    }
  });

  test("a remembered token is accepted", async () => {
    const receiver = verifier();
    const request = by(ours);
    await receiver.verify(request);
    server.answer = fail;
    now += 59 * MINUTE_MS;
    assert.equal(await outcome(receiver, request), "accepted");
    assert.equal(server.asked, 1);
  });

  test("waiting ends after five seconds", async () => {
    let asked;
    let signal;
    const hangs = new Promise((resolve) => (asked = resolve));
    const fetch = (_, options) => {
      ({ signal } = options);
      asked();
      return new Promise(() => {});
    };
    mock.timers.enable({ apis: ["setTimeout"] });
    try {
      const refused = assert.rejects(verifier({ fetch }).verify(by(ours)), { code: "certificates_unavailable" });
      await within(hangs, "the certificates are asked for");
      mock.timers.tick(5000);
      await within(refused, "the refusal after five seconds");
      assert.equal(signal.aborted, true);
    } finally {
      mock.timers.reset();
    }
  });
});

describe("an answer does not replace the certificates", () => {
  const NONSENSE = [
    ["that is not JSON", (response) => response.end("<html>")],
    ["that is null", (response) => response.end("null")],
    ["without certificates", (response) => response.end("{}")],
    ["with certificates that cannot be read", (response) => response.end(JSON.stringify({ "k-1": "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----" }))],
    ["that is cut off", (response) => (response.writeHead(200, { "Content-Length": 100 }).write("{"), response.destroy())],
    ["that redirects", (response) => response.writeHead(302, { Location: server.url.replace("certs", "other") }).end()],
    ["with another status", (response) => response.writeHead(201).end(JSON.stringify({ "k-1": next.pem }))],
    ["that is larger than 256 KiB", (response) => response.end(JSON.stringify({ "k-1": next.pem, padding: "a".repeat(256 * 1024) }))],
  ];
  for (const [name, answer] of NONSENSE) {
    test(name, async () => {
      const receiver = verifier();
      await receiver.verify(by(ours));
      server.answer = answer;
      now += 2 * HOUR_MS;
      assert.equal(await outcome(receiver, by(ours)), "accepted");
      assert.equal(server.asked, 2);
      assert.equal(await outcome(receiver, by(next)), "certificates_unavailable");
    });
  }

  test("but one without a certificate withdraws it", async () => {
    const receiver = verifier();
    await receiver.verify(by(ours));
    server.answer = publish([next]);
    now += HOUR_MS;
    assert.equal(await outcome(receiver, by(next)), "accepted");
    assert.equal(await outcome(receiver, by(ours)), "unknown_kid");
  });

  test("and what cannot be read does not affect the others", async () => {
    const odd = [
      { kid: "k-text", pem: "text" },
      { kid: "k-number", pem: 1 },
      { kid: "k-null", pem: null },
      { kid: "k-cut", pem: ours.pem.replace(/\n.{40}/, "\n") },
      { kid: "k-key", pem: "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----" },
    ];
    server.answer = publish([...odd, elliptic, { kid: "__proto__", pem: next.pem }, ours]);
    const receiver = verifier();
    assert.equal(await outcome(receiver, by(ours)), "accepted");
    for (const { kid } of [...odd, elliptic]) assert.equal(await outcome(receiver, by(ours, { kid })), "unknown_kid");
    assert.equal(server.asked, 1);
  });
});

test("a certificate has the key and the times that Node reads", () => {
  for (const { pem } of [ours, late]) {
    const node = new X509Certificate(pem);
    const { publicKey, notBefore, notAfter } = parseCertificate(pem);
    assert.deepEqual(Buffer.from(publicKey), node.publicKey.export({ type: "spki", format: "der" }));
    assert.deepEqual([notBefore, notAfter], [Date.parse(node.validFrom), Date.parse(node.validTo)]);
  }
});

test("a certificate that is cut off anywhere is not one, and none is an exception", () => {
  const der = Buffer.from(ours.pem.replace(/-----.*-----|\s/g, ""), "base64");
  const asPem = (bytes) => `-----BEGIN CERTIFICATE-----\n${bytes.toString("base64")}\n-----END CERTIFICATE-----`;
  const { notBefore, notAfter, bits } = parseCertificate(asPem(der));
  assert.deepEqual([notAfter - notBefore, bits], [30 * 24 * HOUR_MS, 2048]);
  for (let length = 0; length < der.length; length += 1) assert.equal(parseCertificate(asPem(der.subarray(0, length))), undefined);
  for (let at = 0; at < der.length; at += 1) {
    const changed = Buffer.from(der);
    changed[at] ^= 0xff;
    parseCertificate(asPem(changed));
  }
});
