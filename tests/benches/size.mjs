// Measures the disk space, memory and time of a host as it grows: with tenants of ten conditions each, with shops, and with
// each kept client, event, change of a rule and message of rates. Prints tables for tests/bench.
//
//     cargo build --release && node tests/benches/size.mjs [--part tenants|shops|kept] [--tenants N,N] [--shops N,N] [--program PATH]
//
// Needs redis-server and sqlite3. Times are processor time of the host, or of a command, so that other users of the machine
// hardly change them.

import { execFileSync } from "node:child_process";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";

import { administrator, ageCondition, evaluation, registration, startHost, tokenOf } from "../hostile/host.mjs";
import { issuers } from "../hostile/issuer.mjs";
import { startRedis } from "../hostile/redis.mjs";
import { ask, json, keepAlive } from "../hostile/wire.mjs";

const CONDITIONS = 10;

/** The number of concurrent requests. */
const WORKERS = 16;

/** How long a host stays idle before its memory is measured. */
const IDLE_MS = 5_000;

const PAUSE_MS = 100;

const { values } = parseArgs({
  options: {
    part: { type: "string", multiple: true, default: ["tenants", "shops", "kept"] },
    tenants: { type: "string", default: "1000,10000" },
    shops: { type: "string", default: "10000,100000" },
    program: { type: "string" },
  },
});
const program = resolve(values.program ?? new URL("../../target/release/tillgate", import.meta.url).pathname);
const numbers = (text) => text.split(",").map(Number);

const count = (number) => Math.round(number).toLocaleString("en");
const mib = (bytes) => `${(bytes / (1 << 20)).toFixed(0)} MiB`;
const time = (ms) => (ms < 1 ? `${count(ms * 1_000)} µs` : ms < 100 ? `${ms.toFixed(1)} ms` : `${(ms / 1_000).toFixed(1)} s`);
const row = (cells) => console.log(`| ${cells.join(" | ")} |`);
const head = (cells) => {
  row(cells);
  console.log(`|${cells.map(() => "---").join("|")}|`);
};

// An interrupted run ends its host too.
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(130));

/** A store in a folder: `bytes` of its file, and of what it has `kept` for longer than an hour. */
function embedded() {
  const folder = mkdtempSync(`${tmpdir()}/tillgate-size-`);
  const end = () => rmSync(folder, { recursive: true, force: true });
  process.once("exit", end);
  const file = `${folder}/tillgate.db`;
  const kept = () => {
    const copy = `${folder}/kept.db`;
    copyFileSync(file, copy);
    execFileSync("sqlite3", [copy, "DELETE FROM commits; DELETE FROM messages WHERE log IN (SELECT id FROM logs WHERE name = 'changes'); VACUUM"]);
    const { size } = statSync(copy);
    rmSync(copy);
    return size;
  };
  return { name: "embedded", url: `embedded:${folder}`, bytes: () => statSync(file).size, memory: () => undefined, kept, end };
}

/** A store on a Redis that writes to disk before it answers. */
async function redis() {
  const server = await startRedis({ isDurable: true });
  return { name: "Redis", ...server };
}

const STORES = [embedded, redis];

/** The ticks per second of the kernel's clock for processor time. */
const TICKS = Number(execFileSync("getconf", ["CLK_TCK"], { encoding: "utf8" }));

/** The processor time that a process has used, in milliseconds. */
function used(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").replace(/^.*\) /, "").split(" ");
  return ((Number(fields[11]) + Number(fields[12])) * 1_000) / TICKS;
}

/** Starts a host on a store, and returns the processor time that this took. */
async function begin(store, files) {
  const host = await startHost(program, { files, store: store.url });
  return { ...host, startMs: used(host.pid) };
}

/** The processor time of a host during a task. */
async function timed(host, doing) {
  const before = used(host.pid);
  await doing();
  return used(host.pid) - before;
}

/** Does a step for each number below `total`, several at once. */
async function each(total, step) {
  let next = 0;
  const work = async () => {
    const agent = keepAlive();
    while (next < total) {
      next += 1;
      await step(next - 1, agent);
    }
    agent.destroy();
  };
  await Promise.all(Array.from({ length: WORKERS }, work));
}

/** Sends a request that must succeed; repeats it while there is no room for it. */
async function must(host, request) {
  for (;;) {
    const answer = await ask(host, request);
    if (answer.status >= 200 && answer.status < 300) return answer;
    if (answer.status !== 429) throw new Error(`${answer.what}: ${answer.status} ${answer.why ?? answer.body.toString().slice(0, 200)}`);
    await sleep(PAUSE_MS);
  }
}

/** Tenants with conditions: writes them, restarts the host, and lets each tenant ask once. */
async function tenants(makeStore, total) {
  const store = await makeStore();
  const { files, token } = await issuers();
  const tokens = Array.from({ length: total }, (_, at) => token(`tenant-${at}`));
  const writing = await begin(store, files);
  const put = (at, agent) => must(writing, { ...ageCondition(`rule-${at % CONDITIONS}`), token: tokens[Math.floor(at / CONDITIONS)], agent });
  const writingMs = await timed(writing, () => each(total * CONDITIONS, put));
  await writing.end();
  const [bytes, memory] = [store.bytes(), store.memory()];
  const host = await begin(store, files);
  await sleep(IDLE_MS);
  const idle = host.memory();
  const firstMs = await timed(host, () => each(total, (at, agent) => must(host, { ...evaluation("rule-1"), token: tokens[at], agent })));
  await sleep(IDLE_MS);
  const all = host.memory();
  await host.end();
  const moved = memory ? ["", ""] : [backUp(store), await copy(store)];
  row([
    `${store.name}, ${count(total)}`,
    mib(bytes),
    memory ? mib(memory) : "",
    `${idle.toFixed(0)} MiB`,
    `${all.toFixed(0)} MiB`,
    time(host.startMs),
    time(writingMs / total / CONDITIONS),
    time(firstMs / total),
    ...moved.map((ms) => ms && time(ms)),
  ]);
  await store.end();
}

/** The processor time of a command, in milliseconds. */
function run(...args) {
  const told = execFileSync("bash", ["-c", 'TIMEFORMAT="%U %S"; { time "$@" > /dev/null 2> /dev/null; } 2>&1', "bash", program, ...args], { encoding: "utf8" });
  const [user, system] = told.trim().split(" ").map(Number);
  return (user + system) * 1_000;
}

function backUp({ url }) {
  const folder = mkdtempSync(`${tmpdir()}/tillgate-size-`);
  const ms = run("backup", `${folder}/backup.db`, "--store", url);
  rmSync(folder, { recursive: true });
  return ms;
}

async function copy({ url }) {
  const target = await redis();
  const ms = run("copy", "--from", url, "--to", target.url);
  target.end();
  return ms;
}

const CURRENCIES = "AED AUD BRL CAD CHF CNY CZK DKK GBP HKD HUF IDR ILS INR ISK JPY KRW MXN MYR NOK NZD PHP PLN RON SEK SGD THB TRY USD ZAR".split(" ");

/** The most shops of a tenant, without its company. */
const MOST_SHOPS = 99_999;

/** Rates of thirty pairs, so that a shop uses sixty. */
const setRates = (rateValue) => {
  const set = CURRENCIES.map((currencyIdFrom) => ({ exchangeRateType: "SALES", currencyIdFrom, currencyIdTo: "EUR", rateValue }));
  return { method: "POST", path: "/api/v1/business-units/company/exchange-rates", body: { set } };
};

const unit = (id, body) => ({ method: "PUT", path: `/api/v1/business-units/${id}`, body });
const shop = (at) => unit(`shop-${at}`, { type: "STORE", name: `Shop ${at}`, parentId: "company" });

/** Waits until a change has reached all shops. */
async function settled(host, token, answer) {
  const path = `/api/v1/exchange-rates/changes/${json(answer).correlationId}`;
  while (json(await must(host, { path, token })).state === "RUNNING") await sleep(PAUSE_MS);
}

/**
 * A tenant with this number of shops below a company with rates; its client. Shops opened before the rates are set are alike.
 */
async function chain(host, admin, name, total, areAlike = true) {
  const client = await admin.client(name, ["exr.editor", "exr.subscriber"]);
  const { token } = client;
  await must(host, { ...unit("company", { type: "COMPANY" }), token });
  const steps = [async () => settled(host, token, await must(host, { ...setRates(11), token })), () => each(total, (at, agent) => must(host, { ...shop(at), token, agent }))];
  for (const step of areAlike ? steps.reverse() : steps) await step();
  return client;
}

/** Shops, in as many tenants as needed; then all their rates change. */
async function shops(makeStore, total, areAlike) {
  const store = await makeStore();
  const writing = await begin(store);
  const clients = [];
  const openingMs = await timed(writing, async () => {
    for (let left = total; left > 0; left -= MOST_SHOPS) {
      // Opening all of them can take longer than a token is valid.
      const admin = await administrator(writing);
      clients.push(await chain(writing, admin, `chain-${clients.length}`, Math.min(left, MOST_SHOPS), areAlike));
    }
  });
  const tokens = await Promise.all(clients.map((client) => tokenOf(writing, client)));
  writing.forgetPeak();
  const changingMs = await timed(writing, () => Promise.all(tokens.map(async (token) => settled(writing, token, await must(writing, { ...setRates(12), token })))));
  const peak = writing.peak();
  await writing.end();
  const [bytes, memory] = [store.bytes(), store.memory()];
  const host = await begin(store);
  await sleep(IDLE_MS);
  row([
    `${store.name}, ${count(total)}${areAlike ? "" : ", no two alike"}${tokens.length > 1 ? `, in ${tokens.length} tenants` : ""}`,
    mib(bytes),
    memory ? mib(memory) : "",
    `${host.memory().toFixed(0)} MiB`,
    `${peak.toFixed(0)} MiB`,
    time(host.startMs),
    time(openingMs / total),
    time(changingMs / total),
  ]);
  await host.end();
  await store.end();
}

/** A receiver of webhooks that accepts everything. */
async function receiver() {
  let got = 0;
  const server = createServer((request, response) => {
    request.resume().on("end", () => {
      got += 1;
      response.writeHead(204).end();
    });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { port: server.address().port, got: () => got, end: () => server.close() };
}

/** Tokens stay valid when the host restarts on another port, and webhooks may lead to this machine. */
const SETTINGS = 'issuer = "https://tillgate.example/"\n[webhooks]\nallow_http = true\nallow_private = ["127.0.0.0/8"]\n[tokens]\npending_clients = 1000000\n';
const DATA = { text: "x".repeat(1_000) };

/** The size of one kept entry of each kind. */
const KEPT = [
  {
    what: "a client that has registered, such as a till",
    total: 10_000,
    prepare: async ({ admin }) => admin.template("acme", "till", { type: "object" }, ["ecs.evaluator"]),
    make: (host, at) => registration("acme", "till", { workstation_id: at }),
  },
  {
    what: "an event of 1 KiB, delivered to one webhook",
    total: 10_000,
    prepare: async ({ host, admin, hook }) => {
      const { token } = await admin.client("acme", ["exe.editor", "exe.publisher"]);
      const body = { name: "ERP", callbackUrl: `http://127.0.0.1:${hook.port}/`, eventTypes: ["x.orders.v1"], authentication: { type: "BEARER" } };
      await must(host, { method: "POST", path: "/api/v1/webhooks", body, token });
      return token;
    },
    make: () => ({ method: "POST", path: "/api/v1/events", body: { type: "x.orders.v1", data: DATA } }),
    done: async ({ hook, total }) => {
      while (hook.got() < total) await sleep(PAUSE_MS);
    },
  },
  {
    what: "a change of a condition, in its history",
    total: 10_000,
    prepare: async ({ admin }) => (await admin.client("acme", ["ecs.editor"])).token,
    make: (host, at) => ageCondition("rule", at % 100),
  },
  {
    what: "a message of a change of one rate, to a shop that is like others",
    total: 20,
    each: 1_000,
    prepare: async ({ host, admin }) => (await chain(host, admin, "acme", 1_000)).token,
    make: (host, at) => ({ method: "PUT", path: "/api/v1/business-units/company/exchange-rates/SALES/SEK/EUR", body: { rateValue: 20 + at } }),
    inTurn: true,
  },
];

async function kept(makeStore, { what, total, each: of = 1, prepare, make, done, inTurn }) {
  const store = await makeStore();
  const hook = await receiver();
  const { operator, ...first } = await begin(store, { "tillgate.toml": SETTINGS });
  const token = await prepare({ host: first, admin: await administrator({ ...first, operator }), hook });
  const size = async (host) => {
    await sleep(IDLE_MS);
    await host.end();
    return store.memory() ?? store.kept();
  };
  const before = await size(first);
  const host = await begin(store, { "tillgate.toml": SETTINGS });
  const send = async (at, agent) => {
    const request = make(host, at);
    // A request with its own address has its own connection.
    const answer = await must(host, { token: typeof token === "string" ? token : undefined, agent: request.from ? false : agent, ...request });
    if (inTurn) await settled(host, token, { body: JSON.stringify({ correlationId: answer.headers["correlation-id"] }) });
  };
  if (inTurn) for (let at = 0; at < total; at += 1) await send(at);
  else await each(total, send);
  await done?.({ hook, total });
  const bytes = ((await size(host)) - before) / (total * of);
  hook.end();
  await store.end();
  return `${count(bytes)} bytes`;
}

if (values.part.includes("tenants")) {
  head([`tenants with ${CONDITIONS} conditions each`, "on disk", "in Redis", "a host takes", "after all have asked", "time of a start", "of a change", "of a first decision", "of a backup", "of a copy to Redis"]);
  for (const total of numbers(values.tenants)) for (const store of STORES) await tenants(store, total);
}
if (values.part.includes("shops")) {
  head(["shops with 60 rates each", "on disk", "in Redis", "a host takes", "during a change of all", "time of a start", "of opening a shop", "of the change, each shop"]);
  for (const total of numbers(values.shops)) for (const store of STORES) await shops(store, total, true);
  for (const store of STORES) await shops(store, Math.min(...numbers(values.shops)), false);
}
if (values.part.includes("kept")) {
  head(["what is kept of", "embedded, on disk", "Redis, in memory"]);
  for (const one of KEPT) row([one.what, await kept(embedded, one), await kept(redis, one)]);
}
