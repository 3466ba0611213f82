// Expensive decisions and catalogs: names that grow when escaped, bodies of the maximum size, the most results, compressed
// answers, and projects that are prepared in turn.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";

import { ageCondition } from "./host.mjs";
import { LITTLE, MAX_ERROR, ask, flood, keepAlive } from "./wire.mjs";

const TENANT = "decider";
const MEBIBYTE = 1 << 20;

export const projectId = (number) => `00000000-0000-4000-8000-${String(number).padStart(12, "0")}`;

export const project = (number, restrictions) => ({ method: "PUT", path: `/api/v1/projects/${projectId(number)}`, body: { restrictions } });

/** Names of 100 control characters each, all different. */
const controlName = (number) => String.fromCharCode(1 + (number % 20), 1 + Math.floor(number / 20)) + "\u0001".repeat(98);

/** 100 exclusive restrictions with such names. */
const SHOUTING = Array.from({ length: 100 }, (_, at) => ({ type: "BOOLEAN", propertyName: controlName(at), value: true, exclusive: true }));

const items = (count, more = {}) => Array.from({ length: count }, (_, at) => ({ id: `item-${at}`, ...more }));

const basket = (body) => ({ method: "POST", path: "/api/v1/evaluations", body });

const shoutingBasket = () => basket({ items: items(800), projectId: projectId(1), context: {} });

/** Makes the host ignore unknown members of a body, so that it reads to the end. */
const headers = { prefer: "handling=lenient" };

/** A body of the maximum size. */
const large = (body) => {
  const text = JSON.stringify(body);
  return `${text.slice(0, -1)},"x":"${"x".repeat(MEBIBYTE - text.length - 8)}"}`;
};

/** The same, with many small members: the worst case for a parser. */
const manySmall = (body) => {
  const text = JSON.stringify(body);
  const member = (at) => `,"m${at}":[{}]`;
  let filled = text.slice(0, -1);
  for (let at = 0; filled.length < MEBIBYTE - 20; at += 1) filled += member(at);
  return `${filled}}`;
};

const QUESTION = { item: { id: "beer" }, context: { customer: { customer_age: 20 } } };

export async function decider({ host, admin }) {
  const { token } = await admin.client(TENANT, ["ecs.editor", "ecs.evaluator"]);
  const must = async (request) => {
    let answer;
    // Stopped uploads of the same tenant may take all of its room until they are dropped.
    do answer = await ask(host, { ...request, token });
    while (answer.status === 503);
    if (![200, 201].includes(answer.status)) throw new Error(`${answer.what}: ${answer.status} ${answer.body.toString().slice(0, 200)}`);
  };
  return { token, must };
}

/** A catalog of about `mebibytes` that does not compress well. */
export async function largeCatalog(shop, mebibytes) {
  const { token, must } = await decider(shop);
  for (let number = 0; number < mebibytes; number += 1) {
    const itemIds = Array.from({ length: 8_000 }, () => randomBytes(64).toString("hex"));
    await must(project(100 + number, [{ type: "BLACKLISTEDITEMS", itemIds }]));
  }
  return { token };
}

const conditionNames = (count) => Array.from({ length: count }, (_, at) => `condition-${at}`);

async function manyConditions(shop, count) {
  const { token, must } = await decider(shop);
  for (const name of conditionNames(count)) await must(ageCondition(name));
  return { token };
}

/** Repeats a request on many connections, and discards the answers. */
const repeated = (workers, request) => ({ host, token, tally }, until) => {
  const agents = Array.from({ length: workers }, () => keepAlive());
  const asked = { ...request(), token, keeps: LITTLE };
  return flood(workers, until, async (worker) => tally.note(await ask(host, { ...asked, agent: agents[worker] })));
};

const CATALOG = { path: "/api/v1/catalog", headers: { "accept-encoding": "gzip" } };

export const attacks = [
  {
    name: "baskets-names",
    prepare: async (shop) => {
      const { token, must } = await decider(shop);
      await must(project(1, SHOUTING));
      return { token };
    },
    run: repeated(4, shoutingBasket),
  },
  {
    name: "baskets-results",
    prepare: (shop) => manyConditions(shop, 64),
    run: repeated(8, () => basket({ items: items(1_000, { conditionIds: conditionNames(64) }), context: {} })),
  },
  {
    name: "evaluate-large",
    prepare: (shop) => manyConditions(shop, 1),
    run: repeated(16, () => ({ method: "POST", path: "/api/v1/conditions/condition-0/evaluate", headers, body: manySmall(QUESTION) })),
  },
  {
    name: "baskets-large",
    prepare: (shop) => manyConditions(shop, 1),
    run: repeated(16, () => ({ ...basket(), headers, body: manySmall({ items: items(1_000), context: {} }) })),
  },
  {
    name: "catalogs-gzip",
    prepare: (shop) => largeCatalog(shop, 8),
    run: repeated(16, () => CATALOG),
  },
  {
    name: "catalogs-gzip-200",
    prepare: (shop) => largeCatalog(shop, 8),
    run: repeated(200, () => CATALOG),
  },
  {
    name: "projects-in-turn",
    prepare: async (shop) => {
      const { token, must } = await decider(shop);
      for (let number = 0; number < 20; number += 1) {
        const itemIds = Array.from({ length: 40_000 }, () => randomBytes(60).toString("hex"));
        await must(project(number, [{ type: "BLACKLISTEDITEMS", itemIds }]));
      }
      return { token };
    },
    run: ({ host, token, tally }, until) => {
      const agents = Array.from({ length: 16 }, () => keepAlive());
      return flood(16, until, async (worker, round) => {
        const body = { projectId: projectId((worker + round * 16) % 20), item: { id: "a" } };
        tally.note(await ask(host, { method: "POST", path: "/api/v1/project-restrictions/evaluate", body, token, agent: agents[worker] }));
      });
    },
  },
];

export const checks = [
  {
    name: "baskets whose answer grows by control characters are refused",
    run: async (shop) => {
      const { token, must } = await decider(shop);
      await must(project(1, SHOUTING));
      const answer = await ask(shop.host, { ...shoutingBasket(), token });
      assert.ok([400, 413].includes(answer.status), `${answer.status}`);
      assert.ok(answer.body.length <= MAX_ERROR, `${answer.body.length} bytes`);
    },
  },
  {
    name: "bodies of 1 MiB are taken, and of a byte more refused",
    run: async (shop) => {
      const { token } = await manyConditions(shop, 1);
      const path = "/api/v1/conditions/condition-0/evaluate";
      const send = (body) => ask(shop.host, { method: "POST", path, headers, body, token });
      for (const body of [large(QUESTION), manySmall(QUESTION)]) assert.equal((await send(body)).status, 200);
      assert.equal((await send("x".repeat(MEBIBYTE + 1))).status, 413);
    },
  },
  {
    name: "as many results as there may be are answered, and more are refused",
    run: async (shop) => {
      const { token } = await manyConditions(shop, 64);
      const conditionIds = conditionNames(64);
      const send = (body) => ask(shop.host, { ...basket(body), token });
      assert.equal((await send({ items: items(1_000, { conditionIds }), context: {} })).status, 200);
      assert.equal((await send({ items: items(1_001), context: {} })).status, 400);
      assert.equal((await send({ items: items(1, { conditionIds: [...conditionIds, "one-more"] }), context: {} })).status, 400);
    },
  },
  {
    name: "errors that repeat what was sent are at most 64 KiB",
    run: async (shop) => {
      const { token, must } = await decider(shop);
      await must(ageCondition("condition-0"));
      const name = "\u0001".repeat(900);
      const faulty = { item: { id: 1 }, context: { customer: { licenses: Array.from({ length: 2_000 }, () => ({ [name.slice(0, 50)]: 1 })) } } };
      const value = Object.fromEntries(Array.from({ length: 150 }, (_, at) => [`${name}${at}`, 1]));
      const requests = [
        { method: "POST", path: "/api/v1/conditions/condition-0/evaluate", body: faulty },
        { method: "PUT", path: "/api/v1/entity-conditions/new", body: { rule: "AGE_RESTRICTION", condition_value: value } },
        { method: "POST", path: "/api/v1/evaluations", body: { items: Array.from({ length: 150 }, () => ({ id: name })), context: {} } },
      ];
      for (const request of requests) {
        const answer = await ask(shop.host, { ...request, token });
        assert.equal(answer.status, 400, answer.what);
        assert.ok(answer.body.length <= MAX_ERROR, `${answer.what}: ${answer.body.length} bytes`);
      }
    },
  },
];
