// Changes of exchange rates that reach very many shops, large documents, and dry runs.

import assert from "node:assert/strict";

import { ask, flood, keepAlive } from "./wire.mjs";

const TENANT = "exchange";
const MAX_IMPORT = 16 << 20;
const CURRENCIES =
  "USD JPY CZK DKK GBP HUF PLN SEK CHF ISK NOK TRY AUD BRL CAD CNY HKD IDR ILS INR KRW MXN MYR NZD PHP SGD THB ZAR RON BGN HRK RUB LTL LVL".split(" ");

export const MANY_CURRENCIES = [
  ...CURRENCIES.filter((code) => !["HRK", "LTL", "LVL", "BGN"].includes(code)),
  ..."EUR AED ALL AMD AOA ARS AZN BDT BHD BOB BWP CLP COP CRC CVE DOP DZD EGP ETB GEL GHS GMD GTQ HNL JMD JOD KES KWD KZT LKR MAD".split(" "),
];
const TYPES = ["SALES", "PURCHASE", "INTERCOMPANY"];

export const unit = (id, type, parentId) => ({ method: "PUT", path: `/api/v1/business-units/${id}`, body: { type, parentId } });

/** This number of rates, each with its own key. */
export function manyRates(count, seed = 0) {
  const rates = [];
  for (const exchangeRateType of TYPES) {
    for (const currencyIdFrom of MANY_CURRENCIES) {
      for (const currencyIdTo of MANY_CURRENCIES) {
        if (currencyIdFrom === currencyIdTo) continue;
        if (rates.length === count) return rates;
        rates.push({ exchangeRateType, currencyIdFrom, currencyIdTo, rateValue: value(seed + rates.length) });
      }
    }
  }
  throw new Error(`there are ${rates.length} keys`);
}

/** Sets rates of a unit, a thousand at a time. */
export async function setMany({ host }, token, id, rates) {
  for (let at = 0; at < rates.length; at += 1_000) {
    const set = rates.slice(at, at + 1_000);
    const answer = await ask(host, { method: "POST", path: `/api/v1/business-units/${id}/exchange-rates`, body: { set }, token });
    assert.equal(answer.status, 200, answer.body.toString().slice(0, 200));
  }
}

export const put = async ({ host }, token, request) => {
  const answer = await ask(host, { ...request, token });
  if (![200, 201].includes(answer.status)) throw new Error(`${answer.what}: ${answer.status} ${answer.body.toString().slice(0, 200)}`);
};

/** Groups with a thousand rates each. */
async function manyRatesEach(shop, groups) {
  const { token } = await shop.admin.client(TENANT, ["exr.editor"]);
  await put(shop, token, unit("company", "COMPANY"));
  for (let group = 0; group < groups; group += 1) {
    await put(shop, token, unit(`group-${group}`, "GROUP", "company"));
    await setMany(shop, token, `group-${group}`, manyRates(1_000, group));
  }
  return { token, groups };
}

/** A company with 10,000 rates, and different groups below it. */
async function mostRates(shop, groups) {
  const { token } = await shop.admin.client(TENANT, ["exr.editor"]);
  await put(shop, token, unit("company", "COMPANY"));
  await setMany(shop, token, "company", manyRates(10_000));
  for (let group = 0; group < groups; group += 1) {
    await put(shop, token, unit(`group-${group}`, "GROUP", "company"));
    await setMany(shop, token, `group-${group}`, manyRates(1, group));
  }
  return { token, groups };
}

/** Levels of 10,000 rates, each below the one before. */
async function deep(shop, levels) {
  const { token } = await shop.admin.client(TENANT, ["exr.editor"]);
  for (let level = 0; level < levels; level += 1) {
    const request = level === 0 ? unit("level-0", "COMPANY") : unit(`level-${level}`, "GROUP", `level-${level - 1}`);
    await put(shop, token, request);
    await setMany(shop, token, `level-${level}`, manyRates(10_000, level));
  }
  return { token };
}

/** Units with a thousand markups each. */
async function markedUp(shop, units) {
  const { token } = await shop.admin.client(TENANT, ["exr.editor"]);
  const pairs = manyRates(4_000).filter(({ currencyIdFrom, currencyIdTo }) => currencyIdFrom < currencyIdTo).slice(0, 1_000);
  const markups = pairs.map(({ rateValue, ...key }) => ({ ...key, markupPercentage: rateValue }));
  for (let at = 0; at < units; at += 1) {
    const body = { type: "COMPANY", name: `Company ${at}`, markups };
    await put(shop, token, { method: "PUT", path: `/api/v1/business-units/company-${at}`, body });
  }
  return { token };
}

const get = (path) => ({ method: "GET", path });
const converting = (businessUnitId) => ({
  method: "POST",
  path: "/api/v1/exchange-rates/convert",
  body: { businessUnitId, exchangeRateType: "SALES", from: "EUR", to: "SEK", amount: 100, withMarkup: false },
});

/** All ways to read rates, of one unit after another. */
function reading({ groups }, number) {
  const id = `group-${number % groups}`;
  const ways = [
    get(`/api/v1/exchange-rates/history?businessUnit=${id}&exchangeRateType=SALES&currencyIdFrom=SEK&currencyIdTo=EUR&limit=1`),
    get(`/api/v1/business-units/${id}/exchange-rates/SALES/USD/JPY`),
    get(`/api/v1/business-units/${id}/exchange-rates`),
    get(`/api/v1/exchange-rates?businessUnit=${id}`),
    converting(id),
  ];
  return ways[Math.floor(number / groups) % ways.length];
}

/** Sets a rate of a unit. */
export const rate = (id, rateValue, query = "") => ({
  method: "PUT",
  path: `/api/v1/business-units/${id}/exchange-rates/SALES/SEK/EUR${query}`,
  body: { rateValue },
});

/** A company with shops, and a client that may change its rates. */
export async function company(shop, shops) {
  const { token } = await shop.admin.client(TENANT, ["exr.editor", "exr.subscriber"]);
  await put(shop, token, unit("company", "COMPANY"));
  await put(shop, token, rate("company", 11));
  let next = 0;
  const open = async () => {
    while (next < shops) {
      next += 1;
      await put(shop, token, unit(`shop-${next}`, "STORE", "company"));
    }
  };
  await Promise.all(Array.from({ length: 8 }, open));
  return { token };
}

/** Reference rates of all days since the first. */
function longHistory() {
  const rows = [`Date,${CURRENCIES.join(",")},`];
  const rateOf = (day, at) => `${1 + ((day * 7 + at) % 900)}.${1_000 + ((day * 13 + at) % 8_999)}`;
  const first = Date.UTC(1999, 0, 4);
  for (let [time, day] = [Date.UTC(2026, 0, 1), 0]; time >= first; time -= 86_400_000, day += 1) {
    const date = new Date(time).toISOString().slice(0, 10);
    rows.push(`${date},${CURRENCIES.map((_, at) => rateOf(day, at)).join(",")},`);
  }
  return rows.join("\n");
}

const importing = (body) => ({
  method: "POST",
  path: "/api/v1/reference-rates/import?businessUnitId=company&exchangeRateTypes=SALES&source=ECB&crosses=true",
  headers: { "content-type": "text/csv" },
  body,
});

/** An attack that asks on several connections, each in turn. */
const asking = (name, workers, prepare, request) => ({
  name,
  prepare,
  run: (shop, until) => {
    const { host, token, tally } = shop;
    const agents = Array.from({ length: workers }, () => keepAlive());
    return flood(workers, until, async (worker, round) => {
      tally.note(await ask(host, { ...request(shop, worker * 7 + round), token, agent: agents[worker] }));
    });
  },
});

function value(number) {
  return (1_000 + (number % 1_000)) / 100;
}

export const attacks = [
  asking("rates-readers", 8, (shop) => manyRatesEach(shop, 500), reading),
  asking("rates-history", 8, (shop) => manyRatesEach(shop, 500), (shop, number) => reading(shop, number % shop.groups)),
  asking("rates-converts", 16, (shop) => mostRates(shop, 64), (shop, number) => converting(`group-${number % shop.groups}`)),
  asking("rates-deep", 4, (shop) => deep(shop, 14), (_, number) => unit(`shop-${number % 50}`, "STORE", `level-${number % 2 ? 13 : 12}`)),
  asking("rates-units", 8, (shop) => markedUp(shop, 900), (_, number) => get(`/api/v1/business-units${number % 2 ? "?limit=1000" : ""}`)),
  asking("rates-fan-outs", 4, (shop) => company(shop, 2_000), (_, number) => rate("company", value(number))),
  asking("rates-dry-runs", 16, (shop) => company(shop, 2_000), (_, number) => rate("company", value(number), "?dryRun=true")),
  asking("rates-all-again", 4, (shop) => company(shop, 2_000), () => ({ method: "POST", path: "/api/v1/initial-state", body: { tenantId: TENANT } })),
  asking("rates-imports", 4, async (shop) => ({ ...(await company(shop, 50)), document: longHistory() }), ({ document }) => importing(document)),
];

export const checks = [
  {
    name: "documents of rates that are too large or no documents are refused",
    run: async (shop) => {
      const { token } = await company(shop, 1);
      const send = (body) => ask(shop.host, { ...importing(body), token });
      for (const body of ["x", "\0", ",", "\n"]) assert.equal((await send(body.repeat(1_000_000))).status, 400);
      assert.equal((await send("x".repeat(MAX_IMPORT + 1))).status, 413);
    },
  },
];
