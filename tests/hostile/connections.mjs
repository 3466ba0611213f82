// Attacks that anyone can make with connections and heads of requests.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";

import { decider } from "./decisions.mjs";
import { ageCondition, evaluation } from "./host.mjs";
import { DROP_PATIENCE_MS, ask, exchange, flood, freshAddress, haveEnded, head, keepAlive, open, statuses } from "./wire.mjs";

const CLOSE = { Connection: "close" };
const IN_TURN = 20_000;

/** How long a head may take, plus some time for a busy machine. */
const DROPPED_AFTER_S = 15;

/** Requests with a larger head than a host should read. */
const BOMBS = {
  "a long header": head("GET /healthz", { ...CLOSE, X: "x".repeat(20 << 10) }),
  "many headers": head("GET /healthz", { ...CLOSE, ...Object.fromEntries(Array.from({ length: 140 }, (_, at) => [`X-${at}`, "x"])) }),
  "a long path": head(`GET /${"x".repeat(20 << 10)}`, CLOSE),
  "a head without end": `GET /healthz HTTP/1.1\r\nHost: x\r\n${"X: x\r\n".repeat(10_000)}`,
};

/** Not a request. */
const garbage = () => [randomBytes(2_000), "\0".repeat(2_000), "\r\n".repeat(1_000), "GET\r\n\r\n", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"];

const deep = (depth, [opening, inner, closing]) => opening.repeat(depth) + inner + closing.repeat(depth);

/** JSON nested as deeply as a body has room for. */
const NESTED = [
  ["[", "1", "]"],
  ['{"a":', "1", "}"],
  ["[", "", ""],
];

/** Queries that are long, or have very many parameters. */
const QUERIES = ["x".repeat(15_000), "a=1&".repeat(3_700), "%41=%42&".repeat(1_800), "businessUnit=a&".repeat(1_000)];

/** Sends heads that never end, one byte per second. */
async function slowHeads({ host, tally }, from, count, until) {
  const connections = Array.from({ length: count }, () => open(host, { from }));
  for (const { socket } of connections) socket.write("GET /healthz HTTP/1.1\r\nHost: x\r\nX: ");
  const drip = setInterval(() => {
    for (const { socket } of connections) if (socket.writable) socket.write("x");
  }, 1_000);
  const states = await haveEnded(connections, until - performance.now());
  clearInterval(drip);
  const kept = states.filter((isClosed) => !isClosed).length;
  tally.count("dropped", count - kept);
  if (kept > 0) tally.fault(`${kept} heads that never end were not dropped`);
  for (const { socket } of connections) socket.destroy();
}

/** Sends one request without a token repeatedly, on several connections. */
const anonymous = (name, request) => ({
  name,
  run: ({ host, tally }, until) => {
    const agents = Array.from({ length: 16 }, () => keepAlive());
    return flood(16, until, async (worker, round) => tally.note(await ask(host, { ...request(round), agent: agents[worker] })));
  },
});

export const attacks = [
  {
    name: "connections-in-turn",
    seconds: 60,
    run: async ({ host, tally }, until) => {
      const many = head("GET /healthz", CLOSE);
      let from;
      for (let turn = 0; turn < IN_TURN && performance.now() < until; turn += 1) {
        if (turn % 1_000 === 0) from = freshAddress();
        tally.noteText(await exchange(host, many, { from }), "GET /healthz");
      }
    },
  },
  {
    name: "pipelined-requests",
    prepare: async (shop) => {
      const { token, must } = await decider(shop);
      await must(ageCondition("beer"));
      return { token };
    },
    run: ({ host, token, tally }, until) => {
      const { method, path, body } = evaluation("beer");
      const text = JSON.stringify(body);
      const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json", "Content-Length": text.length };
      const [one, last] = [{}, CLOSE].map((more) => head(`${method} ${path}`, { ...headers, ...more }) + text);
      const from = freshAddress();
      return flood(16, until, async () => tally.noteText(await exchange(host, one.repeat(499) + last, { from }), path));
    },
  },
  {
    name: "pipelined-garbage",
    run: ({ host, tally }, until) =>
      flood(16, until, async (_, round) => {
        const kinds = garbage();
        const bytes = Buffer.from(kinds[round % kinds.length], "latin1");
        const text = await exchange(host, Buffer.concat([Buffer.from(head("GET /healthz")), bytes, Buffer.from("\r\n\r\n")]), { patience: 500 });
        tally.noteText(text, "garbage");
      }),
  },
  {
    name: "header-bombs",
    run: ({ host, tally }, until) =>
      flood(16, until, async (_, round) => {
        const [kind, bomb] = Object.entries(BOMBS)[round % 4];
        tally.noteText(await exchange(host, bomb, { patience: 2_000 }), kind);
      }),
  },
  {
    name: "slow-heads",
    seconds: DROPPED_AFTER_S,
    run: (shop, until) => slowHeads(shop, freshAddress(), 900, until),
  },
  anonymous("page-gzip", () => ({ path: "/", headers: { "accept-encoding": "gzip" } })),
  anonymous("metrics", () => ({ path: "/metrics", headers: { "accept-encoding": "gzip" } })),
  anonymous("queries-long", (round) => ({ path: `/api/v1/exchange-rates?${QUERIES[round % QUERIES.length]}` })),
  anonymous("json-deep", (round) => ({ method: "POST", path: "/v1/registration", body: deep(30_000 / NESTED[round % 3][0].length, NESTED[round % 3]) })),
];

const first = async (host, bytes) => statuses(await exchange(host, bytes, { patience: 3_000 }))[0];

export const checks = [
  {
    name: "a request names one host",
    run: async ({ host }) => {
      assert.equal(await first(host, "GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n"), 400);
      assert.equal(await first(host, "GET /healthz HTTP/1.1\r\nHost: x\r\nHost: x\r\nConnection: close\r\n\r\n"), 400);
      assert.equal(await first(host, head("GET /healthz", CLOSE)), 200);
    },
  },
  {
    name: "no answer may be taken for something else",
    run: async (shop) => {
      const { token } = await decider(shop);
      const requests = [
        { path: "/" },
        { path: "/nowhere" },
        { path: "/metrics" },
        { path: "/.well-known/jwks.json" },
        { path: "/js/engine/tillgate_bg.wasm" },
        { path: "/api/v1/catalog" },
        { path: "/api/v1/catalog", token },
        { path: "/api/v1/catalog", token, method: "PATCH" },
        { path: "/api/v1/evaluations", token, method: "POST", body: "{" },
        { path: "/api/v1/evaluations", token, method: "POST", body: "{}", headers: { "content-type": "text/html" } },
        { path: "/api/v1/evaluations", token, method: "POST", body: "x".repeat((1 << 20) + 1) },
        { path: "/oauth2/token", method: "POST", body: "x" },
      ];
      for (const request of requests) {
        const answer = shop.tally.note(await ask(shop.host, request));
        assert.equal(answer.headers["x-content-type-options"], "nosniff", `${answer.what}: ${answer.status}`);
      }
    },
  },
  {
    name: "heads that are too large are 431 or 414, or closed",
    run: async ({ host }) => {
      for (const [kind, bomb] of Object.entries(BOMBS)) {
        const status = await first(host, bomb);
        assert.ok([undefined, 414, 431].includes(status), `${kind}: ${status}`);
      }
    },
  },
  {
    name: "what follows a request and is none is 400, or closed",
    run: async ({ host }) => {
      for (const kind of garbage()) {
        const bytes = Buffer.concat([Buffer.from(head("GET /healthz")), Buffer.from(kind, "latin1"), Buffer.from("\r\n\r\n")]);
        const [healthy, next] = statuses(await exchange(host, bytes, { patience: 1_000 }));
        assert.equal(healthy, 200);
        assert.ok([undefined, 400, 431].includes(next), `${next}`);
      }
    },
  },
  {
    name: "heads that never end are dropped",
    waits: true,
    run: (shop) => slowHeads(shop, freshAddress(), 20, performance.now() + DROP_PATIENCE_MS),
  },
  {
    name: "JSON that is nested too deeply is 400",
    run: async (shop) => {
      const { token } = await decider(shop);
      for (const kind of NESTED) {
        const room = 1_000_000 / (kind[0].length + kind[2].length);
        const bodies = { "/v1/registration": deep(Math.floor(room / 20), kind), "/api/v1/evaluations": deep(Math.floor(room), kind), "/api/v1/events": deep(100, kind) };
        for (const [path, body] of Object.entries(bodies)) {
          const answer = shop.tally.note(await ask(shop.host, { method: "POST", path, body, token: path.startsWith("/api/v1/e") ? token : undefined }));
          assert.ok([400, 403].includes(answer.status), `${path}: ${answer.status}`);
        }
      }
    },
  },
  {
    name: "long queries get an answer",
    run: async (shop) => {
      const { token } = await shop.admin.client("decider", ["exr.viewer"]);
      for (const query of QUERIES) {
        const answer = shop.tally.note(await ask(shop.host, { path: `/api/v1/exchange-rates?${query}`, token }));
        assert.ok([400, 404, 414, 431].includes(answer.status), `${answer.status}`);
      }
    },
  },
  {
    name: "many connections one after the other are all served",
    run: async ({ host }) => {
      const from = freshAddress();
      for (let turn = 0; turn < 500; turn += 1) assert.deepEqual(statuses(await exchange(host, head("GET /healthz", CLOSE), { from })), [200]);
    },
  },
];
