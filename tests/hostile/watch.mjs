// The well-behaved tenant: it evaluates ten times a second on one connection, and once a second on a new one. Twice a second
// it sends a request that is too large for the serving threads to decide. A request is due by the clock, and its latency
// counts from then on, however long the requests before it took.

import { setTimeout as sleep } from "node:timers/promises";

import { ageCondition, evaluation } from "./host.mjs";
import { ask, freshAddress, keepAlive } from "./wire.mjs";

const TENANT = "good";
const CONDITION = "alcohol";
const EVERY_MS = 100;
const LARGE_EVERY_MS = 500;

/** Requests of more than 16 KiB need a permit on the host. */
const LARGE = "x".repeat(20 << 10);

/** A request without an answer within this time is lost. */
const PATIENCE_MS = 10_000;

/** Watches a host from a tenant's point of view; each phase has its own figures. */
export class Watch {
  #host;
  #token;
  #agent = keepAlive(1);
  #phase;
  #running = [];
  #stopped = false;

  /** Creates the tenant and its condition, and starts asking. */
  static async begin(host, admin) {
    const watch = new Watch();
    watch.#host = host;
    const { token } = await admin.client(TENANT, ["ecs.editor", "ecs.evaluator"]);
    watch.#token = token;
    const put = await ask(host, { ...ageCondition(CONDITION), token });
    if (put.status !== 201) throw new Error(`no condition: ${put.status}`);
    watch.phase();
    watch.#running = [watch.#every(EVERY_MS, watch.#decide), watch.#every(1_000, watch.#arrive), watch.#every(LARGE_EVERY_MS, watch.#decideLarge)];
    return watch;
  }

  /** Starts a phase; returns its figures, complete once their `end` resolves. */
  phase() {
    this.#phase = new Phase();
    return this.#phase;
  }

  async stop() {
    this.#stopped = true;
    await Promise.all(this.#running);
    this.#agent.destroy();
  }

  async #every(ms, step) {
    const begin = performance.now();
    const begun = new Set();
    for (let count = 0; !this.#stopped; count += 1) {
      const due = begin + count * ms;
      const early = due - performance.now();
      if (early > 0) await sleep(early);
      const phase = this.#phase;
      const done = step.call(this, due, phase).finally(() => {
        begun.delete(done);
        phase.open.delete(done);
      });
      begun.add(done);
      phase.open.add(done);
    }
    await Promise.all(begun);
  }

  /** Asks on the one connection; if that was dropped, on a new one. */
  async #decide(due, phase) {
    while (performance.now() - due < PATIENCE_MS) {
      const answer = await ask(this.#host, { ...evaluation(CONDITION), token: this.#token, agent: this.#agent, patience: PATIENCE_MS });
      if (answer.status !== 0) {
        phase.answered(answer, performance.now() - due);
        return;
      }
      phase.reconnects += 1;
      await sleep(20);
    }
    phase.lost += 1;
    phase.latencies.push(PATIENCE_MS);
  }

  /** Asks with a large request, on its own connection. */
  async #decideLarge(due, phase) {
    const small = evaluation(CONDITION);
    const body = { ...small.body, note: LARGE };
    const headers = { prefer: "handling=lenient" };
    const answer = await ask(this.#host, { ...small, body, headers, token: this.#token, patience: PATIENCE_MS });
    phase.larges += 1;
    if (answer.status !== 200) phase.refused.push(answer.status || answer.why);
    phase.slowestLarge = Math.max(phase.slowestLarge, performance.now() - due);
  }

  /** Asks on a new connection, from an unused address. */
  async #arrive(due, phase) {
    const answer = await ask(this.#host, { ...evaluation(CONDITION), token: this.#token, from: freshAddress(200), patience: PATIENCE_MS });
    phase.newcomers += 1;
    if (answer.status !== 200) phase.refused.push(answer.status || answer.why);
    phase.slowest = Math.max(phase.slowest, performance.now() - due);
  }
}

class Phase {
  latencies = [];
  /** Statuses other than 200. */
  failed = [];
  lost = 0;
  reconnects = 0;
  newcomers = 0;
  refused = [];
  slowest = 0;
  larges = 0;
  slowestLarge = 0;
  open = new Set();

  answered({ status }, latency) {
    this.latencies.push(latency);
    if (status !== 200) this.failed.push(status);
  }

  /** Resolves once all requests due in the phase are answered. */
  async end() {
    await Promise.all(this.open);
    this.latencies.sort((a, b) => a - b);
    return this;
  }

  /** The latency that this part of the requests did not exceed, in milliseconds. */
  quantile(part) {
    return this.latencies[Math.max(0, Math.ceil(part * this.latencies.length) - 1)] ?? NaN;
  }
}
