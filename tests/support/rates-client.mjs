// For tests of `RatesClient` against a scripted host: each test has a new host with a shop, and its clients are closed.

import assert from "node:assert/strict";
import { afterEach, beforeEach } from "node:test";

import { RatesClient } from "../../js/src/runtime/rates.node.js";
import { ratesHost } from "./rates-host.mjs";
import { until, within } from "./wait.mjs";

export const SHOP = "shop-1";
export const RATES = "/api/v1/exchange-rates";
export const KEY = { exchangeRateType: "SALES", currencyIdFrom: "SEK", currencyIdTo: "EUR" };
export const TIME = "2026-11-20T17:40:00.000Z";

/** A rate of the topic. */
export const row = (rateValue, target = "EUR", members = {}) => ({
  exchangeRateType: "SALES",
  sourceCurrencyCode: "SEK",
  targetCurrencyCode: target,
  rateValue,
  rateValueWithMarkup: rateValue,
  createdDate: TIME,
  ...members,
});

export let host;
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

export const set = async (pair, rateValue, shop = SHOP) => {
  const method = rateValue === undefined ? "DELETE" : "PUT";
  const { status } = await host.api(method, `/api/v1/business-units/${shop}/exchange-rates/SALES/${pair}`, { rateValue });
  // A rate is set for the first time, or again.
  assert.ok((method === "PUT" ? [201, 200] : [204]).includes(status), `${status}`);
};

export function connect(options) {
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

export async function connected(options) {
  const client = connect(options);
  await within(client.ready(), "the client is ready");
  return client;
}

export const valueOf = (client, currencyIdTo = "EUR", businessUnitId = undefined) => {
  try {
    return client.rate({ ...KEY, currencyIdTo, businessUnitId }).rateValue;
  } catch ({ code }) {
    return code;
  }
};

/** Publishes a last message and waits until the client has received it, and so all earlier ones. */
export async function settled(client, businessUnitId = SHOP) {
  const marker = `marker-${host.time()}`;
  host.publish(host.message(businessUnitId, { createdRates: [row("1", "NOK", { createdBy: marker })] }));
  await until(() => client.rates({ businessUnitId }).some(({ createdBy }) => createdBy === marker), "the last message is received");
}

/** The number of requests of a path. */
export const asked = (path) => host.requests.filter((request) => request.endsWith(` ${path}`)).length;
