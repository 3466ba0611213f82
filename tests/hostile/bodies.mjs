// Large bodies: of the maximum size, compressed, and uploads that stop.

import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";

import { decider, projectId } from "./decisions.mjs";
import { DROP_PATIENCE_MS, MAX_ERROR, ask, flood, freshAddress, haveEnded, head, keepAlive, open, statuses } from "./wire.mjs";

const MEBIBYTE = 1 << 20;
const MAX_PROJECT = 32 * MEBIBYTE;

/** How long a body may make no progress, plus some time for a busy machine. */
const DROPPED_AFTER_S = 15;

/** 32 MiB of ignored data. */
function largeProject() {
  const [before, after] = ['{"restrictions":[],"x":[0', "]}"];
  const zeros = Math.floor((MAX_PROJECT - before.length - after.length) / 2);
  return Buffer.from(before + ",0".repeat(zeros) + after);
}

const path = `/api/v1/projects/${projectId(1)}`;

/** An upload that announces a body and sends only its beginning. */
const upload = (line, length, beginning, headers = {}) =>
  Buffer.concat([Buffer.from(head(line, { "Content-Type": "application/json", "Content-Length": length, ...headers })), Buffer.from(beginning)]);

const projectUpload = ({ token }, beginning) => upload(`PUT ${path}`, MAX_PROJECT, beginning, { Authorization: `Bearer ${token}` });

/** Opens uploads from each of several addresses; all of them stop. */
function stalled({ host }, addresses, ofEach, bytes) {
  return Array.from({ length: addresses }, () => freshAddress()).flatMap((from) =>
    Array.from({ length: ofEach }, () => {
      const connection = open(host, { from });
      connection.socket.write(bytes);
      return connection;
    }),
  );
}

/** Counts the uploads that are answered or dropped in time; the others are ended, and counted as never dropped. */
async function countDropped(uploads, tally, ms) {
  const states = await haveEnded(uploads, ms);
  uploads.forEach(({ received }, at) => {
    if (states[at]) tally.count(statuses(received())[0] ?? "dropped");
    else tally.count("never dropped");
  });
  for (const { socket } of uploads) socket.destroy();
  return states.filter((isClosed) => !isClosed).length;
}

const stalling = (name, { addresses = 1, ofEach, bytes, seconds = DROPPED_AFTER_S }) => ({
  name,
  seconds,
  prepare: decider,
  run: async (shop, until) => {
    const uploads = stalled(shop, addresses, ofEach, bytes(shop));
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
  stalling("uploads-stalled", { ofEach: 200, bytes: (shop) => projectUpload(shop, "x".repeat(1_000)) }),
  // All but the end: each takes the most memory that it may.
  stalling("uploads-almost", { ofEach: 64, bytes: (shop) => projectUpload(shop, largeProject().subarray(0, -1_000)), seconds: 2 * DROPPED_AFTER_S }),
  stalling("uploads-evaluations", {
    ofEach: 900,
    bytes: ({ token }) => upload("POST /api/v1/evaluations", MEBIBYTE, "x".repeat(MEBIBYTE - 1_000), { Authorization: `Bearer ${token}` }),
    seconds: 2 * DROPPED_AFTER_S,
  }),
  stalling("uploads-anonymous", { addresses: 9, ofEach: 900, bytes: () => upload("POST /v1/registration", 64 << 10, "x".repeat(63 << 10)), seconds: 2 * DROPPED_AFTER_S }),
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
      const uploads = stalled(shop, 1, 20, projectUpload({ token }, "x".repeat(1_000)));
      assert.equal(await countDropped(uploads, shop.tally, DROP_PATIENCE_MS), 0, "uploads that were not dropped");
    },
  },
];
