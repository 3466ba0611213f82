// `tillgate/rates` against a host: following its rates, losing the connection, restarting, converting. All of it holds for any
// host: tests that need a scripted one are in `rates-messages.test.mjs` and `rates-topic.test.mjs`.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";

import { RatesClient } from "../../js/src/runtime/rates.node.js";
import { clientWith, demo } from "../support/program.mjs";
import { proxy } from "../support/proxy.mjs";
import { TENANT, ratesHost } from "../support/rates-host.mjs";
import { until, within } from "../support/wait.mjs";

/** Each starts a host and returns `{ url, token, api, end }`. */
const HOSTS = [["a scripted host", ratesHost], ["the program", program]];

async function program() {
  const host = await demo();
  const client = await clientWith(host, ["exr.editor", "exr.subscriber"]);
  return { ...client, end: host.end };
}

/** The answers; units and rates are put for the first time, or again. */
const STATUSES = { GET: [200], POST: [200], PUT: [201, 200], DELETE: [204] };

const COMPANY = "test-company";
const SEK_EUR = { exchangeRateType: "SALES", currencyIdFrom: "SEK", currencyIdTo: "EUR" };
const EUR_SEK = { exchangeRateType: "SALES", currencyIdFrom: "EUR", currencyIdTo: "SEK" };

for (const [name, start] of HOSTS) {
  describe(`with ${name}`, () => {
    let host;
    const open = [];
    let shops = 0;

    before(async () => {
      host = await start();
      await send("PUT", `/api/v1/business-units/${COMPANY}`, { type: "COMPANY" });
    });
    after(async () => {
      for (const client of open) client.close();
      await host.end();
    });

    const send = async (method, path, body) => {
      const answer = await host.api(method, path, body);
      assert.ok(STATUSES[method].includes(answer.status), `${method} ${path}: ${answer.status}`);
      return answer.status === 204 ? undefined : answer.json();
    };
    const set = (shop, { exchangeRateType, currencyIdFrom, currencyIdTo }, rateValue) => {
      const path = `/api/v1/business-units/${shop}/exchange-rates/${exchangeRateType}/${currencyIdFrom}/${currencyIdTo}`;
      return rateValue === undefined ? send("DELETE", path) : send("PUT", path, { rateValue });
    };
    const unit = (shop, members) => send("PUT", `/api/v1/business-units/${shop}`, { type: "STORE", parentId: COMPANY, ...members });

    /** A new shop with a rate. */
    const newShop = async (members) => {
      const shop = `shop-${(shops += 1)}`;
      await unit(shop, members);
      await set(shop, SEK_EUR, 11.05);
      return shop;
    };

    const connect = (options) => {
      const client = new RatesClient({ url: host.url, token: () => host.token(), ...options });
      open.push(client);
      return client;
    };

    const value = (client, pair, businessUnitId) => {
      try {
        return client.rate({ ...pair, businessUnitId }).rateValue;
      } catch ({ code }) {
        return code;
      }
    };

    /** True if a client's rates equal the host's list. */
    const isAsListed = async (client, shop) => {
      const listed = await send("GET", `/api/v1/exchange-rates?businessUnit=${shop}`);
      const held = client.rates({ businessUnitId: shop });
      const short = ({ exchangeRateType, currencyIdFrom, currencyIdTo, rateValue, rateValueWithMarkup, createdDate }) =>
        [exchangeRateType, currencyIdFrom, currencyIdTo, Number(rateValue), Number(rateValueWithMarkup), createdDate].join(" ");
      return JSON.stringify(held.map(short)) === JSON.stringify(listed.map(short));
    };

    test("a client starts with the rates of its shop, in both directions and as decimal strings", async () => {
      const shop = await newShop({ markupPercentage: 2.5 });
      const client = connect({ businessUnitId: shop });
      assert.deepEqual([client.state, client.asOf, client.ageMs], ["STARTING", undefined, undefined]);
      assert.throws(() => client.rate(SEK_EUR), { code: "not_ready" });
      await within(client.ready(), "the client is ready");
      assert.equal(client.state, "READY");
      const { createdDate, createdBy, lastModified, ...rate } = client.rate(SEK_EUR);
      assert.deepEqual(rate, { businessUnitId: shop, ...SEK_EUR, rateValue: "11.05", rateValueWithMarkup: "10.77375" });
      assert.equal(client.rate(EUR_SEK).rateValue, "0.090498");
      assert.equal(client.rate(EUR_SEK).rateValueWithMarkup, "0.088235");
      assert.deepEqual(client.rates().map(({ currencyIdFrom }) => currencyIdFrom), ["EUR", "SEK"]);
      assert.ok(client.asOf instanceof Date && client.ageMs >= 0);
      assert.ok(await isAsListed(client, shop));
    });

    test("changes are received: new rates, new values, new markups, deleted rates", async () => {
      const shop = await newShop();
      const client = connect({ businessUnitId: shop });
      const changes = [];
      await within(client.ready(), "the client is ready");
      client.addEventListener("change", ({ businessUnitId, message }) => changes.push({ businessUnitId, ...message }));
      const usd = { ...SEK_EUR, currencyIdTo: "USD" };
      await set(shop, usd, 9.5);
      await until(() => value(client, usd) === "9.5", "there is a rate to USD");
      await set(shop, SEK_EUR, 11.1);
      await until(() => value(client, SEK_EUR) === "11.1", "there is a new value");
      await unit(shop, { markupPercentage: 10 });
      await until(() => client.rate(SEK_EUR).rateValueWithMarkup === "9.99", "there is a markup");
      await set(shop, SEK_EUR);
      await until(() => value(client, EUR_SEK) === "rate_not_found", "it is deleted in both directions");
      assert.ok(await isAsListed(client, shop));
      const counts = changes.map(({ createdRates, updatedRates, deletedRates }) => [createdRates.length, updatedRates.length, deletedRates.length]);
      assert.deepEqual(counts, [[2, 0, 0], [0, 2, 0], [0, 4, 0], [0, 0, 2]]);
      const times = changes.map(({ publishTime }) => publishTime);
      assert.deepEqual(times, [...times].sort());
      for (const { businessUnitId, tenantId, messageId, correlationId } of changes) {
        assert.deepEqual([businessUnitId, tenantId], [shop, TENANT]);
        assert.ok(messageId.length > 0 && correlationId.length > 0);
      }
      assert.equal(changes[3].deletedRates[1].rateValue, "11.1");
    });

    test("the rates of other shops are not received", async () => {
      const [shop, other] = [await newShop(), await newShop()];
      const client = connect({ businessUnitId: shop });
      await within(client.ready(), "the client is ready");
      await set(other, SEK_EUR, 12);
      await set(shop, SEK_EUR, 11.5);
      await until(() => value(client, SEK_EUR) === "11.5", "the shop's own is received");
      assert.deepEqual(client.businessUnitIds, [shop]);
      assert.throws(() => client.rate({ ...SEK_EUR, businessUnitId: other }), { code: "business_unit_not_found", path: "$.businessUnitId" });
    });

    test("an amount is converted as the host converts it", async () => {
      const shop = await newShop({ markupPercentage: 2.5 });
      await set(shop, { ...SEK_EUR, currencyIdFrom: "JPY" }, 178.49);
      const client = connect({ businessUnitId: shop });
      await within(client.ready(), "the client is ready");
      const amount = "149.90";
      const { rate, ...converted } = client.convert({ amount, from: "EUR", to: "SEK", exchangeRateType: "SALES" });
      assert.deepEqual(converted, { amount: "1656.40", currency: "SEK" });
      assert.equal(rate, client.rate(SEK_EUR));
      assert.equal(client.convert({ amount, from: "EUR", to: "SEK", exchangeRateType: "SALES", withMarkup: true }).amount, "1614.99");
      for (const [from, to] of [["EUR", "SEK"], ["SEK", "EUR"], ["EUR", "JPY"], ["JPY", "EUR"]]) {
        for (const withMarkup of [undefined, false, true]) {
          const asked = { from, to, exchangeRateType: "SALES", withMarkup };
          const there = await send("POST", "/api/v1/exchange-rates/convert", { businessUnitId: shop, ...asked, amount: 149.9 });
          assert.equal(Number(client.convert({ amount, ...asked }).amount), there.amount, JSON.stringify(asked));
        }
      }
    });

    test("what cannot be answered is an error with a code and a path", async () => {
      const shop = await newShop();
      const client = connect({ businessUnitId: shop });
      await within(client.ready(), "the client is ready");
      const asked = { amount: "1", from: "EUR", to: "SEK", exchangeRateType: "SALES" };
      for (const [change, code, path] of [
        [{ exchangeRateType: "PURCHASE" }, "rate_not_found", "$"],
        [{ to: "USD" }, "rate_not_found", "$"],
        [{ businessUnitId: "nowhere" }, "business_unit_not_found", "$.businessUnitId"],
        [{ exchangeRateType: "sales" }, "invalid", "$.exchangeRateType"],
        [{ from: "euro" }, "invalid", "$.from"],
        [{ to: "EUR" }, "invalid", "$.to"],
        [{ amount: 1 }, "invalid", "$.amount"],
        [{ amount: "1,5" }, "invalid", "$.amount"],
        [{ withMarkup: "yes" }, "invalid", "$.withMarkup"],
        [{ withMarkUp: true }, "invalid", "$.withMarkUp"],
      ]) {
        assert.throws(() => client.convert({ ...asked, ...change }), { name: "TillgateError", code, path }, JSON.stringify(change));
      }
      assert.throws(() => client.rate({ ...SEK_EUR, currencyIdTo: "SEK" }), { code: "invalid", path: "$.currencyIdTo" });
      assert.throws(() => client.convert(), ({ faults }) => faults.length === 3);
      client.close();
      client.close();
      assert.equal(client.state, "CLOSED");
      assert.throws(() => client.rate(SEK_EUR), { code: "closed" });
    });

    test("a shop that does not exist is an error, and so is a client that is closed early", async () => {
      const client = connect({ businessUnitId: "nowhere" });
      await assert.rejects(client.ready(), { code: "business_unit_not_found", status: 404 });
      client.close();
      const early = connect({ businessUnitId: "nowhere" });
      early.close();
      await assert.rejects(early.ready(), { code: "closed" });
    });

    test("a company or a group is an error, because no message is about it", async () => {
      for (const options of [{ businessUnitId: COMPANY }, { businessUnitId: COMPANY, tenantId: TENANT }]) {
        const refused = { code: "invalid", status: 400, path: "$.businessUnitId", message: /^\$\.businessUnitId must be a shop/ };
        await assert.rejects(within(connect(options).ready(), "the error of a company"), refused);
      }
    });

    test("without a connection the last rates are used, and afterwards nothing is missing", async () => {
      const shop = await newShop();
      await set(shop, { ...SEK_EUR, currencyIdTo: "USD" }, 9.5);
      const gate = await proxy(host.url);
      const paths = [];
      const client = connect({
        url: gate.url,
        businessUnitId: shop,
        fetch: (url, options) => (paths.push(new URL(url).pathname), fetch(url, options)),
      });
      await within(client.ready(), "the client is ready");
      await set(shop, SEK_EUR, 11.2);
      await until(() => value(client, SEK_EUR) === "11.2", "a message is received");
      gate.cut();
      await until(() => client.state === "STALE", "it is stale");
      const asOf = client.asOf.getTime();
      assert.equal(client.convert({ amount: "100", from: "EUR", to: "SEK", exchangeRateType: "SALES" }).amount, "1120.00");
      const messages = [];
      client.addEventListener("change", ({ message }) => messages.push(message));
      await set(shop, SEK_EUR, 11.3);
      await set(shop, SEK_EUR, 11.4);
      await set(shop, { ...SEK_EUR, currencyIdTo: "USD" });
      assert.equal(client.asOf.getTime(), asOf);
      gate.restore();
      client.retry();
      await until(() => client.rates().length === 2 && value(client, SEK_EUR) === "11.4", "the changes are received");
      await until(() => client.state === "READY", "it is ready again");
      assert.ok(client.asOf.getTime() > asOf);
      assert.ok(messages.every((message) => message !== undefined), "nothing was read again");
      assert.equal(paths.filter((path) => path === "/api/v1/exchange-rates").length, 1);
      client.close();
      gate.end();
    });

    test("a paused client receives the changes when it is resumed", async () => {
      const shop = await newShop();
      const client = connect({ businessUnitId: shop });
      await within(client.ready(), "the client is ready");
      client.pause();
      await until(() => client.state === "STALE", "it is stale");
      await set(shop, SEK_EUR, 11.6);
      assert.equal(value(client, SEK_EUR), "11.05");
      client.resume();
      await until(() => value(client, SEK_EUR) === "11.6", "the change is received");
      await until(() => client.state === "READY", "it is ready again");
    });

    test("a client of a tenant has the rates of every shop, and of shops that are new", async () => {
      const [one, other] = [await newShop(), await newShop({ markupPercentage: 50 })];
      const client = connect({ tenantId: TENANT });
      await within(client.ready(), "the client is ready");
      assert.equal(client.state, "READY");
      assert.equal(client.rate({ ...SEK_EUR, businessUnitId: one }).rateValueWithMarkup, "11.05");
      assert.equal(client.rate({ ...SEK_EUR, businessUnitId: other }).rateValueWithMarkup, "5.525");
      assert.throws(() => client.rate(SEK_EUR), { code: "invalid", path: "$.businessUnitId" });
      const late = await newShop();
      await until(() => value(client, SEK_EUR, late) === "11.05", "the new shop's rates are received");
      await send("DELETE", `/api/v1/business-units/${other}`);
      await until(() => value(client, SEK_EUR, other) === "rate_not_found", "a shop's rates go with the shop");
      for (const shop of [one, late]) assert.ok(await isAsListed(client, shop), shop);
    });

    test("a client of one shop of a tenant needs no list of its rates", async () => {
      const shop = await newShop();
      const paths = [];
      const client = connect({
        tenantId: TENANT,
        businessUnitId: shop,
        fetch: (url, options) => (paths.push(new URL(url).pathname), fetch(url, options)),
      });
      await within(client.ready(), "the client is ready");
      assert.equal(value(client, SEK_EUR), "11.05");
      assert.deepEqual(client.businessUnitIds, [shop]);
      assert.equal(paths.includes("/api/v1/exchange-rates"), false);
    });

    test("a client that starts with a snapshot goes on, offline and then with what it has missed", async () => {
      const shop = await newShop();
      const gate = await proxy(host.url);
      const first = connect({ url: gate.url, businessUnitId: shop });
      await within(first.ready(), "the client is ready");
      await set(shop, SEK_EUR, 11.7);
      await until(() => value(first, SEK_EUR) === "11.7", "a message is received");
      const text = JSON.stringify(first);
      first.close();
      gate.cut();
      await set(shop, SEK_EUR, 11.8);

      const snapshot = JSON.parse(text);
      const next = connect({ url: gate.url, businessUnitId: shop, snapshot });
      assert.equal(next.state, "STALE");
      assert.equal(next.asOf.toISOString(), snapshot.asOf);
      await within(next.ready(), "the client is ready");
      assert.equal(next.convert({ amount: "100", from: "EUR", to: "SEK", exchangeRateType: "SALES" }).amount, "1170.00");
      assert.deepEqual(JSON.parse(JSON.stringify(next)), snapshot);
      const changes = [];
      next.addEventListener("change", ({ message }) => changes.push(message));
      gate.restore();
      next.retry();
      await until(() => value(next, SEK_EUR) === "11.8", "the change is received");
      assert.equal(changes.length, 1);
      assert.equal(changes[0].updatedRates.length, 2);
      next.close();
      gate.end();
    });
  });
}
