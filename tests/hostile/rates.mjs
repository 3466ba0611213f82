// Changes of exchange rates that reach very many shops, large documents, and plans of what would change.

import assert from "node:assert/strict";

import { ask, flood, keepAlive } from "./wire.mjs";

const TENANT = "exchange";
const MAX_IMPORT = 16 << 20;
const CURRENCIES =
  "USD JPY CZK DKK GBP HUF PLN SEK CHF ISK NOK TRY AUD BRL CAD CNY HKD IDR ILS INR KRW MXN MYR NZD PHP SGD THB ZAR RON BGN HRK RUB LTL LVL".split(" ");

const unit = (id, type, parentId) => ({ method: "PUT", path: `/api/v1/business-units/${id}`, body: { type, parentId } });

/** Sets a rate of a unit. */
export const rate = (id, rateValue, query = "") => ({
  method: "PUT",
  path: `/api/v1/business-units/${id}/exchange-rates/SALES/SEK/EUR${query}`,
  body: { rateValue },
});

/** A company with shops, and who may change its rates. */
export async function company({ host, admin }, shops) {
  const { token } = await admin.client(TENANT, ["exr.editor", "exr.subscriber"]);
  const put = async (request) => {
    const answer = await ask(host, { ...request, token });
    if (![200, 201].includes(answer.status)) throw new Error(`${answer.what}: ${answer.status} ${answer.body.toString().slice(0, 200)}`);
  };
  await put(unit("company", "COMPANY"));
  await put(rate("company", 11));
  let next = 0;
  const open = async () => {
    while (next < shops) {
      next += 1;
      await put(unit(`shop-${next}`, "STORE", "company"));
    }
  };
  await Promise.all(Array.from({ length: 8 }, open));
  return { token };
}

/** Reference rates of all days since there are any. */
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

/** An attack that asks from some connections, each in its turn. */
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

const value = (number) => (1_000 + (number % 1_000)) / 100;

export const attacks = [
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
