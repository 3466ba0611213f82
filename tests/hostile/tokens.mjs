// The token service: unlimited requests for tokens, wrong secrets, and forged tokens.

import assert from "node:assert/strict";

import { evaluation, tokenOf, tokenRequest } from "./host.mjs";
import { ask, flood, freshAddress, keepAlive } from "./wire.mjs";

const TENANT = "impostor";

async function client({ admin }) {
  return { client: await admin.client(TENANT, ["ecs.evaluator"]) };
}

/** A token with the signature of another. */
function forged(token, number) {
  const [header, , signature] = token.split(".");
  const claims = { ...JSON.parse(Buffer.from(token.split(".")[1], "base64url")), jti: `forged-${number}` };
  return `${header}.${Buffer.from(JSON.stringify(claims)).toString("base64url")}.${signature}`;
}

const agentsOf = (count) => Array.from({ length: count }, () => keepAlive());

const wrongSecret = (clientId, from) => tokenRequest({ clientId, clientSecret: "0".repeat(64) }, from);

export const attacks = [
  {
    name: "tokens-issued",
    prepare: client,
    run: ({ host, client, tally }, until) => {
      const agents = agentsOf(16);
      return flood(16, until, async (worker) => tally.note(await ask(host, { ...tokenRequest(client, undefined), agent: agents[worker] })));
    },
  },
  {
    name: "tokens-wrong-secrets",
    prepare: client,
    run: ({ host, client, tally }, until) =>
      flood(16, until, async (_, round) => tally.note(await ask(host, wrongSecret(round % 2 ? client.clientId : `unknown-${round}`)))),
  },
  {
    name: "tokens-forged",
    prepare: client,
    run: ({ host, client, tally }, until) => {
      const agents = agentsOf(16);
      return flood(16, until, async (worker, round) => {
        const token = forged(client.token, `${worker}-${round}`);
        tally.note(await ask(host, { ...evaluation("unknown"), token, agent: agents[worker] }));
      });
    },
  },
];

export const checks = [
  {
    name: "wrong secrets are slowed down by client and address, and keep nobody else out",
    run: async (shop) => {
      const { client: known } = await client(shop);
      const guesser = freshAddress();
      const got = [];
      for (let times = 0; times < 12; times += 1) got.push((await ask(shop.host, wrongSecret(known.clientId, guesser))).status);
      assert.deepEqual(got, [...Array(10).fill(401), 429, 429]);
      const right = await ask(shop.host, tokenRequest(known, guesser));
      assert.equal(right.status, 429, "nor is the right secret taken there");
      assert.ok(Number(right.headers["retry-after"]) > 0);
      const other = await ask(shop.host, wrongSecret(`${known.clientId}x`, guesser));
      assert.equal(other.status, 401, "another client at that address");
      assert.ok(await tokenOf(shop.host, known), "the client elsewhere");
    },
  },
  {
    name: "forged tokens are 401",
    run: async (shop) => {
      const { client: known } = await client(shop);
      for (const token of [forged(known.token, 1), known.token.slice(0, -4), "a.b.c", "x".repeat(8_000)]) {
        const answer = shop.tally.note(await ask(shop.host, { ...evaluation("unknown"), token }));
        assert.equal(answer.status, 401);
      }
    },
  },
];
