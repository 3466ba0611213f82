// The receivers in `js/examples/receiver`, started as in their first lines, and those of the README, with a sender and its
// certificates.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";

import { FOLDER, startExample } from "../support/example-receiver.mjs";
import { ROOT, block } from "../support/packed.mjs";
import { ended, within } from "../support/wait.mjs";
import { CALLBACK_URL, EMAIL, ISSUER, SHARED_KEY, bodySignature, certificateServer, dataSignature, delivery, envelope, identity, token } from "../support/webhook-sender.mjs";

let sender;
let certificates;
const open = [];

before(async () => {
  sender = identity("k-1");
  certificates = await certificateServer([sender]);
});
after(() => {
  for (const receiver of open) receiver.kill("SIGKILL");
  certificates.end();
});

async function start(file, settings) {
  const started = await startExample(file, settings);
  open.push(started.process);
  return started;
}

const receiver = (settings, file = "receiver.js") =>
  start(file, { CALLBACK_URL, ISSUER, SENDER_EMAIL: EMAIL, CERTIFICATES_URL: certificates.url, SHARED_KEY, ...settings });

/** Sends a request and returns `{ status, headers }`. An array sends a header several times: `[value, value]`. */
function send(url, { headers, body, method = "POST", path = "/hook" }) {
  const answered = new Promise((resolve, reject) => {
    const sent = request(new URL(path, url), { method, headers }, (response) => {
      response.resume().on("end", () => resolve({ status: response.statusCode, headers: response.headers }));
    });
    sent.on("error", reject).end(body);
  });
  return within(answered, `the answer to ${method} ${path}`);
}

const signed = (id = "e-1") => delivery({ authorization: `Bearer ${token(sender)}`, event: envelope({ id }) });

describe("the receiver", () => {
  test("answers 204 and handles an event once, however often it is delivered", async () => {
    const { url, line } = await receiver();
    const answers = await Promise.all([signed(), signed(), signed()].map((made) => send(url, made)));
    assert.deepEqual(answers.map(({ status }) => status), [204, 204, 204]);
    assert.equal((await send(url, signed())).status, 204);
    assert.equal((await send(url, signed("e-2"))).status, 204);
    const handled = [await line(), await line()];
    assert.deepEqual(handled, ["e-1", "e-2"].map((id) => `entity-conditions.events.v1 ${id} {"action":"CREATED","id":"beer"}`));
  });

  test("rejects what is not from the sender, and logs why without the token", async () => {
    const { url, logged } = await receiver();
    const { headers, body } = signed();
    for (const [status, code, made] of [
      [401, "missing_token", { headers: { ...headers, authorization: [] }, body }],
      [401, "signature_mismatch", delivery({ authorization: headers.authorization, key: "another shared key" })],
      [401, "missing_body_signature", { headers: { ...headers, "x-service-body-signature": [] }, body }],
      [400, "duplicate_header", { headers: { ...headers, authorization: [headers.authorization, headers.authorization] }, body }],
      [400, "malformed_body", { headers, body: "{" }],
    ]) {
      const answer = await send(url, made);
      assert.equal(answer.status, status, code);
      assert.equal(await logged(), `refused with ${status}: ${code}`);
    }
  });

  test("answers 413, 404 and 405", async () => {
    const { url } = await receiver();
    const { headers, body } = signed();
    assert.equal((await send(url, { headers, body: Buffer.alloc(1024 * 1024 + 1) })).status, 413);
    assert.equal((await send(url, { headers, body, path: "/other" })).status, 404);
    const answer = await send(url, { method: "GET" });
    assert.deepEqual([answer.status, answer.headers.allow], [405, "POST"]);
  });

  test("answers 503 while the certificates cannot be fetched, so that the sender tries again", async () => {
    const { url, logged } = await receiver({ CERTIFICATES_URL: "http://127.0.0.1:1/certs" });
    const { status, headers } = await send(url, signed());
    assert.equal(status, 503);
    assert.ok(Number(headers["retry-after"]) > 0 && Number(headers["retry-after"]) <= 30);
    assert.equal(await logged(), "refused with 503: certificates_unavailable");
  });

  test("does not start without its shared key", async () => {
    const started = spawn(process.execPath, [`${FOLDER}receiver.js`], { env: { PATH: process.env.PATH, CALLBACK_URL, ISSUER, SENDER_EMAIL: EMAIL, CERTIFICATES_URL: certificates.url }, stdio: "ignore" });
    open.push(started);
    assert.equal(await ended(started, "the end of a receiver without its shared key"), 1);
  });

  test("answers what it has begun when it is stopped", async () => {
    const { url, line, process: program } = await receiver();
    const { headers, body } = signed();
    let sent;
    const answered = new Promise((resolve, reject) => {
      sent = request(new URL("/hook", url), { method: "POST", headers: { ...headers, "content-length": body.length, expect: "100-continue" } }, resolve);
      sent.on("error", reject);
    });
    // The receiver has read the headers once it asks for the body.
    await within(new Promise((resolve) => sent.once("continue", resolve).flushHeaders()), "the receiver asks for the body");
    program.kill("SIGTERM");
    sent.end(body);
    assert.equal((await within(answered, "the answer to what was begun")).resume().statusCode, 204);
    assert.match(await line(), / e-1 /);
    assert.equal(await ended(program, "the end of the receiver"), 0);
  });
});

/** The earlier parts of the README, as one program. */
const BEFORE = `
  import { WebhookError, WebhookVerifier } from "tillgate/webhook";
  const { CALLBACK_URL, ISSUER, SENDER_EMAIL, CERTIFICATES_URL, SHARED_KEY } = process.env;
  const verifier = new WebhookVerifier({
    scheme: "BEARER", audience: CALLBACK_URL, issuer: ISSUER, email: SENDER_EMAIL, certificatesUrl: CERTIFICATES_URL,
    sharedKey: SHARED_KEY, requireBodySignature: true,
  });
  const handle = async ({ id, data }) => console.log(id, JSON.stringify(data));
`;

/** The listening code for each framework with a receiver in the README. */
const FRAMEWORKS = {
  express: 'const server = app.listen(0, "127.0.0.1", () => console.log(`listening on http://127.0.0.1:${server.address().port}`));',
  fastify: 'console.log(`listening on ${await app.listen({ port: 0, host: "127.0.0.1" })}`);',
};

for (const [framework, listen] of Object.entries(FRAMEWORKS)) {
  describe(`the receiver with ${framework}, as the README has it`, () => {
    let folder;
    before(() => {
      folder = mkdtempSync(join(tmpdir(), "tillgate-receiver-"));
      mkdirSync(join(folder, "node_modules"));
      symlinkSync(`${ROOT}/js`, join(folder, "node_modules/tillgate"));
      symlinkSync(`${ROOT}/tests/node_modules/${framework}`, join(folder, `node_modules/${framework}`));
      writeFileSync(join(folder, "receiver.mjs"), `${BEFORE}${block("js", `from "${framework}"`)}${listen}`);
    });
    after(() => rmSync(folder, { recursive: true }));

    const started = (settings) => receiver(settings, join(folder, "receiver.mjs"));

    test("accepts what is signed, byte for byte, and handles it", async () => {
      const { url, line } = await started();
      const event = envelope();
      const { headers } = delivery({ authorization: `Bearer ${token(sender)}`, event });
      const body = JSON.stringify(event, undefined, 4);
      const t = Math.floor(Date.now() / 1000);
      const answer = await send(url, { headers: { ...headers, "x-service-body-signature": bodySignature({ t, body }) }, body });
      assert.equal(answer.status, 204);
      assert.equal(await line(), 'e-1 {"action":"CREATED","id":"beer"}');
    });

    test("refuses what is not, and what is too large, of any type", async () => {
      const { url } = await started();
      const { headers, body } = signed();
      const status = async (made) => (await send(url, made)).status;
      assert.equal(await status({ headers: { ...headers, authorization: [] }, body }), 401);
      assert.equal(await status({ headers, body: `${body} ` }), 401);
      assert.equal(await status({ headers, body: "{" }), 400);
      assert.equal(await status({ headers: { ...headers, "content-type": "text/plain" }, body }), 204);
      assert.equal(await status({ headers: {} }), 401);
      assert.equal(await status({ headers, body: Buffer.alloc(1024 * 1024 + 1) }), 413);
    });

    test("answers 503 while the certificates cannot be fetched, and when to try again", async () => {
      const { url } = await started({ CERTIFICATES_URL: "http://127.0.0.1:1/certs" });
      const { status, headers } = await send(url, signed());
      assert.equal(status, 503);
      assert.ok(Number(headers["retry-after"]) > 0 && Number(headers["retry-after"]) <= 30);
    });
  });
}

describe("the receiver without this package", () => {
  test("accepts what is signed in its own header, and nothing else", async () => {
    const { url, line } = await start("plain.js", { SHARED_KEY, SIGNATURE_HEADER: "X-Existing-Signature" });
    const event = envelope();
    const body = JSON.stringify(event);
    const status = async (headers, sent = body) => (await send(url, { headers, body: sent, path: "/" })).status;
    const signature = dataSignature(event.data);
    assert.equal(await status({ "X-Existing-Signature": signature }), 204);
    assert.equal(await line(), 'entity-conditions.events.v1 e-1 {"action":"CREATED","id":"beer"}');
    assert.equal(await status({ "X-Service-Signature": signature }), 401);
    assert.equal(await status({ "X-Existing-Signature": dataSignature(event.data, "another shared key") }), 401);
    assert.equal(await status({ "X-Existing-Signature": signature }, JSON.stringify(envelope({ data: "e30=" }))), 401);
    assert.equal(await status({ "X-Existing-Signature": signature }, "{"), 400);
  });
});
