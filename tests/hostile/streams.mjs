// Answers without end: hundreds of listeners to changes, and to a topic.

import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";

import { decider } from "./decisions.mjs";
import { ageCondition } from "./host.mjs";
import { company, rate } from "./rates.mjs";
import { ask, flood, freshAddress, head, keepAlive, open } from "./wire.mjs";

const CHANGES = "/api/v1/catalog/changes";
const TOPIC = "/api/v1/topics/cer.public.event.rates-changed.v1?after=earliest";

/** How much of a stream is kept: keeping all of them would keep this machine busy. */
const KEEPS = 64 << 10;

/** Opens streams, and reads them. */
function follow({ host, token }, path, from, count) {
  return Array.from({ length: count }, () => {
    const stream = open(host, { from, keeps: KEEPS });
    stream.socket.write(head(`GET ${path}`, { Authorization: `Bearer ${token}` }));
    return stream;
  });
}

/** An attack by many streams that get something repeatedly. */
const streaming = (name, { addresses, path, prepare, change, everyMs }) => ({
  name,
  seconds: 20,
  prepare,
  run: async (shop, until) => {
    const { host, token, tally } = shop;
    const streams = Array.from({ length: addresses }, () => follow(shop, path, freshAddress(), 900)).flat();
    const agent = keepAlive();
    await flood(1, until, async (_, round) => {
      tally.note(await ask(host, { ...change(round), token, agent }));
      await sleep(everyMs);
    });
    for (const { socket, received } of streams) {
      tally.count(received().startsWith("HTTP/1.1 200") ? "stream" : "no stream");
      socket.destroy();
    }
  },
});

async function withCondition(shop) {
  const { token, must } = await decider(shop);
  await must(ageCondition("beer"));
  return { token };
}

export const attacks = [
  streaming("streams-catalog", { addresses: 3, path: CHANGES, prepare: withCondition, change: (round) => ageCondition("beer", round % 100), everyMs: 50 }),
  streaming("streams-topic", { addresses: 2, path: TOPIC, prepare: (shop) => company(shop, 200), change: (round) => rate("company", (1_000 + (round % 1_000)) / 100), everyMs: 200 }),
];

export const checks = [
  {
    name: "hundreds of streams get what changes",
    run: async (shop) => {
      const { token, must } = await decider(shop);
      await must(ageCondition("beer", 3));
      const streams = follow({ ...shop, token }, CHANGES, freshAddress(), 200);
      await must(ageCondition("beer", 4));
      const got = ({ received }) => received().includes("digest");
      for (let times = 0; times < 100 && !streams.every(got); times += 1) await sleep(100);
      assert.ok(streams.every(got), "streams that got nothing");
      for (const { socket } of streams) socket.destroy();
    },
  },
];
