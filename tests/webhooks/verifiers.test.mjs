// The usual verifiers of receivers accept deliveries of the real program: Google's and other JWT libraries, in JavaScript and
// Python, the receivers of `js/examples/receiver` and `host/docs/receivers.md`, and a comparison of a username and a password.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createHmac } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";

import { OAuth2Client } from "google-auth-library";
import * as jose from "jose";

import { WebhookVerifier } from "../../js/src/runtime/webhook.node.js";
import { startDocumented, startExample } from "../support/example-receiver.mjs";
import { within } from "../support/wait.mjs";
import { freePort } from "../support/port.mjs";
import { DATA, EMAIL, ISSUER, SIGNATURE_HEADERS, outcome, receiver, shop } from "../support/webhook-shop.mjs";

const SHARED_KEY = "a shared key of 31 characters ok";

let host;
const open = [];

before(async () => (host = await shop()));
after(async () => {
  for (const receiver of open) receiver.end();
  await host.end();
});

async function receive(answer) {
  const started = await receiver(answer);
  open.push(started);
  return started;
}

async function example(file, settings) {
  const started = await startExample(file, settings);
  open.push({ end: () => started.process.kill("SIGKILL") });
  return started;
}

/** Publishes an event and returns the result of its delivery to a webhook. */
const delivered = async (webhook) => host.attempted(webhook, await host.publish(webhook));

const tokenOf = ({ headers }) => headers.authorization.replace("Bearer ", "");

/** The verifiers of a token: each returns its claims, or throws. */
const LIBRARIES = {
  async "google-auth-library"(token, { certificates, audience, issuer }) {
    const ticket = await new OAuth2Client().verifySignedJwtWithCertsAsync(token, certificates, audience, [issuer]);
    return ticket.getPayload();
  },
  async jose(token, { certificates, audience, issuer }) {
    const { kid } = jose.decodeProtectedHeader(token);
    const key = await jose.importX509(certificates[kid], "RS256");
    return (await jose.jwtVerify(token, key, { audience, issuer, algorithms: ["RS256"] })).payload;
  },
  async PyJWT(token, expected) {
    const program = fileURLToPath(new URL("../support/verify_bearer.py", import.meta.url));
    const python = spawn(process.env.PYTHON, [program]);
    python.stdin.end(JSON.stringify({ token, ...expected }));
    const printed = Promise.all([text(python.stdout), text(python.stderr)]);
    const [claims, refused] = await within(printed, "what PyJWT says of a token");
    if (refused) throw new Error(refused);
    return JSON.parse(claims);
  },
};

/** A token with another character in the middle of one of its three parts. */
function changed(token, part) {
  const parts = token.split(".");
  const middle = Math.floor(parts[part].length / 2);
  const other = parts[part][middle] === "A" ? "B" : "A";
  parts[part] = parts[part].slice(0, middle) + other + parts[part].slice(middle + 1);
  return parts.join(".");
}

for (const [name, verify] of Object.entries(LIBRARIES)) {
  const skip = name === "PyJWT" && !process.env.PYTHON && "PYTHON is not set to a Python with PyJWT";
  describe(name, { skip }, () => {
    /** A receiver that expects tokens for its own address, or another, and keeps their claims. */
    const verifying = async (audienceOf = (url) => url) => {
      const claims = [];
      const certificates = await host.certificates();
      const expected = () => ({ certificates, audience: audienceOf(started.url), issuer: ISSUER });
      const check = (token) => verify(token, expected());
      const started = await receive(async (request) => {
        try {
          const accepted = await check(tokenOf(request));
          claims.push(accepted);
          return accepted.email === EMAIL && accepted.email_verified === true ? 204 : 401;
        } catch {
          return 401;
        }
      });
      return { ...started, claims, check };
    };

    test("accepts a delivery", async () => {
      const { url, claims } = await verifying();
      assert.deepEqual(outcome(await delivered(await host.webhook(url))), ["DELIVERED", 204]);
      const [{ iat, exp, azp, sub, ...rest }] = claims;
      assert.deepEqual(rest, { aud: url, email: EMAIL, email_verified: true, iss: ISSUER });
      assert.deepEqual([exp - iat, azp], [3600, sub]);
      assert.match(sub, /^\d+$/);
    });

    test("refuses a token for another address", async () => {
      const { url, claims } = await verifying((url) => `${url}/other`);
      assert.deepEqual(outcome(await delivered(await host.webhook(url))), ["RETRYING", 401]);
      assert.deepEqual(claims, []);
    });

    test("refuses a token of which a byte was changed", async () => {
      const { url, received, check } = await verifying();
      await delivered(await host.webhook(url));
      const token = tokenOf(received[0]);
      await check(token);
      for (const part of [0, 1, 2]) await assert.rejects(check(changed(token, part)), undefined, `part ${part}`);
    });
  });
}

/** Sends an event twice to a receiver, and then another one: it prints each once. */
async function handlesOnce(received) {
  const { line, webhook } = await received();
  const [type] = webhook.eventTypes;
  const event = await host.publish(webhook);
  const delivery = await host.attempted(webhook, event);
  assert.deepEqual(outcome(delivery), ["DELIVERED", 204]);
  assert.equal(await line(), `${type} ${event.id} ${JSON.stringify(DATA)}`);
  await host.asked(202, "POST", `/api/v1/deliveries/${delivery.id}/replay`);
  await host.attempted(webhook, event, 2);
  const next = await host.publish(webhook);
  assert.equal(await line(), `${type} ${next.id} ${JSON.stringify(DATA)}`);
}

describe("the receiver of the package", () => {
  /** Starts it, and a webhook that delivers to it. */
  async function received(settings) {
    const url = `http://127.0.0.1:${await freePort()}/hook`;
    const certificates = `${host.url}/oauth2/v1/certs`;
    const started = await example("receiver.js", {
      PORT: new URL(url).port,
      CALLBACK_URL: url,
      ISSUER,
      SENDER_EMAIL: EMAIL,
      CERTIFICATES_URL: certificates,
      SHARED_KEY,
      ...settings,
    });
    return { ...started, webhook: await host.webhook(url, { sharedKey: SHARED_KEY }) };
  }

  test("accepts a delivery, and handles an event that is sent again once", () => handlesOnce(received));

  test("accepts a test event, and one whose data is text", async () => {
    const { line, webhook } = await received();
    const { id } = await host.asked(202, "POST", `/api/v1/webhooks/${webhook.id}/ping`);
    assert.match(await line(), new RegExp(`^exe\\.events\\.v1 ${id} \\{`));
    const event = await host.publish(webhook, { datacontenttype: "text/plain", data: "line 1\nline 2" });
    assert.equal(await line(), `${webhook.eventTypes[0]} ${event.id} "line 1\\nline 2"`);
  });

  test("refuses a delivery that is signed with another shared key, and accepts it when it knows the key", async () => {
    const { logged, webhook } = await received();
    const { sharedKey } = await host.asked(200, "POST", `/api/v1/webhooks/${webhook.id}/shared-key`);
    assert.deepEqual(outcome(await delivered(webhook)), ["RETRYING", 401]);
    assert.equal(await logged(), "refused with 401: signature_mismatch");
    const informed = await received({ SHARED_KEY: sharedKey });
    await host.asked(200, "PUT", `/api/v1/webhooks/${informed.webhook.id}`, { ...informed.webhook, sharedKey });
    assert.deepEqual(outcome(await delivered(informed.webhook)), ["DELIVERED", 204]);
  });
});

describe("the receiver in Python of the documents", { skip: !process.env.PYTHON && "PYTHON is not set to a Python with PyJWT and standardwebhooks" }, () => {
  /** Starts it, and a webhook that delivers to it. `settings` are deliberate mistakes. */
  async function received(settings) {
    const url = `http://127.0.0.1:${await freePort()}/hook`;
    const webhook = await host.webhook(url, { sharedKey: "generate" });
    const right = {
      PORT: new URL(url).port,
      CALLBACK_URL: url,
      ISSUER,
      SENDER_EMAIL: EMAIL,
      CERTIFICATES_URL: `${host.url}/oauth2/v1/certs`,
      STANDARD_WEBHOOKS_SECRET: webhook.standardWebhooksSecret,
    };
    const started = await startDocumented("host/docs/receivers.md", "receiver.py", { ...right, ...settings });
    open.push({ end: () => started.process.kill("SIGKILL") });
    return { ...started, webhook };
  }

  test("accepts a delivery, and handles an event that is sent again once", () => handlesOnce(received));

  const another = `whsec_${Buffer.from(SHARED_KEY).toString("base64")}`;
  for (const [what, settings, status, why] of [
    ["for another address", { CALLBACK_URL: "https://erp.example/hook" }, 401, /^refused: InvalidAudienceError: /],
    ["of another issuer", { ISSUER: "https://identity.example" }, 401, /^refused: InvalidIssuerError: /],
    ["of another sender", { SENDER_EMAIL: "somebody@erp.example" }, 401, /^refused: InvalidTokenError: /],
    ["that is signed with another key", { STANDARD_WEBHOOKS_SECRET: another }, 401, /^refused: WebhookVerificationError: /],
    ["while there are no certificates", { CERTIFICATES_URL: "http://127.0.0.1:1/certs" }, 503, /^cannot be verified now: /],
  ]) {
    test(`refuses a delivery ${what}`, async () => {
      const { logged, webhook } = await received(settings);
      assert.deepEqual(outcome(await delivered(webhook)), ["RETRYING", status]);
      assert.match(await logged(), why);
    });
  }
});

describe("the receiver without the package", () => {
  test("accepts a delivery by the header of another name, which is configured for all webhooks", async () => {
    const { url, line } = await example("plain.js", { SHARED_KEY, SIGNATURE_HEADER: "X-Existing-Signature" });
    const webhook = await host.webhook(url, { sharedKey: SHARED_KEY });
    const event = await host.publish(webhook);
    assert.deepEqual(outcome(await host.attempted(webhook, event)), ["DELIVERED", 204]);
    assert.equal(await line(), `${webhook.eventTypes[0]} ${event.id} ${JSON.stringify(DATA)}`);
  });

  test("accepts a delivery by the header that its webhook names, and by no other", async () => {
    const { url } = await example("plain.js", { SHARED_KEY, SIGNATURE_HEADER: "X-Own-Signature" });
    const named = await host.webhook(url, { sharedKey: SHARED_KEY, signatureHeader: "X-Own-Signature" });
    assert.deepEqual(outcome(await delivered(named)), ["DELIVERED", 204]);
    const other = await host.webhook(url, { sharedKey: SHARED_KEY });
    assert.deepEqual(outcome(await delivered(other)), ["RETRYING", 401]);
  });
});

describe("a username and a password", () => {
  const CREDENTIALS = { username: "erp@till.example", password: "p:ß 漢 🛒" };
  const basic = { authentication: { type: "BASIC", ...CREDENTIALS } };

  test("are accepted by a receiver that compares them", async () => {
    const { url } = await receive(({ headers }) => {
      const [, credentials] = /^Basic (\S+)$/.exec(headers.authorization);
      const pair = Buffer.from(credentials, "base64").toString();
      return pair === `${CREDENTIALS.username}:${CREDENTIALS.password}` ? 200 : 401;
    });
    assert.deepEqual(outcome(await delivered(await host.webhook(url, basic))), ["DELIVERED", 200]);
    const wrong = { authentication: { ...basic.authentication, password: "another" } };
    assert.deepEqual(outcome(await delivered(await host.webhook(url, wrong))), ["RETRYING", 401]);
  });

  test("are accepted by the package's verifier", async () => {
    const verifier = new WebhookVerifier({ scheme: "BASIC", ...CREDENTIALS, sharedKey: SHARED_KEY, requireBodySignature: true });
    const { url } = await receive(async ({ distinct, body }) => {
      const { data } = await verifier.verify({ headers: distinct, body });
      return JSON.stringify(data) === JSON.stringify(DATA) ? 202 : 500;
    });
    assert.deepEqual(outcome(await delivered(await host.webhook(url, { ...basic, sharedKey: SHARED_KEY }))), ["DELIVERED", 202]);
  });
});

test("a delivery has the headers and the body that are documented, and both signatures are what any HMAC gives", async () => {
  const { url, received } = await receive();
  const webhook = await host.webhook(url, { sharedKey: SHARED_KEY });
  const event = await host.publish(webhook, { id: "order-4711", time: "2026-11-20T18:40:00.5+01:00" });
  await host.attempted(webhook, event);
  const [{ method, path, headers, distinct, body }] = received;
  assert.deepEqual([method, path, headers["content-type"]], ["POST", "/hook", "application/json"]);
  assert.equal(headers["content-length"], String(body.length));
  assert.match(headers["correlation-id"], /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  assert.match(headers["user-agent"], /^Tillgate-Webhooks\/\d/);
  const data = Buffer.from(JSON.stringify(DATA)).toString("base64");
  assert.deepEqual(JSON.parse(body), {
    id: "order-4711",
    time: "2026-11-20T17:40:00.500Z",
    type: webhook.eventTypes[0],
    datacontenttype: "application/json",
    data,
    dataencoding: "base64",
    meta: {},
    source: "dispatcher.tillgate.example",
    specversion: "1.0",
  });
  const hmac = (signed) => `HS256=${createHmac("sha256", SHARED_KEY).update(signed).digest("hex")}`;
  for (const name of SIGNATURE_HEADERS) assert.deepEqual(distinct[name.toLowerCase()], [hmac(data)], name);
  const [, t] = /^t=(\d+),/.exec(headers["x-service-body-signature"]);
  assert.deepEqual(distinct["x-service-body-signature"], [`t=${t},${hmac(`order-4711.${t}.${body}`)}`]);
});

test("a new key is published at once, and does not sign yet", async () => {
  const kidOf = async () => {
    const { url, received } = await receive();
    await delivered(await host.webhook(url));
    return jose.decodeProtectedHeader(tokenOf(received[0])).kid;
  };
  const before = await fetch(`${host.url}/oauth2/v1/certs`);
  const [signing] = Object.keys(await before.json());
  assert.equal(await kidOf(), signing);
  assert.equal(before.headers.get("cache-control"), "public, max-age=3600");
  const conditional = { headers: { "If-None-Match": before.headers.get("etag") } };
  assert.equal((await fetch(`${host.url}/oauth2/v1/certs`, conditional)).status, 304);

  const { stdout } = await host.run("keys", "--of", "webhooks", "rotate", "--url", host.url);
  const [, made] = /^(\S+) is published and signs from /.exec(stdout);
  assert.equal((await fetch(`${host.url}/oauth2/v1/certs`, conditional)).status, 200);
  assert.deepEqual(Object.keys(await host.certificates()).sort(), [made, signing].sort());
  assert.equal(await kidOf(), signing);
  const listed = await host.run("keys", "--of", "webhooks", "list", "--json", "--url", host.url);
  assert.deepEqual(JSON.parse(listed.stdout).map(({ kid, status }) => [kid, status]), [[signing, "signing"], [made, "published"]]);
});
