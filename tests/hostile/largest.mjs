// Measures how long a change at the top of a large tenant takes to reach all shops.
//
//   node tests/hostile/largest.mjs [--shops N] [--groups N] [--program PATH]
//
// The company sets 10,000 rates, and so does each group below it, with other keys: a shop uses 20,000, and shops of different
// groups use different ones. Then the company sets one rate, and after that a hundred. Each time it prints the time until all
// shops had it, the memory of the host before and at most, and the latencies of another tenant's decisions.

import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { setTimeout as sleep } from "node:timers/promises";

import { administrator, startHost } from "./host.mjs";
import { MANY_CURRENCIES, unit } from "./rates.mjs";
import { quantiles } from "./report.mjs";
import { Watch } from "./watch.mjs";
import { ask, json, keepAlive } from "./wire.mjs";

const TENANT = "exchange";

/** The rates per request. */
const AT_ONCE = 1_000;

/** The interval of asking if all shops have a change. */
const POLL_MS = 50;

const { values } = parseArgs({
  options: {
    shops: { type: "string", default: "2000" },
    groups: { type: "string", default: "4" },
    program: { type: "string" },
  },
});
const program = resolve(values.program ?? new URL("../../target/release/tillgate", import.meta.url).pathname);
const [shops, groups] = [Number(values.shops), Number(values.groups)];

const MORE_CURRENCIES = "MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MZN NAD NGN NIO NPR OMR PAB PEN PGK PKR PYG QAR RSD RWF SAR SCR".split(" ");
const ALL_CURRENCIES = [...MANY_CURRENCIES, ...MORE_CURRENCIES];

/** Rates with keys from a place on, both directions of a pair in a row; their values depend on the seed. */
function ratesOf(from, count, seed) {
  const keys = [];
  for (const exchangeRateType of ["SALES", "PURCHASE", "INTERCOMPANY"]) {
    for (const one of ALL_CURRENCIES) {
      for (const other of ALL_CURRENCIES.filter((other) => one < other)) {
        keys.push({ exchangeRateType, currencyIdFrom: one, currencyIdTo: other });
        keys.push({ exchangeRateType, currencyIdFrom: other, currencyIdTo: one });
      }
    }
  }
  return keys.slice(from, from + count).map((key, at) => ({ ...key, rateValue: (1_000 + ((seed + at) % 900)) / 100 }));
}

const host = await startHost(program, {});
process.once("SIGINT", () => process.exit(130));
try {
  const admin = await administrator(host);
  const { token } = await admin.client(TENANT, ["exr.editor"]);
  const must = async (request) => {
    let answer;
    // The changes before it may have too many shops left to visit.
    do answer = await ask(host, { ...request, token });
    while (answer.status === 429);
    if (![200, 201].includes(answer.status)) throw new Error(`${answer.what}: ${answer.status} ${answer.body.toString().slice(0, 200)}`);
    return answer;
  };
  /** Waits until no change has shops left to visit; the answer that made a change names it. */
  const settled = async (answer) => {
    const id = json(answer).correlationId;
    for (;;) {
      const change = await ask(host, { method: "GET", path: `/api/v1/exchange-rates/changes/${id}`, token });
      if (change.status === 200 && json(change).state !== "RUNNING") return json(change);
      await sleep(POLL_MS);
    }
  };
  const begin = performance.now();
  await must(unit("company", "COMPANY"));
  for (let group = 0; group < groups; group += 1) await must(unit(`group-${group}`, "GROUP", "company"));
  let next = 0;
  const open = async (agent) => {
    while (next < shops) {
      const [shop, group] = [next, next % groups];
      next += 1;
      await must({ ...unit(`shop-${group}-${shop}`, "STORE", `group-${group}`), agent });
    }
  };
  await Promise.all(Array.from({ length: 8 }, () => open(keepAlive())));
  console.log(`${shops} shops after ${seconds(begin)} s`);
  for (let at = 0; at < 10_000; at += AT_ONCE) await must(set("company", ratesOf(at, AT_ONCE, 0)));
  for (let group = 0; group < groups; group += 1) {
    for (let at = 0; at < 10_000; at += AT_ONCE) await must(set(`group-${group}`, ratesOf(10_000 + at, AT_ONCE, group)));
  }
  const last = await must(set("company", ratesOf(0, 1, 7)));
  console.log(`rates set after ${seconds(begin)} s`);
  console.log(await settled(last));
  console.log(`all shops have them after ${seconds(begin)} s`);

  const watch = await Watch.begin(host, await administrator(host));
  const idle = watch.phase();
  await sleep(3_000);
  for (const many of [1, 100]) {
    host.forgetPeak();
    const before = host.memory();
    const during = watch.phase();
    const began = performance.now();
    const done = await settled(await must(set("company", ratesOf(0, many, many * 17))));
    const took = seconds(began);
    const peak = host.peak();
    watch.phase();
    console.log(`${many} rates: ${took} s, ${before.toFixed(0)} MiB, at most ${peak.toFixed(0)} MiB`, done);
    console.log(`  others' decisions meanwhile: ${quantiles(await during.end())} ms`);
  }
  console.log(`others' decisions before: ${quantiles(await idle.end())} ms`);
  await watch.stop();
} finally {
  await host.end();
}

function set(id, rates) {
  return { method: "POST", path: `/api/v1/business-units/${id}/exchange-rates`, body: { set: rates } };
}

function seconds(since) {
  return ((performance.now() - since) / 1_000).toFixed(1);
}
