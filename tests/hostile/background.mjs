// Work that goes on when a request is answered, and answers that do not end: streams, rates, webhooks.

import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";

import { decider } from "./decisions.mjs";
import { ageCondition } from "./host.mjs";
import { silentServer } from "./issuer.mjs";
import { ask, flood, freshAddress, head, json, keepAlive, open } from "./wire.mjs";

const TENANT = "busy";
const MAX_IMPORT = 16 << 20;
const TYPE = "x.orders.v1";

const ALLOW_THIS_MACHINE = `
[webhooks]
allow_http = true
allow_private = ["127.0.0.0/8"]
`;

const withRoles = async ({ admin }, roles) => ({ token: (await admin.client(TENANT, roles)).token });

const must = async (host, token, request) => {
  const answer = await ask(host, { ...request, token });
  if (answer.status >= 300 || answer.status === 0) throw new Error(`${answer.what}: ${answer.status} ${answer.body.toString().slice(0, 200)}`);
  return answer;
};

const sends = ({ host, token, tally }, agent) => async (request) => tally.note(await ask(host, { ...request, token, agent }));

/** Opens streams, reads them, and returns their connections. */
function follow({ host, token }, path, from, count) {
  return Array.from({ length: count }, () => {
    const stream = open(host, { from });
    stream.socket.write(head(`GET ${path}`, { Authorization: `Bearer ${token}` }));
    return stream;
  });
}

const unit = (id, type, parentId) => ({ method: "PUT", path: `/api/v1/business-units/${id}`, body: { type, parentId } });
const rate = (id, rateValue) => ({ method: "PUT", path: `/api/v1/business-units/${id}/exchange-rates/SALES/SEK/EUR`, body: { rateValue } });

/** A company with shops. */
async function company(shop, shops) {
  const { token } = await withRoles(shop, ["exr.editor", "exr.subscriber"]);
  await must(shop.host, token, unit("company", "COMPANY"));
  const ids = Array.from({ length: shops }, (_, at) => `shop-${at}`);
  const lanes = Array.from({ length: 8 }, (_, lane) => ids.filter((_, at) => at % 8 === lane));
  await Promise.all(lanes.map(async (lane) => {
    for (const id of lane) await must(shop.host, token, unit(id, "STORE", "company"));
  }));
  return { token };
}

/** Reference rates of many days, as large as an import may be. */
function largeDocument() {
  const codes = ["USD", "JPY", "CZK", "DKK", "GBP", "HUF", "PLN", "SEK", "CHF", "ISK", "NOK", "TRY", "AUD", "BRL", "CAD", "CNY", "HKD", "IDR", "ILS", "INR"];
  const rows = [`Date,${codes.join(",")},`];
  let size = 0;
  for (let day = 0; size < MAX_IMPORT - 1_000; day += 1) {
    const date = new Date(Date.UTC(2026, 0, 1) - day * 86_400_000).toISOString().slice(0, 10);
    if (date.startsWith("-") || date.startsWith("0")) break;
    const row = `${date},${codes.map((_, at) => `${1 + ((day * 7 + at) % 900)}.${1_000 + ((day * 13 + at) % 8_999)}`).join(",")},`;
    rows.push(row);
    size += row.length + 1;
  }
  return rows.join("\n");
}

const importing = (body) => ({
  method: "POST",
  path: "/api/v1/reference-rates/import?businessUnitId=company&exchangeRateTypes=SALES&source=ECB&crosses=true",
  headers: { "content-type": "text/csv" },
  body,
});

/** Webhooks whose receiver takes every connection and answers none. */
async function silentWebhooks(shop, count) {
  const { token } = await withRoles(shop, ["exe.editor", "exe.publisher"]);
  const { port } = await silentServer();
  const callback = (at) => `http://127.0.0.1:${port}/${at}`;
  for (let at = 0; at < count; at += 1) {
    const body = { name: `silent ${at}`, callbackUrl: callback(at), eventTypes: [TYPE], authentication: { type: "BEARER" } };
    await must(shop.host, token, { method: "POST", path: "/api/v1/webhooks", body });
  }
  return { token, callback };
}

const event = (bytes) => ({ method: "POST", path: "/api/v1/events", body: { type: TYPE, data: { text: "x".repeat(bytes) } } });

const NO_SUCH_TYPE = "x.nothing.v1";

/** Turns the pages of the journal with a filter that finds nothing: each looks at as many deliveries as a page may. */
async function turnPages(shop, agent, until) {
  const send = sends(shop, agent);
  while (performance.now() < until) {
    let cursor = "";
    do {
      const page = await send({ path: `/api/v1/deliveries?eventType=${NO_SUCH_TYPE}&limit=1000${cursor}` });
      if (page.status !== 200) return;
      const { next } = json(page);
      cursor = next && `&cursor=${next}`;
    } while (cursor && performance.now() < until);
  }
}

export const attacks = [
  {
    name: "streams",
    seconds: 20,
    prepare: async (shop) => {
      const { token, must } = await decider(shop);
      await must(ageCondition("beer"));
      return { token };
    },
    run: async (shop, until) => {
      const streams = [1, 2, 3].flatMap(() => follow(shop, "/api/v1/catalog/changes", freshAddress(), 900));
      const send = sends(shop, keepAlive());
      await flood(1, until, async (_, round) => {
        await send(ageCondition("beer", round % 100));
        await sleep(50);
      });
      for (const { socket, received } of streams) {
        shop.tally.count(received().startsWith("HTTP/1.1 200") ? "stream" : "no stream");
        socket.destroy();
      }
    },
  },
  {
    name: "topics",
    seconds: 20,
    prepare: (shop) => company(shop, 200),
    run: async (shop, until) => {
      const path = "/api/v1/topics/cer.public.event.rates-changed.v1?after=earliest";
      const streams = [1, 2].flatMap(() => follow(shop, path, freshAddress(), 900));
      const send = sends(shop, keepAlive());
      await flood(1, until, async (_, round) => {
        await send(rate("company", 10 + (round % 1_000) / 100));
        await sleep(200);
      });
      for (const { socket, received } of streams) {
        shop.tally.count(received().startsWith("HTTP/1.1 200") ? "stream" : "no stream");
        socket.destroy();
      }
    },
  },
  {
    name: "rates-fan-outs",
    prepare: (shop) => company(shop, 2_000),
    run: (shop, until) => {
      const agents = Array.from({ length: 4 }, () => keepAlive());
      return flood(4, until, (worker, round) => sends(shop, agents[worker])(rate("company", 10 + ((worker * 7 + round) % 1_000) / 100)));
    },
  },
  {
    name: "rates-imports",
    prepare: async (shop) => ({ ...(await company(shop, 50)), document: largeDocument() }),
    run: (shop, until) => {
      const agents = Array.from({ length: 4 }, () => keepAlive());
      return flood(4, until, (worker) => sends(shop, agents[worker])(importing(shop.document)));
    },
  },
  {
    name: "webhooks-silent",
    seconds: 20,
    config: () => ALLOW_THIS_MACHINE,
    prepare: (shop) => silentWebhooks(shop, 200),
    run: (shop, until) => {
      const agents = Array.from({ length: 8 }, () => keepAlive());
      return flood(8, until, (worker) => sends(shop, agents[worker])(event(250 << 10)));
    },
  },
  {
    name: "pings-200-files",
    openFiles: 200,
    seconds: 15,
    config: () => ALLOW_THIS_MACHINE,
    prepare: (shop) => silentWebhooks(shop, 1),
    run: (shop, until) => {
      const agents = Array.from({ length: 90 }, () => keepAlive(1, freshAddress()));
      const body = (worker) => ({ name: "try", callbackUrl: shop.callback(worker), eventTypes: [TYPE], authentication: { type: "BEARER" } });
      return flood(60, until, (worker) => sends(shop, agents[worker])({ method: "POST", path: "/api/v1/webhooks/ping", body: body(worker) }));
    },
  },
  {
    name: "journal-pages",
    config: () => ALLOW_THIS_MACHINE,
    prepare: async (shop) => {
      const prepared = await silentWebhooks(shop, 100);
      const agents = Array.from({ length: 8 }, () => keepAlive());
      await Promise.all(agents.map(async (agent) => {
        for (let times = 0; times < 25; times += 1) await ask(shop.host, { ...event(100), token: prepared.token, agent });
      }));
      return prepared;
    },
    run: (shop, until) => Promise.all(Array.from({ length: 16 }, () => turnPages(shop, keepAlive(), until))),
  },
];

export const checks = [
  {
    name: "hundreds of streams get what changes, and a webhook of this machine is refused by default",
    run: async (shop) => {
      const { token, must: put } = await decider(shop);
      await put(ageCondition("beer", 3));
      const streams = follow({ ...shop, token }, "/api/v1/catalog/changes", freshAddress(), 200);
      await put(ageCondition("beer", 4));
      const got = ({ received }) => received().includes("digest");
      for (let times = 0; times < 100 && !streams.every(got); times += 1) await sleep(100);
      assert.ok(streams.every(got), "streams that got nothing");
      for (const { socket } of streams) socket.destroy();
      const writer = await withRoles(shop, ["exe.editor"]);
      const body = { name: "inside", callbackUrl: "https://127.0.0.1/x", eventTypes: [TYPE], authentication: { type: "BEARER" } };
      const ping = await ask(shop.host, { method: "POST", path: "/api/v1/webhooks/ping", body, token: writer.token });
      assert.ok(ping.status < 500 && !(ping.status === 200 && json(ping).status === "DELIVERED"), `${ping.status} ${ping.body}`);
    },
  },
  {
    name: "documents of rates that are too large or no documents are refused",
    run: async (shop) => {
      const { token } = await company(shop, 1);
      const send = (body) => ask(shop.host, { ...importing(body), token });
      for (const body of ["x".repeat(1_000_000), "\0".repeat(1_000_000), ",".repeat(1_000_000), "\n".repeat(1_000_000)]) {
        assert.equal((await send(body)).status, 400);
      }
      assert.equal((await send("x".repeat(MAX_IMPORT + 1))).status, 413);
    },
  },
  {
    name: "publishing to receivers that never answer is answered, and the journal turns its pages",
    config: () => ALLOW_THIS_MACHINE,
    run: async (shop) => {
      const { token } = await silentWebhooks(shop, 20);
      for (let times = 0; times < 20; times += 1) assert.equal((await ask(shop.host, { ...event(100), token })).status, 202);
      assert.equal((await ask(shop.host, { ...event(300 << 10), token })).status, 400);
      const page = await ask(shop.host, { path: `/api/v1/deliveries?eventType=${NO_SUCH_TYPE}`, token });
      assert.equal(page.status, 200);
    },
  },
];
