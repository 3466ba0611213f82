// Requests that read much more than they send: dry runs, histories, lists. Their reading must be bounded, however many ask at
// once, and nothing may start for clients that have gone. Also the effect of a tenant's own viewer on it.

import { decider, project, projectId } from "./decisions.mjs";
import { ageCondition } from "./host.mjs";
import { manyRates, put, setMany, unit } from "./rates.mjs";
import { LITTLE, ask, flood, head, keepAlive, open } from "./wire.mjs";

const TENANT = "exchange";
const CALLERS = 200;

/** Asks on many connections at once, and discards the answers. */
const asking = (request) => ({ host, token, tally }, until) => {
  const agents = Array.from({ length: CALLERS }, () => keepAlive());
  return flood(CALLERS, until, async (worker, round) => {
    const asked = request(worker * 7 + round);
    tally.note(await ask(host, { ...asked, token, keeps: LITTLE, agent: agents[worker] }));
  });
};

/** A company with two groups, and shops in one of them that have a thousand rates each. */
async function shopsWithRates(shop, shops) {
  const { token } = await shop.admin.client(TENANT, ["exr.editor"]);
  for (const request of [unit("company", "COMPANY"), unit("east", "GROUP", "company"), unit("west", "GROUP", "company")]) {
    await put(shop, token, request);
  }
  await setMany(shop, token, "west", manyRates(1_000));
  for (let at = 0; at < shops; at += 1) {
    await put(shop, token, unit(`shop-${at}`, "STORE", "east"));
    await setMany(shop, token, `shop-${at}`, manyRates(1_000, at));
  }
  return { token };
}

const rates = (seed) => ({
  method: "POST",
  path: "/api/v1/business-units/company/exchange-rates?dryRun=true",
  body: { set: manyRates(1_000, seed % 900) },
});
const move = () => ({ ...unit("east", "GROUP", "west"), path: "/api/v1/business-units/east?dryRun=true" });

/** A project of many megabytes, with a history. */
async function largeProject(shop, versions) {
  const { token, must } = await decider(shop);
  for (let version = 0; version < versions; version += 1) {
    const itemIds = Array.from({ length: 90_000 }, (_, at) => `${version}-${at}-${"x".repeat(200)}`);
    await must(project(1, [{ type: "BLACKLISTEDITEMS", itemIds }]));
  }
  return { token };
}

/** As many templates of 60 KiB as a tenant may have. */
async function templates({ admin }) {
  const { token } = await admin.client("lister", ["iam.admin"]);
  for (let at = 0; at < 1_000; at += 1) {
    const made = await admin.template("lister", `template-${at}`, { type: "object", description: "x".repeat(60_000) });
    if (made.status === 409) break;
    if (made.status !== 201) throw new Error(`no template: ${made.status} ${made.body}`);
  }
  return { token };
}

/** A rule that takes long to analyze. */
const complicated = (number) =>
  project(number, Array.from({ length: 400 }, (_, at) => ({ type: "BLACKLIST", propertyName: `p${at % 20}`, deniedValues: Array.from({ length: 50 }, (_, value) => `v${(at * 7 + value) % 900}`) })));

const findingsOf = (token, number = 1) => head(`GET /api/v1/projects/${projectId(number)}/findings`, { Authorization: `Bearer ${token}` });

/** Asks for findings on many connections, and closes them. */
async function askAndGo({ host, token, tally }, until, connections) {
  while (performance.now() < until) {
    const opened = Array.from({ length: connections }, () => open(host));
    await Promise.all(opened.map(({ socket }) => new Promise((sent) => socket.write(findingsOf(token), sent))));
    for (const { socket } of opened) socket.destroy();
    tally.count("gone", connections);
  }
}

const history = () => ({ path: `/api/v1/projects/${projectId(1)}/history?limit=1000` });

/** A tenant whose own viewer makes all expensive requests. */
async function goodTenant(shop) {
  const { token } = await shop.admin.client("good", ["ecs.editor"]);
  const must = async (request) => {
    const answer = await ask(shop.host, { ...request, token });
    if (![200, 201].includes(answer.status)) throw new Error(`${answer.what}: ${answer.status} ${answer.body.toString().slice(0, 200)}`);
  };
  await must(complicated(1));
  await must(complicated(1));
  for (let at = 0; at < 200; at += 1) await must(ageCondition(`condition-${at}`));
  return { token: (await shop.admin.client("good", ["ecs.viewer"])).token };
}

export const attacks = [
  { name: "dry-runs-200", prepare: (shop) => shopsWithRates(shop, 100), run: asking(rates) },
  { name: "moves-200", prepare: (shop) => shopsWithRates(shop, 100), run: asking(move) },
  { name: "history-200", prepare: (shop) => largeProject(shop, 4), run: asking(history) },
  { name: "templates-200", prepare: templates, run: asking(() => ({ path: "/v1/tenants/lister/templates" })) },
  {
    name: "findings-gone",
    prepare: async (shop) => {
      const { token, must } = await decider(shop);
      await must(complicated(1));
      return { token };
    },
    run: (shop, until) => askAndGo(shop, until, 120),
  },
  {
    name: "own-viewer",
    isOfTenant: true,
    prepare: goodTenant,
    run: (shop, until) => Promise.all([askAndGo(shop, until, 30), asking((number) => (number % 2 ? history() : { path: "/api/v1/entity-conditions" }))(shop, until)]),
  },
];
