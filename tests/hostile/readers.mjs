// Readers that ask for large answers and never read them. They must be dropped, and others served meanwhile.

import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";

import { largeCatalog } from "./decisions.mjs";
import { DROP_PATIENCE_MS, ask, freshAddress, haveEnded, head, open } from "./wire.mjs";

/** How long an answer may wait without progress, and some time more for a busy machine. */
const DROPPED_AFTER_S = 15;

/** How long what is still underway may take to arrive from a connection that was dropped. */
const LAST_BYTES_MS = 5_000;

const addresses = (count) => Array.from({ length: count }, () => freshAddress());

/** Opens connections from some addresses that ask several times and do not read. */
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

/** Counts the connections that are closed once they are read, and ends the others. */
async function countDropped(connections, tally) {
  for (const { socket } of connections) {
    // What arrives is thrown away: only whether it ends counts.
    socket.on("data", () => {});
    socket.resume();
  }
  const states = await haveEnded(connections, LAST_BYTES_MS);
  const kept = states.filter((isClosed) => !isClosed).length;
  tally.count("dropped", states.length - kept);
  if (kept > 0) tally.count("never dropped", kept);
  for (const { socket } of connections) socket.destroy();
  return kept;
}

const catalogRequest = ({ token }, headers) => head("GET /api/v1/catalog", { Authorization: `Bearer ${token}`, ...headers });

/** An attack by readers that do not read. */
const attack = (name, { openFiles, addressCount, connectionsOfEach, prepare, request, times }) => ({
  name,
  openFiles,
  seconds: DROPPED_AFTER_S,
  prepare,
  run: async (shop, until) => {
    const connections = neverRead(shop, addresses(addressCount), connectionsOfEach, request(shop), times);
    await sleep(until - performance.now());
    const kept = await countDropped(connections, shop.tally);
    if (kept > 0) shop.tally.fault(`${kept} readers were not dropped after ${DROPPED_AFTER_S} s`);
  },
});

const CONDITIONS = Array.from({ length: 64 }, (_, at) => `condition-${at}`);

/** A basket with as many results as there may be, none of which is in force: no condition need exist. */
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
