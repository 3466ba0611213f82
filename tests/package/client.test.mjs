// `tillgate/client` against the real program: following its catalog, losing the connection, and asking the host.

import assert from "node:assert/strict";
import { after, before, describe, mock, test } from "node:test";

import { CatalogClient, Host, clientCredentials } from "../../js/src/runtime/client.node.js";
import { sha256 } from "../../js/src/runtime/node.js";
import { AUDIENCE, clientWith, demo } from "../support/program.mjs";
import { proxy } from "../support/proxy.mjs";
import { until, within } from "../support/wait.mjs";

const item = { id: "sku-1" };
const aged = (customer_age) => ({ item, context: { customer: { customer_age } } });

let host;
const open = [];

before(async () => (host = await demo()));
after(async () => {
  for (const client of open) client.close();
  await host.end();
});

const credentials = (of = host) => clientCredentials({ tokenUrl: `${of.url}/oauth2/token`, clientId: of.clientId, clientSecret: of.clientSecret, audience: AUDIENCE });

function connect(options) {
  const client = new CatalogClient({ url: host.url, token: credentials(), ...options });
  open.push(client);
  return client;
}

const next = (client, type) => within(new Promise((resolve) => client.addEventListener(type, resolve, { once: true })), `an event: ${type}`);

describe("following", () => {
  test("decides locally, with the same answers as the host", async () => {
    const client = connect();
    assert.equal(client.state, "STARTING");
    await within(client.ready(), "the client is ready");
    assert.equal(client.state, "READY");
    assert.equal(client.document.engine.sha256, sha256);
    const questions = [
      ["evaluateCondition", "alcohol", aged(17)],
      ["evaluateCondition", "tobacco", { item, context: { customer: { licenses: ["tobacco"] } } }],
      ["evaluateProjectRestrictions", { projectId: "0b8a5d3e-6c1f-4a52-9d7e-2f4b8c6d1e90", item: { id: "foam-0815" } }],
      ["evaluateBasket", { items: [{ id: "a", conditionIds: ["alcohol", "nope"] }], context: {} }],
    ];
    for (const [call, ...question] of questions) {
      const there = await client.host[call](...question);
      assert.deepEqual(await client[call](...question), there.decision);
      assert.equal(there.engine, sha256);
      const explained = await client[call](...question, { explain: true });
      assert.deepEqual(explained, (await client.host[call](...question, { explain: true })).decision);
      assert.notDeepEqual(explained, there.decision);
    }
  });

  test("errors have the host's code, path and message", async () => {
    const client = connect();
    await within(client.ready(), "the client is ready");
    const members = ({ code, path, message, faults, status }) => ({ code, path, message, faults, status });
    for (const question of [["nope", aged(17)], ["alcohol", { item: {}, context: 1 }], ["no id", aged(17)]]) {
      const here = await client.evaluateCondition(...question).catch(members);
      assert.equal(here.code in { invalid: 1, condition_not_found: 1 }, true);
      assert.deepEqual(here, await client.host.evaluateCondition(...question).catch(members));
    }
  });

  test("a change is received, and used for decisions", async () => {
    const client = connect();
    await within(client.ready(), "the client is ready");
    const changed = next(client, "change");
    await host.api("PUT", "/api/v1/entity-conditions/knives", { rule: "AGE_RESTRICTION", condition_value: { minimum_age: 18 } });
    const { document } = await changed;
    assert.ok(document.tenant.some(({ id }) => id === "knives"));
    assert.equal((await client.evaluateCondition("knives", aged(17))).allow, false);
    await host.api("DELETE", "/api/v1/entity-conditions/knives");
    await until(() => client.evaluateCondition("knives", aged(17)).then(() => false, ({ code }) => code === "condition_not_found"), "it is deleted");
  });

  test("a paused client receives no changes until it is resumed", async () => {
    const client = connect();
    await within(client.ready(), "the client is ready");
    client.pause();
    await until(() => client.state === "STALE", "it is stale");
    await host.api("PUT", "/api/v1/entity-conditions/saws", { rule: "AGE_RESTRICTION", condition_value: { minimum_age: 18 } });
    await assert.rejects(client.evaluateCondition("saws", aged(17)), { code: "condition_not_found" });
    client.resume();
    await until(() => client.state === "READY", "it is ready again");
    assert.equal((await client.evaluateCondition("saws", aged(17))).allow, false);
    await host.api("DELETE", "/api/v1/entity-conditions/saws");
  });

  test("a client that is closed while it is paused sends no more requests", async () => {
    let asked = 0;
    const client = connect({ fetch: (...given) => ((asked += 1), fetch(...given)) });
    await within(client.ready(), "the client is ready");
    client.pause();
    await until(() => client.state === "STALE", "it is stale");
    const before = asked;
    client.close();
    // Starting another client takes long enough for one more request.
    const other = connect();
    await within(other.ready(), "the client is ready");
    assert.equal(asked, before);
  });

  test("a client that is paused at once sends no request until it is resumed", async () => {
    let asked = 0;
    const client = connect({ fetch: (...given) => ((asked += 1), fetch(...given)) });
    client.pause();
    const other = connect();
    await within(other.ready(), "the client is ready");
    assert.deepEqual([asked, client.state], [0, "STARTING"]);
    client.resume();
    await within(client.ready(), "the client is ready");
  });

  test("a closed client decides nothing, and may be closed again", async () => {
    const client = connect();
    await within(client.ready(), "the client is ready");
    client.close();
    client.close();
    assert.equal(client.state, "CLOSED");
    await assert.rejects(client.evaluateCondition("alcohol", aged(17)), { code: "closed" });
    const early = connect();
    const ready = early.ready();
    early.close();
    await assert.rejects(ready, { code: "closed" });
  });
});

describe("asking the host", () => {
  test("while there is no catalog yet", async () => {
    let open;
    const opened = new Promise((resolve) => (open = resolve));
    const client = connect({ fetch: async (url, options) => (String(url).endsWith("/changes") && (await opened), fetch(url, options)) });
    assert.equal((await client.evaluateCondition("alcohol", aged(17))).allow, false);
    assert.equal(client.state, "STARTING");
    open();
    await within(client.ready(), "the client is ready");
  });

  test("for a till that may evaluate but not read the catalog", async () => {
    const till = await clientWith(host, ["ecs.evaluator"]);
    const client = connect({ token: credentials(till) });
    await assert.rejects(client.ready(), { code: "permission_missing", status: 403 });
    assert.equal((await client.evaluateCondition("alcohol", aged(18))).allow, true);
  });

  test("a wrong secret is an error with the host's message", async () => {
    const client = connect({ token: credentials({ ...host, clientSecret: "wrong" }) });
    await assert.rejects(client.ready(), { code: "unauthenticated", status: 401 });
    await assert.rejects(client.host.request("/api/v1/catalog"), { code: "unauthenticated" });
    await assert.rejects(client.evaluateCondition("alcohol", aged(17)), /the client is unknown/);
    client.close();
  });

  test("a path that the host does not have is told from an unknown condition, which is named", async () => {
    const token = credentials();
    await assert.rejects(new Host({ url: `${host.url}/tills`, token }).evaluateCondition("nope", aged(17)), { code: "wrong_host", status: 404 });
    const unknown = { code: "condition_not_found", status: 404, message: '$.conditionId matches no enabled condition: "nope"' };
    await assert.rejects(new Host({ url: host.url, token }).evaluateCondition("nope", aged(17)), unknown);
  });

  test("a token that is refused is replaced once", async () => {
    const asked = [];
    const good = await host.token();
    const token = ({ fresh } = {}) => {
      asked.push(fresh);
      return fresh ? good : "expired";
    };
    const { decision } = await new Host({ url: host.url, token }).evaluateCondition("alcohol", aged(17));
    assert.equal(decision.allow, false);
    assert.deepEqual(asked, [undefined, true]);
    await assert.rejects(new Host({ url: host.url, token: "never" }).evaluateCondition("alcohol", aged(17)), { code: "unauthenticated" });
  });

  test("a token service that never answers is an error, and is asked again later", async () => {
    mock.timers.enable({ apis: ["setTimeout"] });
    try {
      let asked = 0;
      const never = () => ((asked += 1), new Promise(() => {}));
      const source = clientCredentials({ tokenUrl: "https://nowhere.example", clientId: "a", clientSecret: "b", audience: AUDIENCE, fetch: never });
      for (const turn of [1, 2]) {
        const refused = assert.rejects(source(), { code: "unavailable" });
        mock.timers.tick(60_000);
        await within(refused, "the error of a token service that never answers");
        assert.equal(asked, turn);
      }
    } finally {
      mock.timers.reset();
    }
  });

  test("concurrent requests share one token", async () => {
    let tokens = 0;
    const counted = (url, options) => ((tokens += String(url).endsWith("/oauth2/token") ? 1 : 0), fetch(url, options));
    const source = clientCredentials({ tokenUrl: `${host.url}/oauth2/token`, clientId: host.clientId, clientSecret: host.clientSecret, audience: AUDIENCE, fetch: counted });
    const [one, other] = await Promise.all([source(), source()]);
    assert.equal(one, other);
    assert.equal(await source(), one);
    assert.equal(tokens, 1);
    assert.notEqual(await source({ fresh: true }), one);
  });
});

describe("when the host cannot be reached", () => {
  test("decisions go on, the state is STALE, and the client recovers by itself", async () => {
    const gate = await proxy(host.url);
    const client = connect({ url: gate.url, token: credentials() });
    await within(client.ready(), "the client is ready");
    gate.cut();
    await until(() => client.state === "STALE", "it is stale");
    assert.equal((await client.evaluateCondition("alcohol", aged(17))).allow, false);
    await host.api("PUT", "/api/v1/entity-conditions/axes", { rule: "AGE_RESTRICTION", condition_value: { minimum_age: 18 } });
    await assert.rejects(client.evaluateCondition("axes", aged(17)), { code: "condition_not_found" });
    gate.restore();
    client.retry();
    await until(() => client.state === "READY", "it is ready again");
    assert.equal((await client.evaluateCondition("axes", aged(17))).allow, false);
    await host.api("DELETE", "/api/v1/entity-conditions/axes");
    client.close();
    gate.end();
  });

  test("a catalog that has been stale for too long is not used", async () => {
    const gate = await proxy(host.url);
    const client = connect({ url: gate.url, token: credentials(), maxStaleMs: 0 });
    await within(client.ready(), "the client is ready");
    gate.cut();
    await until(() => client.state === "STALE", "it is stale");
    await assert.rejects(client.evaluateCondition("alcohol", aged(17)), { code: "unavailable" });
    client.close();
    gate.end();
  });
});
