// `tillgate/rates` and broken connections (`given.md`, 6.1): cut at any moment, resets, refused tokens, initial states,
// restarts. The host is scripted; ordinary use is in `rates.test.mjs`.

import assert from "node:assert/strict";
import { beforeEach, describe, mock, test } from "node:test";

import { RatesClient } from "../../js/src/runtime/rates.node.js";
import { RATES, SHOP, asked, connect, connected, host, row, set, settled, valueOf } from "../support/rates-client.mjs";
import { TENANT } from "../support/rates-host.mjs";
import { until, within } from "../support/wait.mjs";

describe("the start", () => {
  test("a change between the opening of the stream and the list is not lost", async () => {
    const gate = host.gate(RATES, "after");
    const client = connect();
    await within(gate.arrived, "the request arrives");
    await until(() => asked(RATES) === 1, "the list is made");
    await set("SEK/EUR", 11.2);
    await set("SEK/USD");
    gate.open();
    await within(client.ready(), "the client is ready");
    await until(() => valueOf(client) === "11.2" && valueOf(client, "USD") === "rate_not_found", "the change is applied");
  });

  test("a change that the list contains already changes nothing", async () => {
    const gate = host.gate(RATES, "before");
    const client = connect();
    await within(gate.arrived, "the request arrives");
    await set("SEK/EUR", 11.2);
    await set("SEK/EUR", 11.3);
    gate.open();
    await within(client.ready(), "the client is ready");
    await settled(client);
    assert.equal(valueOf(client), "11.3");
    const listed = await (await host.api("GET", `${RATES}?businessUnit=${SHOP}`)).json();
    const held = client.rates().filter(({ currencyIdTo }) => currencyIdTo !== "NOK");
    assert.deepEqual(held.map(({ rateValue }) => Number(rateValue)), listed.map(({ rateValue }) => rateValue));
  });

  test("the list is read when the host has said where the stream begins", async () => {
    host.greets = false;
    const client = connect();
    await until(() => host.listeners === 1, "it listens");
    host.heartbeat();
    await set("SEK/USD", 9.6, SHOP);
    await within(client.ready(), "the client is ready");
    assert.deepEqual(host.requests.slice(-2), [`PUT /api/v1/business-units/${SHOP}/exchange-rates/SALES/SEK/USD`, `GET ${RATES}`]);
    assert.equal(valueOf(client, "USD"), "9.6");
  });

  test("a connection that is lost before that starts again, and one that is lost afterwards goes on", async () => {
    host.greets = false;
    const client = connect();
    await until(() => host.listeners === 1, "it listens");
    host.endStreams();
    host.greets = true;
    await within(client.ready(), "the client is ready");
    assert.deepEqual(host.cursors, [undefined, undefined]);
    host.endStreams();
    await set("SEK/EUR", 11.4);
    client.retry();
    await until(() => valueOf(client) === "11.4", "the change is received");
    assert.equal(asked(RATES), 1);
  });

  test("a caller that may not read the rates is told so", async () => {
    const client = connect({ token: () => host.token("exr.rate.read") });
    await assert.rejects(client.ready(), { code: "permission_missing", status: 403 });
    assert.equal(client.state, "STARTING");
  });

  test("a host that never answers is an error, and is asked again", async () => {
    mock.timers.enable({ apis: ["setTimeout"] });
    try {
      let asked = 0;
      const never = (url, { signal }) => {
        asked += 1;
        return new Promise((resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      };
      const client = connect({ fetch: never });
      for (const turn of [1, 2]) {
        const failed = new Promise((resolve) => client.addEventListener("error", resolve, { once: true }));
        await new Promise(setImmediate);
        assert.equal(asked, turn);
        mock.timers.tick(40_000);
        await within(failed, "the error of a host that never answers");
        await new Promise(setImmediate);
        mock.timers.tick(40_000);
      }
    } finally {
      mock.timers.reset();
    }
  });

  test("without a shop and a tenant there is nothing to follow", () => {
    assert.throws(() => new RatesClient({ url: host.url, token: "t" }), { code: "invalid" });
  });
});

describe("resuming", () => {
  for (const form of ["comment", "event"]) {
    test(`the id of ${form === "event" ? "an event without data" : "a comment"} moves the cursor`, async () => {
      const client = await connected();
      const { cursor } = client.toJSON();
      host.publish(host.message("shop-2", { createdRates: [row("1")] }));
      host.heartbeat({ cursor: form });
      await until(() => client.toJSON().cursor !== cursor, "the cursor has moved");
      const moved = client.toJSON().cursor;
      host.endStreams();
      await until(() => host.cursors.length === 2, "it has reconnected");
      assert.equal(host.cursors[1], moved);
    });
  }

  test("a client is ready again when there is nothing more to receive", async () => {
    const client = await connected();
    host.greets = false;
    host.endStreams();
    await until(() => client.state === "STALE", "it is stale");
    client.retry();
    await until(() => host.cursors.length === 2 && host.listeners === 1, "it has reconnected");
    await set("SEK/EUR", 11.5);
    await until(() => valueOf(client) === "11.5", "a message is received");
    assert.equal(client.state, "STALE");
    host.heartbeat();
    await until(() => client.state === "READY", "it is ready");
    assert.equal(asked(RATES), 1);
  });

  test("with a new token when the last one is refused, and nothing is lost", async () => {
    let token = await host.token();
    const source = async ({ fresh } = {}) => (fresh ? (token = await host.token()) : token);
    const client = await connected({ token: source });
    host.revoke();
    await set("SEK/EUR", 11.5);
    await set("SEK/USD");
    client.retry();
    await until(() => valueOf(client) === "11.5" && valueOf(client, "USD") === "rate_not_found", "the changes are received");
    assert.equal(asked(RATES), 1);
    assert.deepEqual(client.errors, []);
  });

  test("after a reset the rates are read again, and those that are gone are dropped", async () => {
    const client = await connected();
    const seen = [];
    client.pause();
    await until(() => client.state === "STALE", "it is stale");
    await set("SEK/USD");
    await set("SEK/EUR", 11.6);
    host.trim();
    await set("SEK/EUR", 11.7);
    await set("SEK/EUR", 11.8);
    client.addEventListener("change", () => seen.push(valueOf(client)));
    const { asOf } = client;
    const gate = host.gate(RATES);
    client.resume();
    await within(gate.arrived, "the request arrives");
    assert.deepEqual([client.state, client.asOf, valueOf(client, "USD")], ["STALE", asOf, "9.5"]);
    gate.open();
    await until(() => client.state === "READY", "it is ready again");
    assert.deepEqual([valueOf(client), valueOf(client, "USD")], ["11.8", "rate_not_found"]);
    assert.deepEqual(seen, ["11.8"], "no older value was used");
    assert.equal(asked(RATES), 2);
  });

  test("a message that was published before the list was read does not undo it", async () => {
    const client = await connected();
    const early = host.time();
    host.publish(host.message(SHOP, { updatedRates: [row("11.9")] }));
    await until(() => valueOf(client) === "11.9", "a message is received");
    host.publish("{");
    await until(() => client.state === "STALE", "it is stale");
    client.retry();
    await until(() => client.state === "READY" && valueOf(client) === "11.05", "the rates are read again");
    host.publish(host.message(SHOP, { updatedRates: [row("3")], createdRates: [row("4", "DKK")] }, { publishTime: early }));
    await settled(client);
    assert.deepEqual([valueOf(client), valueOf(client, "DKK")], ["11.05", "rate_not_found"]);
  });

  test("where the host knows nothing of the cursor, everything is read again", async () => {
    const client = await connected();
    // Its publish times are later than those of the new log.
    host.publish(host.message(SHOP, { updatedRates: [row("9")] }, { publishTime: "2099-01-01T00:00:00.000000Z" }));
    await until(() => valueOf(client) === "9", "a message is received");
    host.replaceLog();
    host.endStreams();
    await until(() => client.state === "STALE", "it is stale");
    client.retry();
    await until(() => client.state === "READY" && valueOf(client) === "11.05", "the rates are read again");
    await set("SEK/EUR", 12);
    await until(() => valueOf(client) === "12", "a later message counts");
    assert.deepEqual(client.errors, []);
  });
});

describe("a tenant", () => {
  const OTHER = "shop-2";
  beforeEach(async () => {
    await host.api("PUT", `/api/v1/business-units/${OTHER}`, { type: "STORE" });
    await host.api("PUT", "/api/v1/business-units/shop-3", { type: "STORE" });
    await set("SEK/EUR", 12.5, OTHER);
  });

  test("is ready when the messages of its initial state have arrived, also those of shops without rates", async () => {
    host.isSlow = true;
    const client = connect({ tenantId: TENANT });
    await until(() => asked("/api/v1/initial-state") === 1, "the initial state is requested");
    host.proceed(1);
    await until(() => client.businessUnitIds.length === 1, "the first shop has arrived");
    assert.equal(client.state, "STARTING");
    assert.equal(valueOf(client, "EUR", SHOP), "11.05");
    assert.equal(valueOf(client, "EUR", OTHER), "not_ready");
    host.proceed();
    await within(client.ready(), "the client is ready");
    assert.equal(valueOf(client, "EUR", OTHER), "12.5");
    assert.deepEqual(client.rates({ businessUnitId: "shop-3" }), []);
    assert.deepEqual(client.businessUnitIds, [SHOP, OTHER, "shop-3"]);
  });

  test("keeps an initial state that it has begun when the connection is lost", async () => {
    host.isSlow = true;
    const client = connect({ tenantId: TENANT });
    await until(() => asked("/api/v1/initial-state") === 1, "the initial state is requested");
    host.proceed(1);
    await until(() => client.businessUnitIds.length === 1, "the first shop has arrived");
    host.endStreams();
    host.proceed();
    await within(client.ready(), "the client is ready");
    assert.equal(client.businessUnitIds.length, 3);
    assert.equal(asked("/api/v1/initial-state"), 1);
  });

  test("is ready when there is nothing more to receive, if the caller may not know when the initial state is complete", async () => {
    host.isSlow = true;
    const client = connect({ tenantId: TENANT, token: () => host.token("exr.rate.read") });
    await until(() => host.listeners === 1 && host.requests.some((it) => it.includes("/changes/")), "the progress is refused");
    assert.equal(client.state, "STARTING");
    host.proceed();
    await until(() => valueOf(client, "EUR", OTHER) === "12.5", "the messages are received");
    assert.equal(client.state, "STARTING");
    host.heartbeat();
    await within(client.ready(), "the client is ready");
  });

  test("reads everything again after a reset: rates and shops that are gone are dropped, new ones are kept", async () => {
    const client = await connected({ tenantId: TENANT });
    client.pause();
    await until(() => client.state === "STALE", "it is stale");
    await set("SEK/USD");
    await host.api("DELETE", `/api/v1/business-units/${OTHER}`);
    host.trim();
    host.isSlow = true;
    client.resume();
    await until(() => asked("/api/v1/initial-state") === 2, "the initial state is requested again");
    assert.equal(valueOf(client, "USD", SHOP), "9.5", "the last rates are used until then");
    await host.api("PUT", "/api/v1/business-units/shop-4", { type: "STORE" });
    await set("SEK/EUR", 13, "shop-4");
    host.proceed();
    await until(() => client.state === "READY", "it is ready again");
    assert.deepEqual(["EUR", "USD"].map((to) => valueOf(client, to, SHOP)), ["11.05", "rate_not_found"]);
    assert.equal(valueOf(client, "EUR", "shop-4"), "13");
    assert.equal(valueOf(client, "EUR", OTHER), "business_unit_not_found");
    const dropped = client.changes.find((it) => it.businessUnitId === SHOP && it.deletedRates.length > 0);
    assert.deepEqual(dropped.deletedRates.map(({ currencyIdTo }) => currencyIdTo).sort(), ["SEK", "USD"]);
  });

  test("a rate that changes during an initial state keeps its newest value", async () => {
    host.isSlow = true;
    const client = connect({ tenantId: TENANT });
    await until(() => asked("/api/v1/initial-state") === 1, "the initial state is requested");
    const later = "2098-01-01T00:00:00.000000Z";
    host.publish(host.message(SHOP, { updatedRates: [row("20")], deletedRates: [row("1", "USD")] }, { publishTime: later }));
    host.proceed();
    await within(client.ready(), "the client is ready");
    assert.deepEqual(["EUR", "USD"].map((to) => valueOf(client, to, SHOP)), ["20", "rate_not_found"]);
  });

  test("a message that cannot be read is an error, and requests no other initial state", async () => {
    const client = await connected({ tenantId: TENANT });
    host.publish("{");
    await settled(client);
    assert.equal(client.errors.length, 1);
    assert.equal(asked("/api/v1/initial-state"), 1);
  });

  test("that does not exist is an error", async () => {
    await assert.rejects(connect({ tenantId: "nowhere" }).ready(), { code: "tenant_not_found" });
  });
});

describe("snapshots", () => {
  test("have what is needed to go on: times, deleted rates, the cursor", async () => {
    const client = await connected();
    const old = host.time();
    host.publish(host.message(SHOP, { updatedRates: [row("14")], deletedRates: [row("1", "USD")] }));
    await until(() => valueOf(client) === "14", "a message is received");
    const snapshot = JSON.parse(JSON.stringify(client));
    client.close();
    host.publish(host.message(SHOP, { updatedRates: [row("1"), row("1", "USD")], createdRates: [row("1", "DKK")] }, { publishTime: old }));
    const next = connect({ snapshot });
    await settled(next);
    assert.deepEqual(["EUR", "USD", "DKK"].map((to) => valueOf(next, to)), ["14", "rate_not_found", "1"]);
    assert.equal(asked(RATES), 1);
  });

  test("that were made before an initial state was complete request it again", async () => {
    const client = await connected({ tenantId: TENANT });
    client.pause();
    await until(() => client.state === "STALE", "it is stale");
    host.trim();
    await set("SEK/EUR", 15);
    host.trim();
    host.isSlow = true;
    client.resume();
    await until(() => asked("/api/v1/initial-state") === 2, "the initial state is requested again");
    host.heartbeat({ cursor: "comment" });
    host.publish(host.message("shop-9", {}));
    await until(() => client.businessUnitIds.includes("shop-9"), "a message is received");
    const snapshot = JSON.parse(JSON.stringify(client));
    client.close();
    host.isSlow = false;
    const next = connect({ tenantId: TENANT, snapshot });
    assert.equal(valueOf(next, "EUR", SHOP), "11.05");
    await until(() => next.state === "READY", "it is ready");
    assert.equal(valueOf(next, "EUR", SHOP), "15");
    assert.equal(asked("/api/v1/initial-state"), 3);
  });

  test("say how old the rates are", async () => {
    const client = await connected();
    const hour = 3_600_000;
    const snapshot = { ...client.toJSON(), asOf: new Date(Date.now() - hour).toISOString() };
    const next = connect({ snapshot, fetch: () => Promise.reject(new Error("offline")) });
    await within(next.ready(), "the client is ready");
    assert.ok(next.ageMs >= hour && next.ageMs < 2 * hour);
    assert.equal(connect({ snapshot: { ...snapshot, asOf: "2099-01-01T00:00:00.000Z" } }).ageMs, 0);
  });

  test("that were made before there were rates are as good as none", async () => {
    const early = connect({ fetch: () => Promise.reject(new Error("offline")) });
    for (const snapshot of [JSON.parse(JSON.stringify(early)), null, undefined]) {
      const client = connect({ snapshot });
      assert.equal(client.state, "STARTING");
      await within(client.ready(), "the client is ready");
      assert.equal(valueOf(client), "11.05");
    }
  });

  test("of another version, host or shop, or that were damaged, are refused", async () => {
    const client = await connected();
    const good = JSON.parse(JSON.stringify(client));
    const shops = (change) => ({ shops: [{ ...good.shops[0], ...change }] });
    for (const [change, path] of [
      [{ version: 2 }, "version"],
      [{ url: "https://other.example" }, "url"],
      [{ businessUnitId: "shop-2" }, "businessUnitId"],
      [{ tenantId: TENANT }, "tenantId"],
      [{ asOf: "yesterday" }, "asOf"],
      [{ cursor: "å" }, "cursor"],
      [{ shops: undefined }, "shops"],
      [shops({ newest: undefined }), "shops"],
      [shops({ rates: [{ ...good.shops[0].rates[0], rateValue: 11.05 }] }), "shops"],
    ]) {
      const snapshot = { ...good, ...change };
      assert.throws(() => connect({ snapshot }), { code: "invalid", path: `$.snapshot.${path}` }, path);
    }
    connect({ url: `${host.url}/`, snapshot: good }).close();
  });
});
