// Readers that ask for large answers and never read them. They must be dropped, and others served meanwhile.

import assert from "node:assert/strict";
import { readdirSync, readlinkSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

import { largeCatalog } from "./decisions.mjs";
import { DROP_PATIENCE_MS, ask, freshAddress, head, open } from "./wire.mjs";

/** The time for answers to fill all buffers and then make no progress, on a busy machine. */
const DROPPED_AFTER_S = 30;

/** The sockets that others open and close meanwhile. */
const OTHERS = 5;

const addresses = (count) => Array.from({ length: count }, () => freshAddress());

/** Opens connections from several addresses that ask repeatedly and do not read. */
function neverRead({ host }, from, connectionsOfEach, request, times = 50) {
  const asked = request.repeat(times);
  return from.flatMap((address) =>
    Array.from({ length: connectionsOfEach }, () => {
      const connection = open(host, { from: address, reads: false });
      connection.socket.write(asked);
      return connection;
    }),
  );
}

/** The host's open sockets: a client that does not read never learns that a connection ended. */
const socketsOf = ({ pid }) => {
  const folder = `/proc/${pid}/fd`;
  const isSocket = (name) => {
    try {
      return readlinkSync(`${folder}/${name}`).startsWith("socket:");
    } catch {
      return false;
    }
  };
  return readdirSync(folder).filter(isSocket).length;
};

/** Waits until the host has as few sockets as before, for a limited time; returns the number of additional ones. */
async function untilDropped(host, before, until) {
  for (;;) {
    const more = socketsOf(host) - before;
    if (more <= OTHERS || performance.now() > until) return Math.max(0, more);
    await sleep(500);
  }
}

const catalogRequest = ({ token }, headers) => head("GET /api/v1/catalog", { Authorization: `Bearer ${token}`, ...headers });

/** An attack by readers that do not read. */
const attack = (name, { openFiles, addressCount, connectionsOfEach, prepare, request, times }) => ({
  name,
  openFiles,
  seconds: DROPPED_AFTER_S,
  prepare,
  run: async (shop, until) => {
    const { host, tally } = shop;
    const before = socketsOf(host);
    const readers = neverRead(shop, addresses(addressCount), connectionsOfEach, request(shop), times);
    // Excess requests are refused at once, the others accepted.
    await sleep(2_000);
    tally.count("taken", Math.max(0, socketsOf(host) - before));
    const kept = await untilDropped(host, before, until);
    if (kept > OTHERS) tally.fault(`${kept} of ${readers.length} readers were not dropped after ${DROPPED_AFTER_S} s`);
    for (const { socket } of readers) socket.destroy();
  },
});

const CONDITIONS = Array.from({ length: 64 }, (_, at) => `condition-${at}`);

/** A basket with the most results, none in force: no condition need exist. */
function basketRequest({ token }) {
  const items = Array.from({ length: 1_000 }, (_, at) => ({ id: `item-${at}`, conditionIds: CONDITIONS }));
  const body = JSON.stringify({ items, context: {} });
  const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json", "Content-Length": body.length };
  return head("POST /api/v1/evaluations", headers) + body;
}

export const attacks = [
  attack("readers-200-files", { openFiles: 200, addressCount: 1, connectionsOfEach: 190, prepare: (shop) => largeCatalog(shop, 4), request: catalogRequest }),
  attack("readers-20-addresses", { addressCount: 20, connectionsOfEach: 190, prepare: (shop) => largeCatalog(shop, 4), request: catalogRequest }),
  attack("readers-gzip", { addressCount: 4, connectionsOfEach: 190, prepare: (shop) => largeCatalog(shop, 4), request: (shop) => catalogRequest(shop, { "Accept-Encoding": "gzip" }) }),
  attack("readers-baskets", { addressCount: 1, connectionsOfEach: 200, prepare: (shop) => largeCatalog(shop, 1), request: basketRequest, times: 2 }),
];

export const checks = [
  {
    name: "readers that do not read keep nobody out where few files may be open, and are dropped",
    openFiles: 200,
    run: async (shop) => {
      const greedy = freshAddress();
      const readers = neverRead(shop, [greedy], 190, head("GET /js/engine/tillgate_bg.wasm"));
      const healthz = (from) => ask(shop.host, { path: "/healthz", from });
      for (let newcomer = 0; newcomer < 20; newcomer += 1) {
        const answer = await healthz(freshAddress());
        assert.equal(answer.status, 200, `others are served: ${answer.why}`);
      }
      assert.equal((await healthz(greedy)).status, 0, "that address has no place left");
      const end = performance.now() + DROP_PATIENCE_MS;
      while ((await healthz(greedy)).status !== 200) {
        assert.ok(performance.now() < end, "they are never dropped");
        await sleep(200);
      }
      for (const { socket } of readers) socket.destroy();
    },
  },
];
