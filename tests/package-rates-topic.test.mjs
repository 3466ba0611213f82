// `tillgate/rates` and what a topic may do (`given.md`, 6.1): messages in any order and repeated, cut connections, resets,
// refused tokens, odd numbers and texts. The host is scripted; ordinary use is in `package-rates.test.mjs`.

import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, mock, test } from "node:test";

import { events } from "../js/src/event-stream.js";
import { HeldRates } from "../js/src/held-rates.js";
import { RatesClient } from "../js/src/rates-client.node.js";
import { parseExactly, readMessage } from "../js/src/rates-message.js";
import { until } from "./support/program.mjs";
import { TENANT, ratesHost } from "./support/rates-host.mjs";

const SHOP = "shop-1";
const RATES = "/api/v1/exchange-rates";
const KEY = { exchangeRateType: "SALES", currencyIdFrom: "SEK", currencyIdTo: "EUR" };
const TIME = "2026-11-20T17:40:00.000Z";

/** A rate of the topic. */
const row = (rateValue, target = "EUR", members = {}) => ({
  exchangeRateType: "SALES",
  sourceCurrencyCode: "SEK",
  targetCurrencyCode: target,
  rateValue,
  rateValueWithMarkup: rateValue,
  createdDate: TIME,
  ...members,
});

let host;
let open;

beforeEach(async () => {
  host = await ratesHost();
  open = [];
  await host.api("PUT", `/api/v1/business-units/${SHOP}`, { type: "STORE" });
  await set("SEK/EUR", 11.05);
  await set("SEK/USD", 9.5);
});
afterEach(() => {
  for (const client of open) client.close();
  host.end();
});

const set = async (pair, rateValue, shop = SHOP) => {
  const method = rateValue === undefined ? "DELETE" : "PUT";
  const { ok } = await host.api(method, `/api/v1/business-units/${shop}/exchange-rates/SALES/${pair}`, { rateValue });
  assert.ok(ok);
};

function connect(options) {
  const subject = options?.tenantId === undefined ? { businessUnitId: SHOP } : {};
  const client = new RatesClient({ url: host.url, token: () => host.token(), ...subject, ...options });
  open.push(client);
  client.changes = [];
  client.errors = [];
  client.states = [];
  client.addEventListener("change", ({ businessUnitId, message }) => client.changes.push(message ?? businessUnitId));
  client.addEventListener("error", ({ error }) => client.errors.push(error));
  client.addEventListener("state", ({ state }) => client.states.push(state));
  return client;
}

/** A client that is connected and knows where it is. */
async function connected(options) {
  const client = connect(options);
  await client.ready();
  await until(() => host.listeners > 0, "it listens");
  host.heartbeat({ cursor: true });
  await until(() => client.toJSON().cursor !== undefined, "it has a cursor");
  return client;
}

const valueOf = (client, currencyIdTo = "EUR", businessUnitId = undefined) => {
  try {
    return client.rate({ ...KEY, currencyIdTo, businessUnitId }).rateValue;
  } catch ({ code }) {
    return code;
  }
};

/** Publishes a last message and waits until the client has received it, and so all before it. */
async function settled(client, businessUnitId = SHOP) {
  const marker = `marker-${host.time()}`;
  host.publish(host.message(businessUnitId, { createdRates: [row("1", "NOK", { createdBy: marker })] }));
  await until(() => client.rates({ businessUnitId }).some(({ createdBy }) => createdBy === marker), "the last message is received");
}

const asked = (path) => host.requests.filter((request) => request.endsWith(` ${path}`)).length;

describe("messages", () => {
  test("in any order: of each rate the newest counts, and a deleted one is not revived by an older message", async () => {
    const client = await connected();
    const [first, second, third, fourth] = [host.time(), host.time(), host.time(), host.time()];
    const send = (lists, publishTime) => host.publish(host.message(SHOP, lists, { publishTime }));
    send({ updatedRates: [row("3")] }, third);
    send({ updatedRates: [row("2")], createdRates: [row("2", "DKK")] }, second);
    send({ deletedRates: [row("2", "USD")] }, fourth);
    send({ updatedRates: [row("1", "USD")] }, first);
    send({ deletedRates: [row("2")] }, first);
    await settled(client);
    assert.deepEqual(["EUR", "DKK", "USD"].map((to) => valueOf(client, to)), ["3", "2", "not_found"]);
    send({ createdRates: [row("5", "USD")] }, host.time());
    await settled(client);
    assert.equal(valueOf(client, "USD"), "5");
  });

  test("repeated: they change nothing, and are no event", async () => {
    const client = await connected();
    const before = client.changes.length;
    const message = host.message(SHOP, { updatedRates: [row("4")], deletedRates: [row("1", "USD")] });
    for (let turn = 0; turn < 3; turn += 1) host.publish(message);
    await settled(client);
    assert.equal(client.changes.length, before + 2);
    assert.deepEqual([valueOf(client), valueOf(client, "USD")], ["4", "not_found"]);
  });

  test("lists may be missing, null or empty, and unknown members are ignored", async () => {
    const client = await connected();
    host.publish(host.message(SHOP, {}));
    host.publish(host.message(SHOP, { createdRates: null, updatedRates: [], deletedRates: null }));
    host.publish({ ...host.message(SHOP, { updatedRates: [row("6", "EUR", { later: [1, { a: null }] })], reason: 7 }), extra: 1 });
    await settled(client);
    assert.equal(valueOf(client), "6");
    assert.equal("later" in client.rate(KEY), false);
    assert.deepEqual(client.errors, []);
  });

  test("of another shop or tenant have no effect, should a filter let them through", async () => {
    const client = await connected();
    const foreign = (shop, tenantId) => ({ ...host.message(shop, { updatedRates: [row("7")] }, { tenantId }), attributes: { "Business-Unit-Id": SHOP } });
    host.publish(foreign("shop-2", TENANT));
    await settled(client);
    assert.equal(valueOf(client), "11.05");
    const tenant = await connected({ tenantId: TENANT });
    host.publish(foreign(SHOP, "other"));
    await settled(tenant);
    assert.equal(valueOf(tenant, "EUR", SHOP), "11.05");
  });

  test("that cannot be read are errors, and the rates are read again", async () => {
    const client = await connected();
    for (const text of ["{", "[]", "{}", JSON.stringify(host.message(SHOP, { updatedRates: [row("1e3")] }))]) {
      const errors = client.errors.length;
      host.publish(text);
      await until(() => client.errors.length > errors, "there is an error");
      assert.equal(client.errors.at(-1).code, "invalid");
      await until(() => client.state === "STALE", "it is stale");
      client.retry();
      await until(() => client.state === "READY", "it is ready again");
    }
    assert.equal(asked(RATES), 5);
    assert.equal(valueOf(client), "11.05");
  });
});

describe("numbers and texts", () => {
  test("amounts have the digits of the JSON, however many", async () => {
    await set("SEK/EUR", 0.000001);
    const client = await connected();
    assert.equal(valueOf(client), "0.000001");
    for (const digits of ["123456789012345678.123456", "10.50", "0.1", "1.10"]) {
      host.publish(host.message(SHOP, { updatedRates: [row(digits)] }));
      await settled(client);
      assert.deepEqual([valueOf(client), client.rate(KEY).rateValueWithMarkup], [digits, digits]);
    }
  });

  test("a text that looks like a rate is not one", async () => {
    const client = await connected();
    const hostile = ['"rateValue":9,"', '\\","rateValue":9,"a":"', "1.5", '{"rateValue":1}', "\\\\", "å\u2028\n😀 12"];
    for (const createdBy of hostile) {
      host.publish(host.message(SHOP, { updatedRates: [row("8", "EUR", { createdBy })] }));
      await settled(client);
      assert.deepEqual([valueOf(client), client.rate(KEY).createdBy], ["8", createdBy]);
    }
  });

  test("numbers of any form keep their text, and malformed JSON stays malformed", () => {
    const text = '{"a":[1,-0.50,1e-7,2E+10,0],"b 1":"2","\\"3":4,"c":[true,null,"5\\\\"],"d":"\\u0022 6"}';
    assert.deepEqual(parseExactly(text), {
      a: ["1", "-0.50", "1e-7", "2E+10", "0"], "b 1": "2", '"3': "4", c: [true, null, "5\\"], d: '" 6',
    });
    for (const wrong of ["01", "1.", ".5", "+1", '"', '"a" 1', "1 2", "-"]) assert.throws(() => parseExactly(wrong), { code: "invalid" }, wrong);
  });

  test("a message without the publish time, the shop or a whole rate is refused with the path", () => {
    const good = host.message(SHOP, { createdRates: [row("1")] });
    const path = (change) => {
      const message = structuredClone(good);
      change(message);
      try {
        return readMessage(JSON.stringify(message)).businessUnitId;
      } catch (error) {
        return error.path;
      }
    };
    assert.equal(path(() => {}), SHOP);
    assert.equal(path((it) => (it.publishTime = TIME)), "$.publishTime");
    assert.equal(path((it) => delete it.data.businessUnitId), "$.data.businessUnitId");
    assert.equal(path((it) => (it.data.createdRates = {})), "$.data.createdRates");
    assert.equal(path((it) => delete it.data.createdRates[0].targetCurrencyCode), "$.data.createdRates[0]");
    assert.equal(path((it) => (it.data.createdRates[0].rateValue = "11,05")), "$.data.createdRates[0].rateValue");
  });
});

describe("the stream", () => {
  for (const eol of ["\n", "\r\n", "\r"]) {
    test(`may end its lines with ${JSON.stringify(eol)} and arrive byte by byte`, async () => {
      const text = [":hello", "id: 1", "data: å", "data:😀", "", "id: 2", ": alive", "", "event: reset", "data: {}", "", "data", "id:3", "x: y", "", "", "data: lost"].join(eol);
      for (const step of [1, 2, 3, 1000]) {
        const body = ReadableStream.from(chunks(text, step));
        const read = [];
        for await (const event of events(new Response(body))) read.push(event);
        assert.deepEqual(read, [
          { id: "1", event: "message", data: "å\n😀" },
          { id: "2", event: "message", data: undefined },
          { id: "2", event: "reset", data: "{}" },
          { id: "3", event: "message", data: "" },
        ]);
      }
    });
  }

  test("may be cut anywhere, also within a character", async () => {
    host.wire = { eol: "\r\n", bytes: 1 };
    const client = await connected();
    host.publish(host.message(SHOP, { updatedRates: [row("8.25", "EUR", { createdBy: "Åsa 😀" })] }));
    await until(() => valueOf(client) === "8.25", "the message is received");
    assert.equal(client.rate(KEY).createdBy, "Åsa 😀");
  });

  test("that is silent for too long is an error", async () => {
    const read = events(new Response(new ReadableStream()), { silenceMs: 1 });
    await assert.rejects(read.next(), /nothing for too long/);
  });
});

function* chunks(text, step) {
  const bytes = new TextEncoder().encode(text);
  for (let at = 0; at < bytes.length; at += step) yield bytes.subarray(at, at + step);
}

describe("the start", () => {
  test("a change between the opening of the stream and the list is not lost", async () => {
    const gate = host.gate(RATES, "after");
    const client = connect();
    await gate.arrived;
    await until(() => asked(RATES) === 1, "the list is made");
    await set("SEK/EUR", 11.2);
    await set("SEK/USD");
    gate.open();
    await client.ready();
    await until(() => valueOf(client) === "11.2" && valueOf(client, "USD") === "not_found", "the change is applied");
  });

  test("a change that the list contains already changes nothing", async () => {
    const gate = host.gate(RATES, "before");
    const client = connect();
    await gate.arrived;
    await set("SEK/EUR", 11.2);
    await set("SEK/EUR", 11.3);
    gate.open();
    await client.ready();
    await settled(client);
    assert.equal(valueOf(client), "11.3");
    const listed = await (await host.api("GET", `${RATES}?businessUnit=${SHOP}`)).json();
    const held = client.rates().filter(({ currencyIdTo }) => currencyIdTo !== "NOK");
    assert.deepEqual(held.map(({ rateValue }) => Number(rateValue)), listed.map(({ rateValue }) => rateValue));
  });

  test("a connection that is lost before anything was received starts again with the list", async () => {
    const client = connect();
    await client.ready();
    host.endStreams();
    await until(() => client.state === "STALE", "it is stale");
    await set("SEK/EUR", 11.4);
    client.retry();
    await until(() => valueOf(client) === "11.4", "the list is read again");
    assert.deepEqual(host.cursors, [undefined, undefined]);
    assert.equal(asked(RATES), 2);
  });

  test("a caller that may not read the rates is told so", async () => {
    const client = connect({ token: () => host.token("exr.rate.read") });
    await assert.rejects(client.ready(), { code: "denied", status: 403 });
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
        await failed;
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
  test("an event that only has an id moves the cursor", async () => {
    const client = await connected();
    const { cursor } = client.toJSON();
    host.publish(host.message("shop-2", { createdRates: [row("1")] }));
    host.heartbeat({ cursor: true });
    await until(() => client.toJSON().cursor !== cursor, "the cursor has moved");
    const moved = client.toJSON().cursor;
    host.endStreams();
    await until(() => host.cursors.length === 2, "it has reconnected");
    assert.equal(host.cursors[1], moved);
  });

  test("a client is ready again when it has heard from the host", async () => {
    const client = await connected();
    host.endStreams();
    await until(() => client.state === "STALE", "it is stale");
    client.retry();
    await until(() => host.cursors.length === 2 && host.listeners === 1, "it has reconnected");
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
    await until(() => valueOf(client) === "11.5" && valueOf(client, "USD") === "not_found", "the changes are received");
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
    client.resume();
    await until(() => host.cursors.length === 2, "it has reconnected");
    await until(() => client.state === "READY", "it is ready again");
    assert.deepEqual([valueOf(client), valueOf(client, "USD")], ["11.8", "not_found"]);
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
    assert.deepEqual([valueOf(client), valueOf(client, "DKK")], ["11.05", "not_found"]);
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
    await client.ready();
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
    await client.ready();
    assert.equal(client.businessUnitIds.length, 3);
    assert.equal(asked("/api/v1/initial-state"), 1);
  });

  test("is ready when the host was heard, if the caller may not know when the initial state is complete", async () => {
    host.isSlow = true;
    const client = connect({ tenantId: TENANT, token: () => host.token("exr.rate.read") });
    await until(() => host.listeners === 1 && host.requests.some((it) => it.includes("/changes/")), "the progress is refused");
    assert.equal(client.state, "STARTING");
    host.proceed();
    await client.ready();
    assert.equal(valueOf(client, "EUR", SHOP), "11.05");
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
    assert.deepEqual(["EUR", "USD"].map((to) => valueOf(client, to, SHOP)), ["11.05", "not_found"]);
    assert.equal(valueOf(client, "EUR", "shop-4"), "13");
    assert.equal(valueOf(client, "EUR", OTHER), "not_found");
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
    await client.ready();
    assert.deepEqual(["EUR", "USD"].map((to) => valueOf(client, to, SHOP)), ["20", "not_found"]);
  });

  test("a message that cannot be read is an error, and requests no other initial state", async () => {
    const client = await connected({ tenantId: TENANT });
    host.publish("{");
    await settled(client);
    assert.equal(client.errors.length, 1);
    assert.equal(asked("/api/v1/initial-state"), 1);
  });

  test("that does not exist is an error", async () => {
    await assert.rejects(connect({ tenantId: "nowhere" }).ready(), { code: "not_found" });
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
    assert.deepEqual(["EUR", "USD", "DKK"].map((to) => valueOf(next, to)), ["14", "not_found", "1"]);
    assert.equal(asked(RATES), 1);
  });

  test("say how old the rates are", async () => {
    const client = await connected();
    const hour = 3_600_000;
    const snapshot = { ...client.toJSON(), asOf: new Date(Date.now() - hour).toISOString() };
    const next = connect({ snapshot, fetch: () => Promise.reject(new Error("offline")) });
    await next.ready();
    assert.ok(next.ageMs >= hour && next.ageMs < 2 * hour);
    assert.equal(connect({ snapshot: { ...snapshot, asOf: "2099-01-01T00:00:00.000Z" } }).ageMs, 0);
  });

  test("that were made before there were rates are as good as none", async () => {
    const early = connect({ fetch: () => Promise.reject(new Error("offline")) });
    for (const snapshot of [JSON.parse(JSON.stringify(early)), null, undefined]) {
      const client = connect({ snapshot });
      assert.equal(client.state, "STARTING");
      await client.ready();
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

describe("held rates", () => {
  const time = (at) => `2026-11-20T00:00:00.${String(at).padStart(6, "0")}Z`;
  const rate = (currencyIdTo, rateValue) => ({ businessUnitId: SHOP, exchangeRateType: "SALES", currencyIdFrom: "SEK", currencyIdTo, rateValue });
  const message = (at, members) => ({ businessUnitId: SHOP, publishTime: time(at), createdRates: [], updatedRates: [], deletedRates: [], ...members });

  test("are the same for any order of messages, with repeats", () => {
    const next = random(20_261_120);
    const currencies = ["EUR", "USD", "NOK", "DKK"];
    const lists = ["createdRates", "updatedRates", "deletedRates"];
    for (let turn = 0; turn < 300; turn += 1) {
      const messages = Array.from({ length: 12 }, (_, at) =>
        message(at + 1, { [lists[next(3)]]: [rate(currencies[next(4)], String(at))] }),
      );
      const apply = (some) => {
        const held = new HeldRates();
        for (const each of some) held.apply(each, { whole: each === messages[5] });
        return held.rates(SHOP);
      };
      const shuffled = [...messages, ...messages].map((each) => [next(1 << 20), each]).sort(([one], [other]) => one - other);
      assert.deepEqual(apply(shuffled.map(([, each]) => each)), apply(messages));
    }
  });

  test("remember no more than the last 10,000 deleted rates", () => {
    const held = new HeldRates();
    const letter = (at) => String.fromCharCode(65 + (at % 26));
    const currency = (at) => letter(Math.floor(at / 676)) + letter(Math.floor(at / 26)) + letter(at);
    for (let at = 0; at < 10_001; at += 1) held.apply(message(at + 10, { deletedRates: [rate(currency(at))] }));
    assert.equal(held.toJSON().deleted.length, 10_000);
    held.apply(message(1, { createdRates: [rate(currency(10_000), "1"), rate(currency(0), "1")] }));
    assert.deepEqual(held.rates(SHOP).map(({ currencyIdTo }) => currencyIdTo), [currency(0)]);
  });
});

/** Whole numbers below a limit, the same for every seed. */
function random(seed) {
  let state = seed;
  return (limit) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
}
