// Third-party libraries use the real program: OAuth libraries, which get and verify tokens, and one that follows server-sent
// events.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { EventSource } from "eventsource";
import * as jose from "jose";
import * as oauth from "oauth4webapi";
import * as openid from "openid-client";

import { clientWith, emptyHost } from "./support/program.mjs";
import { proxy } from "./support/proxy.mjs";
import { endsWithThis, lines, until, within } from "./support/wait.mjs";

const root = new URL("../", import.meta.url).pathname;
const program = join(process.env.CARGO_TARGET_DIR ?? join(root, "target"), "debug/tillgate");
const insecure = { [oauth.allowInsecureRequests]: true };

let child, folder, issuer, operator;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "tillgate-"));
  const file = join(folder, "operator.json");
  const flags = ["serve", "--listen", "127.0.0.1:0", "--store", "memory:", "--operator-file", file];
  child = endsWithThis(spawn(program, flags, { stdio: ["ignore", "pipe", "inherit"] }));
  const [, url] = await lines(child.stdout, "tillgate serve").find(/^listening on (\S+)$/);
  issuer = new URL(`${url}/`);
  operator = JSON.parse(readFileSync(file, "utf8"));
});

after(() => {
  child?.kill();
  rmSync(folder, { recursive: true, force: true });
});

/** Verifies a token with the keys that the service publishes. */
async function verify(token) {
  const keys = jose.createRemoteJWKSet(new URL(".well-known/jwks.json", issuer));
  const expected = { issuer: issuer.href, audience: operator.audience, algorithms: ["RS256"] };
  const { payload } = await jose.jwtVerify(token, keys, expected);
  assert.equal(payload.sub, operator.clientId);
  assert.equal(payload.client_id, operator.clientId);
  return payload;
}

/** The status with which a protected route answers a token. */
async function statusFor(token) {
  const answer = await fetch(new URL("v1/tenants", issuer), { headers: { authorization: `Bearer ${token}` } });
  return answer.status;
}

test("oauth4webapi discovers the service and gets a token, which jose verifies", async () => {
  const discovered = await oauth.discoveryRequest(issuer, { algorithm: "oauth2", ...insecure });
  const server = await oauth.processDiscoveryResponse(issuer, discovered);
  const client = { client_id: operator.clientId };
  const authentication = oauth.ClientSecretBasic(operator.clientSecret);
  const requestToken = async (parameters) => {
    const answer = await oauth.clientCredentialsGrantRequest(server, client, authentication, parameters, insecure);
    return oauth.processClientCredentialsResponse(server, client, answer);
  };
  const issued = await requestToken({ audience: operator.audience });
  assert.deepEqual([issued.token_type, issued.expires_in, issued.scope], ["bearer", 3599, ""]);
  await verify(issued.access_token);
  assert.equal(await statusFor(issued.access_token), 200);
  await assert.rejects(requestToken({ audience: `${operator.audience}/` }), (error) => error.status === 401);
});

test("openid-client discovers the service and gets a token, which jose verifies", async () => {
  const how = { algorithm: "oauth2", execute: [openid.allowInsecureRequests] };
  const authentication = openid.ClientSecretBasic(operator.clientSecret);
  const server = await openid.discovery(issuer, operator.clientId, undefined, authentication, how);
  const issued = await openid.clientCredentialsGrant(server, { audience: operator.audience });
  assert.equal(issued.expires_in, 3599);
  await verify(issued.access_token);
  assert.equal(await statusFor(issued.access_token), 200);
});

test("openid-client reports a wrong secret", async () => {
  const how = { algorithm: "oauth2", execute: [openid.allowInsecureRequests] };
  const authentication = openid.ClientSecretBasic("0".repeat(64));
  const server = await openid.discovery(issuer, operator.clientId, undefined, authentication, how);
  const refused = openid.clientCredentialsGrant(server, { audience: operator.audience });
  await assert.rejects(refused, (error) => {
    const [challenge] = error.cause;
    assert.deepEqual([error.status, challenge.scheme, challenge.parameters.realm], [401, "basic", "tillgate"]);
    return true;
  });
});

test("jose refuses a token for another audience and one that was changed", async () => {
  const how = { algorithm: "oauth2", execute: [openid.allowInsecureRequests] };
  const authentication = openid.ClientSecretBasic(operator.clientSecret);
  const server = await openid.discovery(issuer, operator.clientId, undefined, authentication, how);
  const { access_token: token } = await openid.clientCredentialsGrant(server, { audience: operator.audience });
  const keys = jose.createRemoteJWKSet(new URL(".well-known/jwks.json", issuer));
  await assert.rejects(jose.jwtVerify(token, keys, { audience: "https://other.example" }), { code: "ERR_JWT_CLAIM_VALIDATION_FAILED" });
  const [header, claims, signature] = token.split(".");
  const changed = [header, Buffer.from(`${Buffer.from(claims, "base64url")} `).toString("base64url"), signature];
  await assert.rejects(jose.jwtVerify(changed.join("."), keys), { code: "ERR_JWS_SIGNATURE_VERIFICATION_FAILED" });
  assert.equal(await statusFor(changed.join(".")), 401);
});

const TOPIC = "/api/v1/topics/cer.public.event.rates-changed.v1";

/** The content of a message about the rate to EUR: the shop and the value. */
function told({ data }) {
  const { businessUnitId, createdRates = [], updatedRates = [] } = JSON.parse(data).data;
  const of = [...createdRates, ...updatedRates].find(({ targetCurrencyCode }) => targetCurrencyCode === "EUR");
  return [businessUnitId, of.rateValue];
}

test("eventsource sees the messages of a shop and nothing else, and after a cut goes on with Last-Event-ID", async () => {
  const host = await emptyHost();
  const network = await proxy(host.url);
  let source;
  try {
    const office = await clientWith(host, ["exr.editor", "exr.subscriber"]);
    const put = async (path, body) => {
      const answer = await office.api("PUT", `/api/v1/business-units/${path}`, body);
      assert.equal(answer.ok, true, await answer.text());
    };
    const set = (unit, rateValue) => put(`${unit}/exchange-rates/SALES/SEK/EUR`, { rateValue });
    await put("company", { type: "COMPANY" });
    for (const id of ["here", "elsewhere"]) await put(id, { type: "STORE", parentId: "company" });

    const [events, cursors, token] = [[], [], await office.token()];
    const authorized = (url, { headers, ...init }) => {
      cursors.push(headers["Last-Event-ID"]);
      return fetch(url, { ...init, headers: { ...headers, Authorization: `Bearer ${token}` } });
    };
    source = new EventSource(`${network.url}${TOPIC}?businessUnitId=here`, { fetch: authorized });
    for (const type of ["message", "reset"]) source.addEventListener(type, (event) => events.push(event));
    const seen = (count) => until(() => events.length >= count, `${count} messages arrive`);
    await within(once(source, "open"), "the stream opens");
    await set("here", 11.05);
    await seen(1);
    await set("elsewhere", 9);
    await set("here", 11.06);
    await seen(2);

    network.cut();
    await within(once(source, "error"), "eventsource notices that its connection is gone");
    await set("here", 11.07);
    network.restore();
    await seen(3);
    assert.deepEqual(events.map(told), [["here", 11.05], ["here", 11.06], ["here", 11.07]]);
    for (const { type, lastEventId } of events) assert.ok(type === "message" && lastEventId !== "");
    assert.equal(cursors[0], undefined);
    assert.equal(cursors.at(-1), events[1].lastEventId);
  } finally {
    source?.close();
    network.end();
    await host.end();
  }
});
