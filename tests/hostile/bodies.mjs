// Large bodies: as large as they may be, compressed, and uploads that stop.

import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";

import { decider, projectId } from "./decisions.mjs";
import { DROP_PATIENCE_MS, MAX_ERROR, ask, flood, freshAddress, haveEnded, head, keepAlive, open, statuses } from "./wire.mjs";

const MAX_PROJECT = 32 << 20;

/** How long a body may make no progress, and some time more for a busy machine. */
const DROPPED_AFTER_S = 15;

/** 32 MiB of which nothing counts. */
function largeProject() {
  const [before, after] = ['{"restrictions":[],"x":[0', "]}"];
  const zeros = Math.floor((MAX_PROJECT - before.length - after.length) / 2);
  return Buffer.from(before + ",0".repeat(zeros) + after);
}

const path = `/api/v1/projects/${projectId(1)}`;

/** Uploads that announce 32 MiB, send some bytes, and stop. */
function stalled({ host, token }, from, count, bytes) {
  const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json", "Content-Length": MAX_PROJECT };
  return Array.from({ length: count }, () => {
    const connection = open(host, { from });
    connection.socket.write(head(`PUT ${path}`, headers));
    connection.socket.write(bytes);
    return connection;
  });
}

/** Counts the uploads that are answered or dropped within a time; the others are ended, and counted as never dropped. */
async function countDropped(uploads, tally, ms) {
  const states = await haveEnded(uploads, ms);
  uploads.forEach(({ received }, at) => {
    if (states[at]) tally.count(statuses(received())[0] ?? "dropped");
    else tally.count("never dropped");
  });
  for (const { socket } of uploads) socket.destroy();
  return states.filter((isClosed) => !isClosed).length;
}

const stallingAttack = (name, count, bytes, seconds) => ({
  name,
  seconds,
  prepare: decider,
  run: async (shop, until) => {
    const uploads = stalled(shop, freshAddress(), count, bytes());
    const kept = await countDropped(uploads, shop.tally, until - performance.now());
    if (kept > 0) shop.tally.fault(`${kept} uploads that had stopped were not dropped`);
  },
});

const uploading = (name, headers, body) => ({
  name,
  prepare: async (shop) => ({ ...(await decider(shop)), body: body() }),
  run: ({ host, token, tally, body }, until) => {
    const agents = Array.from({ length: 8 }, () => keepAlive());
    return flood(8, until, async (worker) => tally.note(await ask(host, { method: "PUT", path, headers, body, token, agent: agents[worker] })));
  },
});

export const attacks = [
  uploading("projects-large", {}, largeProject),
  uploading("projects-gzip", { "content-encoding": "gzip" }, () => gzipSync(largeProject(), { level: 9 })),
  stallingAttack("uploads-stalled", 200, () => "x".repeat(1_000), DROPPED_AFTER_S),
  // All but the end: each takes as much memory as it may.
  stallingAttack("uploads-almost", 64, () => largeProject().subarray(0, -1_000), DROPPED_AFTER_S + 10),
];

export const checks = [
  {
    name: "a project of 32 MiB is answered, of a byte more refused, and none is taken compressed",
    run: async (shop) => {
      const { token } = await decider(shop);
      const put = (body, headers) => ask(shop.host, { method: "PUT", path, body, headers, token });
      const body = largeProject();
      const answer = await put(body);
      assert.ok([200, 201, 400, 413].includes(answer.status), `${answer.status}`);
      assert.ok(answer.status < 400 || answer.body.length <= MAX_ERROR);
      assert.equal((await put(Buffer.concat([body, Buffer.from("    ")]))).status, 413);
      assert.ok([413, 415].includes((await put(gzipSync(body), { "content-encoding": "gzip" })).status));
    },
  },
  {
    name: "uploads that stop are dropped",
    waits: true,
    run: async (shop) => {
      const { token } = await decider(shop);
      const uploads = stalled({ ...shop, token }, freshAddress(), 20, "x".repeat(1_000));
      assert.equal(await countDropped(uploads, shop.tally, DROP_PATIENCE_MS), 0, "uploads that were not dropped");
    },
  },
];
