// Trees of business units with rates and markups at their bounds: each answer and the rates of each unit equal the model's,
// and a follower of the topic holds the rates of each shop.

import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";

import { administrator, startHost } from "../host.mjs";
import { ask, json, keepAlive } from "../wire.mjs";
import { commandsOf, requestOf } from "./commands.mjs";
import { curl } from "./curl.mjs";
import { Model } from "./rates-model.mjs";
import { keptSeeds } from "./seeds.mjs";
import { smallest } from "./smaller.mjs";
import { Consumer, messagesOf, parseRates, storedOf } from "./topic.mjs";

/** The longest time for a change. */
const PATIENCE_MS = 60_000;

const ROLES = ["exr.editor", "exr.subscriber"];

/** The model's key of a row of `GET /api/v1/exchange-rates`. */
const keyOf = ({ exchangeRateType, currencyIdFrom, currencyIdTo }) => `${exchangeRateType} ${currencyIdFrom} ${currencyIdTo}`;

/** The first difference between two maps, in a sentence. */
export function differenceOf(name, is, shouldBe) {
  for (const key of new Set([...shouldBe.keys(), ...is.keys()])) {
    if (is.get(key) !== shouldBe.get(key)) return `${name}: ${key} is ${is.get(key)}, and should be ${shouldBe.get(key)}`;
  }
  return undefined;
}

/** The rates that a unit uses, from a host's answer. */
export async function usedRates(host, token, id, agent) {
  const answer = await ask(host, { path: `/api/v1/exchange-rates?businessUnit=${id}`, token, agent });
  if (answer.status !== 200) throw new Error(`what ${id} uses is ${answer.status} ${answer.body.toString().slice(0, 200)}`);
  return parseRates(answer.body.toString());
}

/** Waits until changes are done; returns the fault of one of them. */
export async function settled(host, token, correlations, agent) {
  const until = performance.now() + PATIENCE_MS;
  for (const correlation of correlations) {
    for (;;) {
      const answer = await ask(host, { path: `/api/v1/exchange-rates/changes/${correlation}`, token, agent });
      if (answer.status !== 200) return `the change ${correlation} is ${answer.status}`;
      const { state, businessUnits, failed = [] } = json(answer);
      if (failed.length > 0) return `a change has failed for ${failed.join(", ")}`;
      if (state === "DONE") break;
      if (performance.now() > until) return `a change is ${state} for ever: ${JSON.stringify(businessUnits)}`;
      await sleep(10);
    }
  }
  return undefined;
}

/** Reads the topic from its beginning; returns its fault, or that of the consumer's final state. */
export async function topicFault(host, token, shops, initialStates, agent) {
  const consumer = new Consumer();
  for (const message of await messagesOf(host, token)) {
    const fault = consumer.take(message, initialStates.has(message.attributes["Correlation-Id"]));
    if (fault) return fault;
  }
  for (const shop of shops) {
    const used = new Map((await usedRates(host, token, shop, agent)).map((row) => [keyOf(row), storedOf(row)]));
    const fault = differenceOf(`a consumer of ${shop}`, consumer.held(shop), used);
    if (fault) return fault;
  }
  return undefined;
}

class Trial {
  #host;
  #admin;
  #agent = keepAlive();
  #tenants = 0;

  static async begin(program) {
    const trial = new Trial();
    trial.#host = await startHost(program);
    trial.#admin = await administrator(trial.#host);
    return trial;
  }

  /** Executes commands in their own tenant; returns the fault, if any. */
  async fault(commands) {
    const tenant = `tree-${(this.#tenants += 1)}`;
    const { token } = await this.#admin.client(tenant, ROLES);
    const model = new Model();
    const correlations = [];
    const initialStates = new Set();
    for (const command of commands) {
      const correlation = randomUUID();
      const request = { ...requestOf(command, tenant), token, agent: this.#agent, headers: { "correlation-id": correlation } };
      let answer = await ask(this.#host, request);
      if (answer.status === 429) {
        const fault = await settled(this.#host, token, correlations, this.#agent);
        if (fault) return fault;
        answer = await ask(this.#host, request);
      }
      const expected = model.apply(command);
      if (answer.status !== expected) return `${command.do} is ${answer.status}, and should be ${expected}: ${answer.body.toString().slice(0, 300)}`;
      if (answer.status < 300) correlations.push(correlation);
      if (command.do === "again") initialStates.add(correlation);
    }
    const fault = await settled(this.#host, token, correlations, this.#agent);
    if (fault) return fault;
    for (const id of model.ids) {
      const rows = await usedRates(this.#host, token, id, this.#agent);
      const used = new Map(rows.map((row) => [keyOf(row), `${row.rateValue} ${row.rateValueWithMarkup} ${row.setAt}`]));
      const wrong = differenceOf(`what ${id} uses`, used, model.used(id));
      if (wrong) return wrong;
    }
    return topicFault(this.#host, token, model.shops, initialStates, this.#agent);
  }

  curls(commands) {
    return commands.map((command) => curl(this.#host.port, { ...requestOf(command, "TENANT"), headers: { authorization: "Bearer $TOKEN" } })).join("\n    ");
  }

  async end() {
    const panic = /.*panicked at.*|^\S+ +ERROR .*/m.exec(this.#host.log());
    const code = await this.#host.end();
    if (panic) return `the log has: ${panic[0].slice(0, 500)}`;
    return code === 0 ? undefined : `the host ended with ${code}`;
  }
}

/** The kind of a fault, without ids and amounts. */
const kindOf = (fault) => fault?.replaceAll(/\d+(\.\d+)?|[\da-f-]{36}/g, "0").slice(0, 40);

/** Tries random commands until the time is over, starting with earlier failures. */
export async function run({ program, random, report }) {
  const trial = await Trial.begin(program);
  const tryOut = async (commands, isKnown) => {
    const fault = await trial.fault(commands);
    report.done();
    if (!fault || !report.isNew(fault)) return;
    const small = isKnown ? commands : await smallest(commands, async (fewer) => kindOf(await trial.fault(fewer)) === kindOf(fault), { left: 100 });
    report.failed({ why: fault, reproduction: trial.curls(small), input: isKnown ? undefined : { commands: small } });
  };
  for (const { input } of keptSeeds("trees")) await tryOut(input.commands, true);
  while (report.goesOn()) await tryOut(commandsOf(random));
  const fault = await trial.end();
  if (fault) report.failed({ why: fault });
}
