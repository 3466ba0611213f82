// What a host takes of disk, memory and time as it grows: tenants with ten conditions each, shops, tills, and what is kept of
// events, changes of rules and messages of rates. Prints tables for tests/bench.
//
//     cargo build --release && node tests/bench_size.mjs [--part tenants|shops|kept] [--tenants N,N] [--shops N,N] [--program PATH]
//
// Requests are sent one after another on some connections from this machine, so the times are those of a busy host.

import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";

import { administrator, ageCondition, evaluation, startHost, tokenOf } from "./hostile/host.mjs";
import { issuers } from "./hostile/issuer.mjs";
import { startRedis } from "./hostile/redis.mjs";
import { ask, json, keepAlive } from "./hostile/wire.mjs";

const CONDITIONS = 10;
const RATES = 60;
const WORKERS = 16;

/** How long a host is left alone before its memory is looked at. */
const IDLE_MS = 5_000;

const { values } = parseArgs({
  options: {
    part: { type: "string", multiple: true },
    tenants: { type: "string", default: "1000,10000" },
    shops: { type: "string", default: "10000,100000" },
    program: { type: "string" },
  },
});
const program = resolve(values.program ?? new URL("../target/release/tillgate", import.meta.url).pathname);
const numbers = (text) => text.split(",").map(Number);
const count = (number) => number.toLocaleString("en");
const mib = (bytes) => `${(bytes / (1 << 20)).toFixed(bytes < 10 << 20 ? 1 : 0)} MiB`;

for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(130));

/** Stores of each kind: `{ name, url, bytes(), server(), end() }`, where `bytes` is on disk and `server` the memory of Redis. */
const STORES = {
  embedded: async () => {
    const folder = mkdtempSync(`${tmpdir()}/tillgate-size-`);
    const file = (name) => statSync(`${folder}/${name}`, { throwIfNoEntry: false })?.size ?? 0;
    process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
    return { name: "embedded", url: `embedded:${folder}`, bytes: () => file("tillgate.db"), server: () => "", end: () => rmSync(folder, { recursive: true, force: true }) };
  },
  redis: async () => {
    const redis = await startRedis({ isDurable: true });
    return { name: "Redis", ...redis, server: () => mib(redis.memory()) };
  },
};

/** A host on a store; how long it took until it serves; and what it takes once it was left alone. */
async function begin(store, files) {
  const from = performance.now();
  const host = await startHost(program, { files, store: store.url });
  return { ...host, startedMs: performance.now() - from };
}

/** Runs a step for each number below `total`, on some connections; returns how long each took in milliseconds, sorted. */
async function forEach(total, step) {
  const took = [];
  let next = 0;
  const work = async () => {
    const agent = keepAlive();
    while (next < total) {
      const at = next;
      next += 1;
      const from = performance.now();
      await step(at, agent);
      took.push(performance.now() - from);
    }
    agent.destroy();
  };
  await Promise.all(Array.from({ length: WORKERS }, work));
  return took.sort((a, b) => a - b);
}

/** Sends a request that must be answered with 2xx; one that has to wait is sent again. */
async function must(host, request) {
  for (;;) {
    const answer = await ask(host, request);
    if (answer.status >= 200 && answer.status < 300) return answer;
    if (![429, 503].includes(answer.status)) throw new Error(`${answer.what}: ${answer.status} ${answer.why ?? answer.body.toString().slice(0, 200)}`);
    await sleep(100);
  }
}

const middle = (sorted) => sorted[Math.floor(sorted.length / 2)];
const late = (sorted) => sorted[Math.floor(sorted.length * 0.99)];

async function tenants(kind, total) {
  const store = await STORES[kind]();
  const { files, token } = await issuers();
  let host = await begin(store, files);
  const tokens = Array.from({ length: total }, (_, at) => token(`tenant-${at}`));
  const from = performance.now();
  await forEach(total * CONDITIONS, (at, agent) => must(host, { ...ageCondition(`rule-${at % CONDITIONS}`), token: tokens[Math.floor(at / CONDITIONS)], agent }));
  const written = (total * CONDITIONS) / ((performance.now() - from) / 1_000);
  await host.end();
  const bytes = store.bytes();
  host = await begin(store, files);
  await sleep(IDLE_MS);
  const idle = host.memory();
  const first = await forEach(total, (at, agent) => must(host, { ...evaluation("rule-1"), token: tokens[at], agent }));
  await sleep(IDLE_MS);
  const all = host.memory();
  console.log(
    `| ${store.name}, ${count(total)} tenants | ${mib(bytes)} | ${store.server()} | ${(host.startedMs / 1_000).toFixed(1)} s | ${idle.toFixed(0)} MiB | ${all.toFixed(0)} MiB | ${middle(first).toFixed(1)} ms, ${late(first).toFixed(1)} ms | ${count(Math.round(written))}/s |`,
  );
  await host.end();
  await store.end();
}

const EDITOR = ["exr.editor", "exr.subscriber"];
const MOST_SHOPS = 100_000;
const CURRENCIES = "AUD BRL CAD CHF CNY CZK DKK GBP HKD HUF IDR ILS INR ISK JPY KRW MXN MYR NOK NZD PHP PLN RON SEK SGD THB TRY USD ZAR AED".split(" ");

/** Thirty pairs, both ways. */
const rates = (value) =>
  CURRENCIES.flatMap((currency) => [
    { exchangeRateType: "SALES", currencyIdFrom: currency, currencyIdTo: "EUR", rateValue: value },
    { exchangeRateType: "SALES", currencyIdFrom: "EUR", currencyIdTo: currency, rateValue: 0.5 },
  ]).slice(0, RATES);

/** So many shops, in companies of at most a tenant's quota. */
async function shops(kind, total) {
  const store = await STORES[kind]();
  let host = await begin(store);
  const { operator } = host;
  const admin = await administrator(host);
  const companies = Math.ceil(total / MOST_SHOPS);
  const unit = (id, body) => ({ method: "PUT", path: `/api/v1/business-units/${id}`, body });
  const set = (value) => ({ method: "POST", path: "/api/v1/business-units/company/exchange-rates", body: { set: rates(value) } });
  const opening = [];
  const tokens = [];
  for (let company = 0; company < companies; company += 1) {
    const { token } = await admin.client(`chain-${company}`, EDITOR);
    tokens.push(token);
    await must(host, { ...unit("company", { type: "COMPANY" }), token });
    await must(host, { ...set(11), token });
    const from = performance.now();
    await forEach(Math.min(MOST_SHOPS, total - company * MOST_SHOPS), (at, agent) => must(host, { ...unit(`shop-${at}`, { type: "STORE", name: `Shop ${at}`, parentId: "company" }), token, agent }));
    opening.push((performance.now() - from) / 1_000);
  }
  const settled = async (token, answer) => {
    const path = `/api/v1/exchange-rates/changes/${json(answer).correlationId}`;
    while (json(await must(host, { path, token })).state === "RUNNING") await sleep(50);
  };
  const from = performance.now();
  const answers = await Promise.all(tokens.map((token) => must(host, { ...set(12), token })));
  await Promise.all(answers.map((answer, at) => settled(tokens[at], answer)));
  const changed = (performance.now() - from) / 1_000;
  await host.end();
  const bytes = store.bytes();
  host = { ...(await begin(store)), operator };
  await sleep(IDLE_MS);
  console.log(
    `| ${store.name}, ${count(total)} shops | ${mib(bytes)} | ${store.server()} | ${(host.startedMs / 1_000).toFixed(1)} s | ${host.memory().toFixed(0)} MiB | ${(opening.reduce((a, b) => a + b) / 60).toFixed(1)} min | ${changed.toFixed(1)} s |`,
  );
  await host.end();
  await store.end();
}
