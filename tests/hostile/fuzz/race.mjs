// Two hosts on one Redis: whatever writers do on both at the same moment, no write is lost, no quota is exceeded, and within a
// second both agree with each other and with some order of the answers.

import { setTimeout as sleep } from "node:timers/promises";

import { administrator, startHost } from "../host.mjs";
import { ask, json } from "../wire.mjs";
import { config, kinds } from "./kinds.mjs";
import { raceTrees } from "./race-trees.mjs";
import { Writes } from "./race-writes.mjs";
import { Random } from "./random.mjs";
import { startRedis } from "../redis.mjs";
import { keptSeeds } from "./seeds.mjs";

/** The largest age of a host's answers, plus some time for a busy machine. */
const AGREED_AFTER_MS = 3_000;

const ROLES = ["ecs.editor", "exr.editor", "exr.subscriber", "exe.editor"];
const ROUNDS = [...kinds.map(({ name }) => name), "trees"];

/** Tokens of one host are valid on the other. */
const shared = (url) => ({ "tillgate.toml": `store = "${url}"\npublic_url = "http://tillgate.example"\n` });

class Hosts {
  #redis;
  #admin;
  #tenants = 0;
  hosts;

  static async begin(program) {
    const hosts = new Hosts();
    hosts.#redis = await startRedis();
    const files = shared(hosts.#redis.url);
    files["tillgate.toml"] += config;
    hosts.hosts = [await startHost(program, { files }), await startHost(program, { files })];
    hosts.#admin = await administrator(hosts.hosts[0]);
    return hosts;
  }

  /** A client of its own tenant: `{ tenant, token }`. */
  async client() {
    const tenant = `race-${(this.#tenants += 1)}`;
    const { token } = await this.#admin.client(tenant, ROLES);
    return { tenant, token };
  }

  /** Ends both; returns their fault. */
  async end() {
    const logs = this.hosts.map((host) => /.*panicked at.*|^\S+ +ERROR .*/m.exec(host.log())?.[0]);
    const codes = await Promise.all(this.hosts.map((host) => host.end()));
    this.#redis.end();
    const log = logs.find(Boolean);
    if (log) return `a log has: ${log.slice(0, 500)}`;
    return codes.every((code) => code === 0) ? undefined : `the hosts ended with ${codes}`;
  }
}

/** A race of one kind, in its own tenant. */
class Round {
  constructor(hosts, { tenant, token }, report) {
    Object.assign(this, { hosts, tenant, token, report });
  }

  async #get(path) {
    const answers = await Promise.all(this.hosts.map((host) => ask(host, { path, token: this.token })));
    const bad = answers.find(({ status }) => status !== 200);
    if (bad) throw new Error(`${bad.what} is ${bad.status || bad.why}: ${bad.body.toString().slice(0, 200)}`);
    return answers.map(json);
  }

  /** The answer of both once they agree and `isRight` holds; an error if they do not in time. */
  async agreed(path, isRight = () => true) {
    const begin = performance.now();
    for (;;) {
      const asked = performance.now();
      const answers = await this.#get(path);
      if (JSON.stringify(answers[0]) === JSON.stringify(answers[1]) && isRight(answers[0])) {
        this.report.note("the hosts agreed after, in ms, at most", asked - begin);
        return answers[0];
      }
      if (asked - begin > AGREED_AFTER_MS) throw new Error(`the hosts do not agree on ${path} after ${AGREED_AFTER_MS} ms: ${answers.map((answer) => JSON.stringify(answer).slice(0, 400)).join(" and ")}`);
      await sleep(10);
    }
  }

  /** Marks by id, as both list them after something; `usage` must give their number. */
  async #listed(kind, after, isRight) {
    const items = await this.agreed(kind.list, isRight);
    const [one, other] = await this.#get(`/v1/tenants/${this.tenant}/usage`);
    const used = [one, other].map((usage) => usage[kind.usage].used);
    if (used.some((count) => count !== items.length)) {
      await sleep(AGREED_AFTER_MS);
      const [later] = await this.#get(kind.list);
      throw new Error(`after ${after}, ${items.length} ${kind.name} are listed, ${later.length} some time later, and usage counts ${used.join(" and ")}`);
    }
    return new Map(items.map((item) => [kind.idOf(item), kind.markOf(item)]));
  }

  /** Returns the fault. */
  async run(kind, random) {
    if (kind.prepare) await ask(this.hosts[0], { ...kind.prepare, token: this.token });
    const writes = new Writes(this.hosts, kind, this.token, random);
    const check = await writes.change();
    const found = await this.#listed(kind, "changes");
    const fault = check(found) ?? (await writes.fill(found.size));
    if (fault) return fault;
    const full = await this.#listed(kind, "creations", (items) => items.length >= found.size);
    for (const [id, mark] of found) if (full.get(id) !== mark) return `${id} was ${mark}, and is ${full.get(id)} since others were created`;
    const removed = await writes.remove([...full.keys()]);
    if (removed) return removed;
    await this.#listed(kind, "removals", (items) => items.length === 0);
    return undefined;
  }
}

/** Runs one race by its seed; returns the fault. */
async function raceOf(name, seed, hosts, report) {
  const round = new Round(hosts.hosts, await hosts.client(), report);
  const random = new Random(seed);
  try {
    if (name === "trees") return await raceTrees(hosts.hosts, round.token, random, (path) => round.agreed(path));
    return await round.run(kinds.find((kind) => kind.name === name), random);
  } catch (error) {
    return error.message;
  }
}

/** Races until the time is over, starting with earlier failures. Writers meet by chance, so a seed may pass the next time. */
export async function run({ program, random, report }) {
  const hosts = await Hosts.begin(program);
  const tryOut = async (input, isKnown) => {
    const fault = await raceOf(input.kind, input.seed, hosts, report);
    report.done();
    if (fault && report.isNew(`${input.kind}: ${fault}`)) report.failed({ why: `${input.kind}: ${fault}`, reproduction: `a race of ${input.kind} with the seed ${input.seed}`, input: isKnown ? undefined : input });
  };
  for (const { input } of keptSeeds("race")) await tryOut(input, true);
  for (let count = 0; report.goesOn(); count += 1) await tryOut({ kind: ROUNDS[count % ROUNDS.length], seed: random.below(2 ** 31) });
  const fault = await hosts.end();
  if (fault) report.failed({ why: fault });
}
