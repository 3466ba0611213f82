// Secrets of webhooks that the real program never shows: passwords, shared keys, and the tokens that it sends. These tests
// keep everything that it answers, logs and prints, and search it.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";

import { until } from "../support/wait.mjs";
import { freePort } from "../support/port.mjs";
import { outcome, receiver, shop } from "../support/webhook-shop.mjs";

/** Every secret of these tests contains this. */
const MARK = "unmistakable";
const USERNAME = "erp";
const PASSWORD = `${MARK}-password-of-the-erp`;
const SHARED_KEY = `${MARK}-shared-key-of-the-erp`;
const BASIC = { authentication: { type: "BASIC", username: USERNAME, password: PASSWORD }, sharedKey: SHARED_KEY };
const BEARER = { sharedKey: SHARED_KEY };

/** The answers of a receiver that accepts no event. */
const FAILURES = {
  "answers 500": () => ({ status: 500, body: "out of order" }),
  "answers 401": () => ({ status: 401, headers: { "WWW-Authenticate": "Basic" }, body: "wrong credentials" }),
  "redirects": () => ({ status: 307, headers: { Location: "https://elsewhere.example/hook" } }),
  "wants no more": () => 410,
};

let host, token;
const open = [];
const secrets = new Set([MARK, btoa(`${USERNAME}:${PASSWORD}`)]);
/** Every answer of the host, except the keys that it shows once. */
const answered = [];

before(async () => {
  host = await shop({ TILLGATE_LOG__LEVEL: "trace" });
  token = await host.integrator.token();
  secrets.add(signatureOf(token));
});
after(async () => {
  for (const started of open) started.end();
  await host.end();
});

const signatureOf = (token) => token.split(".")[2];

/** Asserts that a text contains no secret; the error must not show it either. */
function assertSilent(text, what) {
  for (const secret of secrets) assert.ok(!text.includes(secret), `a secret is in ${what}`);
}

/** Sends a request as the integrator; `body` may be a text. Returns `{ status, value }`. */
async function ask(method, path, body, headers = {}) {
  const answer = await fetch(`${host.url}/api/v1/${path}`, {
    method,
    headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json", ...headers },
    body: typeof body === "object" ? JSON.stringify(body) : body,
  });
  const text = await answer.text();
  answered.push({ what: `${method} ${path}, ${answer.status}`, text: `${JSON.stringify([...answer.headers])} ${text}` });
  return { status: answer.status, value: text && JSON.parse(text) };
}

/** Starts a receiver that records its tokens. */
async function receive(answer) {
  const started = await receiver((request) => {
    const [scheme, credentials] = request.headers.authorization.split(" ");
    secrets.add(scheme === "Bearer" ? signatureOf(credentials) : credentials);
    return answer();
  });
  open.push(started);
  return started;
}

/** Delivers an event to a webhook of each scheme at a URL; returns the deliveries. */
async function deliver(url) {
  const deliveries = [];
  for (const settings of [BASIC, BEARER]) {
    const webhook = await host.webhook(url, settings);
    deliveries.push(await host.attempted(webhook, await host.publish(webhook)));
  }
  return deliveries;
}

describe("secrets", () => {
  test("are sent, but are not in the journal, whether a delivery succeeds or fails", async () => {
    const known = secrets.size;
    const { url } = await receive(() => ({ status: 200, body: "thanks" }));
    assert.deepEqual((await deliver(url)).map(outcome), [["DELIVERED", 200], ["DELIVERED", 200]]);
    for (const [what, answer] of Object.entries(FAILURES)) {
      const { url } = await receive(answer);
      for (const { attempts } of await deliver(url)) assert.ok(attempts[0].error.message, what);
    }
    const dead = await deliver(`http://127.0.0.1:${await freePort()}/hook`);
    assert.deepEqual(dead.map(({ attempts }) => attempts[0].error.kind), ["UNREACHABLE", "UNREACHABLE"]);
    for (const settings of [BASIC, BEARER]) {
      const trial = { name: "ERP", callbackUrl: "http://10.0.0.1/hook", eventTypes: ["exe.events.v1"], authentication: { type: "BEARER" }, ...settings };
      const refused = await ask("POST", "webhooks/ping", trial);
      assert.equal(refused.value.error.kind, "REFUSED_ADDRESS");
    }
    assert.ok(secrets.size > known, "receivers got tokens");
    const { value } = await ask("GET", "deliveries");
    assert.ok(value.items.length >= 12);
    const sent = new Set();
    for (const { id } of value.items) {
      const { value: delivery } = await ask("GET", `deliveries/${id}`);
      sent.add(delivery.request.headers.authorization);
    }
    assert.deepEqual([...sent].sort(), ["Basic …", "Bearer …"]);
  });

  test("are not in webhooks, their health, and sending again", async () => {
    const { value: webhooks } = await ask("GET", "webhooks");
    assert.ok(webhooks.some(({ disabledReason }) => disabledReason === "GONE"));
    for (const { id, hasSharedKey } of webhooks) {
      assert.ok(hasSharedKey);
      await ask("GET", `webhooks/${id}`);
    }
    await ask("GET", "webhooks/health");
    const { url } = await receive(() => 204);
    const settings = { name: "ERP", callbackUrl: url, eventTypes: ["exe.events.v1"], ...BASIC };
    const { status, value: webhook } = await ask("POST", "webhooks", settings);
    assert.equal(status, 201);
    assert.equal((await ask("PUT", `webhooks/${webhook.id}`, { ...settings, sharedKey: `${SHARED_KEY}-2` })).status, 200);
    const { value: tried } = await ask("POST", "webhooks/ping", settings);
    assert.equal(tried.delivered, true);
    const { value: pinged } = await ask("POST", `webhooks/${webhook.id}/ping`);
    await host.attempted(webhook, pinged);
    assert.equal((await ask("POST", `deliveries/${pinged.deliveryId}/replay`)).status, 202);
    await host.attempted(webhook, pinged, 2);
    const { value: replay } = await ask("POST", "deliveries/replay", { webhookId: webhook.id });
    await until(async () => (await ask("GET", `deliveries/replays/${replay.id}`)).value.state === "DONE", "the replay is done");
    await host.attempted(webhook, pinged, 3);
    assert.equal((await ask("DELETE", `webhooks/${webhook.id}`)).status, 204);
    await ask("GET", `deliveries/${pinged.deliveryId}`);
  });

  test("are not in what is answered to a request with faults", async () => {
    const settings = { name: "ERP", callbackUrl: "https://erp.example/hook", eventTypes: ["*"] };
    const basic = (more) => JSON.stringify({ ...settings, authentication: { ...BASIC.authentication, ...more } });
    const { value: webhook } = await ask("POST", "webhooks", { ...settings, ...BASIC });
    const faulty = {
      "a key that is too short": JSON.stringify({ ...settings, ...BASIC, sharedKey: MARK }),
      "a key that is not a text": JSON.stringify({ ...settings, ...BASIC, sharedKey: [SHARED_KEY] }),
      "a password with a control character": basic({ password: `${PASSWORD}\u0000` }),
      "a password that is not a text": basic({ password: { value: PASSWORD } }),
      "a password that is too long": basic({ password: PASSWORD.repeat(20) }),
      "a password in the URL": JSON.stringify({ ...settings, ...BASIC, callbackUrl: `https://erp:${PASSWORD}@erp.example/` }),
      "an unknown scheme": basic({ type: PASSWORD }),
      "a member that is there twice": basic().replace('"password"', `"password":"${MARK}","password"`),
      "a password without quotes": basic().replace(`"${PASSWORD}"`, PASSWORD),
      "a body that is cut short": basic().slice(0, -8),
      "a body of another type": JSON.stringify(PASSWORD),
    };
    for (const [what, body] of Object.entries(faulty)) {
      for (const [method, path] of [["POST", "webhooks"], ["PUT", `webhooks/${webhook.id}`], ["POST", "webhooks/ping"]]) {
        assert.equal((await ask(method, path, body)).status, 400, `${method} ${path}: ${what}`);
      }
    }
    const outdated = await ask("PUT", `webhooks/${webhook.id}`, { ...settings, ...BASIC }, { "If-Match": '"another"' });
    assert.equal(outdated.status, 412);
    const missing = await ask("PUT", `webhooks/${crypto.randomUUID()}`, { ...settings, ...BASIC });
    assert.equal(missing.status, 404);
    const unauthenticated = await ask("POST", "webhooks", { ...settings, ...BASIC }, { Authorization: `Bearer ${token}x` });
    assert.equal(unauthenticated.status, 401);
  });

  test("that the service generates are shown once", async () => {
    const { url } = await receive(() => 204);
    const webhook = await host.webhook(url, { sharedKey: "generate" });
    const { sharedKey } = await host.asked(200, "POST", `/api/v1/webhooks/${webhook.id}/shared-key`);
    assert.notEqual(sharedKey, webhook.sharedKey);
    secrets.add(webhook.sharedKey).add(sharedKey);
    await ask("GET", "webhooks");
    const { value } = await ask("GET", `webhooks/${webhook.id}`);
    await ask("PUT", `webhooks/${webhook.id}`, value);
    const { id } = await host.attempted(webhook, await host.publish(webhook));
    await ask("GET", `deliveries/${id}`);
  });

  test("are in no answer", () => {
    assert.ok(answered.length > 60);
    for (const { what, text } of answered) assertSilent(text, what);
  });

  test("are not in the configuration that is printed", async () => {
    const { code, stdout, stderr } = await host.run("serve", "--config", "tillgate.toml", "--print-config");
    assert.deepEqual([code, stderr], [0, ""]);
    assert.match(stdout, /allow_http = true/);
    assertSilent(stdout, "the configuration");
  });

  test("are not in the log, however much is logged", async () => {
    assert.match(host.log(), /WARN .*a webhook was disabled/);
    assert.match(host.log(), /TRACE /);
    assertSilent(host.log(), "the log");
  });
});
