// Anyone may register, and administrators of tenants define what is accepted: schemas and patterns that are expensive to check
// or compile, and taking all places of pending clients.

import assert from "node:assert/strict";

import { registration } from "./host.mjs";
import { MAX_ERROR, ask, flood, freshAddress, json } from "./wire.mjs";

const TENANT = "registrar";

/** Requires some names once per reference in a list. */
const requiring = (names, references) => ({
  definitions: { all: { required: Array.from({ length: names }, (_, at) => `name${at}`) } },
  allOf: Array.from({ length: references }, () => ({ $ref: "#/definitions/all" })),
});

/** 52 KB: 4,000 names, 600 times. */
const LARGE = requiring(4_000, 600);

/** Creates the heaviest accepted template of that kind; returns its name. */
async function heaviest(admin) {
  const make = async (names, references) => {
    const name = `heavy-${names}-${references}`;
    return (await admin.template(TENANT, name, requiring(names, references))).status === 201 && name;
  };
  const large = (await admin.template(TENANT, "large", LARGE)).status === 201 && "large";
  if (large) return large;
  let best = await make(100, 1);
  for (const names of [50, 200, 1_000, 4_000]) {
    for (let references = 2; references <= 1_024; references *= 2) {
      const made = await make(names, references);
      if (!made) break;
      best = made;
    }
  }
  return best;
}

/** Patterns that compile to almost the allowed size. */
const patterned = (count, pattern) => ({
  properties: Object.fromEntries(Array.from({ length: count }, (_, at) => [`p${at}`, { type: "string", pattern: `${pattern}${at}` }])),
});

const BACKTRACKING = patterned(32, "(?:x{0,500}){0,20}y");

/** Templates with patterns that take long to compile; returns their names. */
async function patternedTemplates(admin, count) {
  const sizes = [1_500, 1_000, 700, 500];
  const made = [];
  for (let at = 0; at < count; at += 1) {
    for (const size of sizes) {
      const name = `patterns-${at}-${size}`;
      const answer = await admin.template(TENANT, name, patterned(32, `[a-z]{0,${size}}${at}x`));
      if (answer.status !== 201) continue;
      made.push(name);
      break;
    }
  }
  return made;
}

export const attacks = [
  {
    name: "registration-schema",
    seconds: 5,
    prepare: async ({ admin }) => ({ template: await heaviest(admin) }),
    run: ({ host, tally, template }, until) => {
      tally.count(`(${template})`);
      return flood(3, until, async () => tally.note(await ask(host, registration(TENANT, template, {}))));
    },
  },
  {
    name: "registration-templates",
    prepare: async ({ admin }) => ({ templates: await patternedTemplates(admin, 24) }),
    run: ({ host, tally, templates }, until) =>
      flood(16, until, async (worker, round) => {
        const template = templates[(worker + round * 16) % templates.length];
        tally.note(await ask(host, registration(TENANT, template, { p0: "x" })));
      }),
  },
  {
    name: "templates-patterns",
    run: ({ admin, tally }, until) =>
      flood(4, until, async (worker, round) => {
        const name = `pattern-${worker}-${round}`;
        tally.note(await admin.template(TENANT, name, round % 2 ? BACKTRACKING : patterned(32, "[a-z]{0,400}x")));
      }),
  },
  {
    name: "pending-places",
    prepare: async ({ admin }) => {
      await admin.template(TENANT, "place", { type: "object" });
    },
    run: ({ host, tally }, until) =>
      flood(16, until, async (worker, round) => {
        tally.note(await ask(host, registration(TENANT, "place", { place: `${worker}-${round}` })));
      }),
  },
];

const assertSmallRefusal = (answer, status) => {
  assert.equal(answer.status, status, answer.body.toString().slice(0, 300));
  assert.ok(answer.body.length <= MAX_ERROR, `${answer.body.length} bytes`);
};

export const checks = [
  {
    name: "registrations that break a heavy schema are 400 and at most 64 KiB",
    run: async ({ host, admin }) => {
      const template = await heaviest(admin);
      const answers = await Promise.all([1, 2, 3].map(() => ask(host, registration(TENANT, template, {}))));
      for (const answer of answers) assertSmallRefusal(answer, 400);
    },
  },
  {
    name: "templates with patterns that explode are refused, and why is said",
    run: async ({ admin }) => {
      const answer = await admin.template(TENANT, "backtracking", BACKTRACKING);
      assertSmallRefusal(answer, 400);
      assert.match(json(answer).detail, /pattern/i);
    },
  },
  {
    name: "one address cannot take all places of a tenant's pending clients",
    run: async ({ host, admin }) => {
      await admin.template(TENANT, "places", { type: "object" });
      const greedy = freshAddress();
      const taken = [];
      for (let place = 0; place < 33; place += 1) {
        taken.push(await ask(host, registration(TENANT, "places", { place }, greedy)));
      }
      assert.deepEqual(taken.map(({ status }) => status), [...Array(30).fill(201), 429, 429, 429]);
      assert.ok(Number(taken.at(-1).headers["retry-after"]) > 0);
      const other = await ask(host, registration(TENANT, "places", { place: 33 }));
      assert.equal(other.status, 201, "another address may still register");
    },
  },
];
