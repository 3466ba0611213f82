// Webhooks with receivers that never answer, and a journal that is read repeatedly.

import assert from "node:assert/strict";

import { silentServer } from "./issuer.mjs";
import { ask, flood, freshAddress, json, keepAlive } from "./wire.mjs";

const TENANT = "integrator";
const TYPE = "x.orders.v1";
const NO_SUCH_TYPE = "x.nothing.v1";

const ALLOW_THIS_MACHINE = `
[webhooks]
allow_http = true
allow_private = ["127.0.0.0/8"]
`;

const webhook = (callbackUrl) => ({ name: "silent", callbackUrl, eventTypes: [TYPE], authentication: { type: "BEARER" } });
const event = (bytes) => ({ method: "POST", path: "/api/v1/events", body: { type: TYPE, data: { text: "x".repeat(bytes) } } });
const ping = (callbackUrl) => ({ method: "POST", path: "/api/v1/webhooks/ping", body: webhook(callbackUrl) });

/** Webhooks with a receiver that accepts every connection and answers none. */
async function silentWebhooks({ host, admin }, count) {
  const { token } = await admin.client(TENANT, ["exe.editor", "exe.publisher"]);
  const { port } = await silentServer();
  const callback = (at) => `http://127.0.0.1:${port}/${at}`;
  for (let at = 0; at < count; at += 1) {
    const made = await ask(host, { method: "POST", path: "/api/v1/webhooks", body: webhook(callback(at)), token });
    if (made.status !== 201) throw new Error(`no webhook: ${made.status} ${made.body}`);
  }
  return { token, callback };
}

/** Webhooks with filters that let nothing through, and an event with as many members as fit. */
async function filtered({ host, admin }, count) {
  const { token } = await admin.client(TENANT, ["exe.editor", "exe.publisher"]);
  for (let at = 0; at < count; at += 1) {
    const filter = [{ path: `$.data.m${at}`, in: [-1] }];
    const body = { ...webhook(`https://receiver-${at}.example/`), filter };
    const made = await ask(host, { method: "POST", path: "/api/v1/webhooks", body, token });
    if (made.status !== 201) throw new Error(`no webhook: ${made.status} ${made.body}`);
  }
  const data = Object.fromEntries(Array.from({ length: 17_500 }, (_, at) => [`m${at}`, at]));
  return { token, large: { type: TYPE, data } };
}

/** The same with deliveries: as many as webhooks for each event. */
async function withJournal(shop, webhooks, events) {
  const prepared = await silentWebhooks(shop, webhooks);
  const agent = keepAlive();
  for (let times = 0; times < events; times += 1) await ask(shop.host, { ...event(100), token: prepared.token, agent });
  return prepared;
}

/** Turns the pages of the journal with a filter that finds nothing: each examines the most deliveries of a page. */
async function turnPages({ host, token, tally }, until) {
  const agent = keepAlive();
  let cursor = "";
  while (performance.now() < until) {
    const path = `/api/v1/deliveries?eventType=${NO_SUCH_TYPE}&limit=1000${cursor}`;
    const page = tally.note(await ask(host, { path, token, agent }));
    const { next } = page.status === 200 ? json(page) : {};
    cursor = next ? `&cursor=${next}` : "";
  }
}

/** Repeats a request on several connections, each from its own address. */
const asking = (workers, request) => (shop, until) => {
  const { host, token, tally } = shop;
  const agents = Array.from({ length: workers }, () => keepAlive(1, freshAddress()));
  return flood(workers, until, async (worker) => tally.note(await ask(host, { ...request(shop, worker), token, agent: agents[worker] })));
};

const files = () => ({ "tillgate.toml": ALLOW_THIS_MACHINE });

export const attacks = [
  {
    name: "webhooks-silent",
    seconds: 20,
    files,
    prepare: (shop) => silentWebhooks(shop, 200),
    run: asking(8, () => event(250 << 10)),
  },
  {
    name: "events-filters",
    files,
    prepare: (shop) => filtered(shop, 996),
    run: asking(8, ({ large }) => ({ method: "POST", path: "/api/v1/events", body: large })),
  },
  {
    name: "pings-200-files",
    openFiles: 200,
    seconds: 15,
    files,
    prepare: (shop) => silentWebhooks(shop, 1),
    run: asking(60, ({ callback }, worker) => ping(callback(worker))),
  },
  {
    name: "journal-pages",
    files,
    prepare: (shop) => withJournal(shop, 100, 200),
    run: (shop, until) => Promise.all(Array.from({ length: 16 }, () => turnPages(shop, until))),
  },
  {
    name: "replays",
    files,
    prepare: (shop) => withJournal(shop, 100, 50),
    run: asking(8, () => ({ method: "POST", path: "/api/v1/deliveries/replay", body: { eventType: NO_SUCH_TYPE } })),
  },
];

export const checks = [
  {
    name: "a receiver on this machine is not dialled by default",
    run: async ({ host, admin }) => {
      const { token } = await admin.client(TENANT, ["exe.editor"]);
      const { port, dialled } = await silentServer();
      const tried = await ask(host, { ...ping(`https://127.0.0.1:${port}/x`), token });
      assert.ok(tried.status < 500, `${tried.status} ${tried.body}`);
      assert.equal(dialled(), 0);
    },
  },
  {
    name: "publishing to receivers that never answer is answered, and the journal turns its pages",
    files,
    run: async (shop) => {
      const { token } = await silentWebhooks(shop, 20);
      for (let times = 0; times < 20; times += 1) assert.equal((await ask(shop.host, { ...event(100), token })).status, 202);
      assert.equal((await ask(shop.host, { ...event(300 << 10), token })).status, 400);
      const page = await ask(shop.host, { path: `/api/v1/deliveries?eventType=${NO_SUCH_TYPE}`, token });
      assert.equal(page.status, 200);
    },
  },
];
