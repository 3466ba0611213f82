// One tenant with very much data, and very many tenants without any.

import assert from "node:assert/strict";

import { ageCondition, evaluation } from "./host.mjs";
import { issuers } from "./issuer.mjs";
import { ask, flood, keepAlive } from "./wire.mjs";

const MANY_CONDITIONS = 20_000;
const MANY_TENANTS = 4_000;
const WRITERS = 32;

/** The statuses that refuse one more condition. */
const FULL = [409, 413, 429];

async function editor({ admin }) {
  const { token } = await admin.client("collector", ["ecs.editor", "ecs.evaluator"]);
  return { token };
}

/** Writes conditions up to a number, or until no more are accepted; returns their number. */
async function writeConditions({ host, token, tally }, count, until = Infinity) {
  const agents = Array.from({ length: WRITERS }, () => keepAlive());
  let [next, written, isFull] = [0, 0, false];
  const write = async (agent) => {
    while (next < count && !isFull && performance.now() < until) {
      next += 1;
      const answer = tally.note(await ask(host, { ...ageCondition(`many-${next}`), token, agent }));
      if (answer.status === 201) written += 1;
      else isFull ||= FULL.includes(answer.status);
    }
  };
  await Promise.all(agents.map(write));
  for (const agent of agents) agent.destroy();
  return written;
}

let identities;

const trusting = async () => {
  identities = await issuers();
  return identities.files;
};

const tenantOf = (number) => `named-${number}`;

/** Users of one tenant after another, each with its own token. After the last tenant they start again. */
const naming = (name, tenants, seconds, requests) => ({
  name,
  seconds,
  files: trusting,
  run: async ({ host, tally }, until) => {
    const agents = Array.from({ length: 16 }, () => keepAlive());
    let next = 0;
    await flood(16, until, async (worker) => {
      next += 1;
      const token = identities.token(tenantOf(next % tenants));
      for (const request of requests) tally.note(await ask(host, { ...request, token, agent: agents[worker] }));
    });
    tally.count(`(${Math.min(next, tenants)} tenants)`);
  },
});

export const attacks = [
  {
    name: "conditions-written",
    seconds: 30,
    prepare: editor,
    run: async (shop, until) => {
      const written = await writeConditions(shop, MANY_CONDITIONS, until);
      shop.tally.count(`(${written} written)`);
    },
  },
  {
    name: "conditions-changed",
    seconds: 15,
    prepare: async (shop) => {
      const { token } = await editor(shop);
      return { token, written: await writeConditions({ ...shop, token }, MANY_CONDITIONS) };
    },
    run: async ({ host, token, tally, written }, until) => {
      const [writer, reader, decider] = [keepAlive(), keepAlive(), keepAlive()];
      const send = async (request, agent) => tally.note(await ask(host, { ...request, token, agent }));
      await Promise.all([
        flood(1, until, (_, round) => send(ageCondition(`many-${1 + (round % written)}`, round % 100), writer)),
        flood(1, until, () => send({ path: "/api/v1/catalog" }, reader)),
        flood(1, until, () => send(evaluation("many-1"), decider)),
      ]);
    },
  },
  naming("tenants-named", MANY_TENANTS, 15, [evaluation("unknown")]),
  naming("tenants-named-more", 10 * MANY_TENANTS, 60, [evaluation("unknown")]),
  naming("tenants-with-conditions", MANY_TENANTS, 15, [ageCondition("beer"), evaluation("beer")]),
  {
    name: "kids-unknown",
    seconds: 15,
    files: trusting,
    run: ({ host, tally }, until) => {
      const issuer = (worker) => (worker % 2 ? identities.known : identities.silent);
      return flood(200, until, async (worker) => {
        tally.note(await ask(host, { ...evaluation("unknown"), token: identities.unknownKey(issuer(worker)) }));
      });
    },
  },
];

export const checks = [
  {
    name: "tenants that an issuer merely names are answered, and tokens of unknown keys refused",
    files: trusting,
    run: async ({ host }) => {
      for (let tenant = 0; tenant < 50; tenant += 1) {
        const answer = await ask(host, { ...evaluation("unknown"), token: identities.token(tenantOf(tenant)) });
        assert.equal(answer.status, 404);
      }
      const ofPlatform = await ask(host, { ...evaluation("unknown"), token: identities.token("platform") });
      assert.equal(ofPlatform.status, 401);
      for (const issuer of [identities.known, identities.silent]) {
        const forged = Array.from({ length: 20 }, () => ask(host, { ...evaluation("unknown"), token: identities.unknownKey(issuer) }));
        for (const { status } of await Promise.all(forged)) assert.equal(status, 401);
      }
    },
  },
];
