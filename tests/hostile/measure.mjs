// One attack on its own host: idle, during, and a while after.

import { fork } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";

import { administrator, startHost } from "./host.mjs";
import { startRedis } from "./redis.mjs";
import { hasGivenBack } from "./report.mjs";
import { schedule } from "./schedule.mjs";
import { Watch } from "./watch.mjs";

/** How long the good tenant asks before it is measured, so that everything is loaded. */
const WARM_UP_MS = 2_000;

/** The interval of checking if the host has released memory. */
const SETTLE_STEP_MS = 2_000;

/**
 * Gives the good tenant priority while the host keeps all processors busy, if permitted, because it stands for another
 * machine. The attacker and the host are started afterwards with ordinary priority (`--reset-on-fork`).
 */
function goFirst() {
  schedule(["--reset-on-fork", "--fifo"], 10);
}

/** Returns `{ idle, during, memory: { idle, peak, after }, counts, faults }`. With `onRedis` the store is its own Redis. */
export async function measure(program, attack, { idleSeconds, settleSeconds, onRedis }) {
  goFirst();
  const attacker = new Attacker(attack.name);
  let host, redis;
  try {
    const files = await attacker.do("files");
    if (onRedis) redis = await startRedis();
    host = await startHost(program, { openFiles: attack.openFiles, files, store: redis?.url });
    const watch = await Watch.begin(host, await administrator(host));
    const { port, pid, operator } = host;
    await attacker.do("prepare", { port, pid, operator });
    await sleep(WARM_UP_MS);

    const idle = watch.phase();
    await sleep(idleSeconds * 1_000);
    const memory = { idle: host.memory() };
    host.forgetPeak();

    const during = watch.phase();
    const { counts, faults } = await attacker.do("attack");
    memory.peak = host.peak();
    watch.phase();
    await Promise.all([idle.end(), during.end()]);
    attacker.end();

    const settled = performance.now() + settleSeconds * 1_000;
    do {
      await sleep(Math.min(SETTLE_STEP_MS, settleSeconds * 1_000));
      memory.after = host.memory();
    } while (!hasGivenBack(memory) && performance.now() < settled);
    await watch.stop();
    const log = host.log();
    if (/panicked at/.test(log)) faults.push(`a panic in the log: ${/.*panicked at.*/.exec(log)[0].slice(0, 200)}`);
    const ended = await host.end();
    if (ended !== 0) faults.push(`the host ended with ${ended}`);
    return { idle, during, memory, counts, faults, isOfTenant: attack.isOfTenant };
  } finally {
    attacker.end();
    // Ending it twice does no harm.
    await host?.end();
    redis?.end();
  }
}

/** The process of an attack. */
class Attacker {
  #child;

  constructor(name) {
    this.#child = fork(new URL("attacker.mjs", import.meta.url), [name], { stdio: ["ignore", "inherit", "inherit", "ipc"] });
  }

  do(step, host) {
    return new Promise((resolve, reject) => {
      const gone = (code) => reject(new Error(`the attacker ended with ${code} at ${step}`));
      this.#child.once("exit", gone);
      this.#child.once("message", ({ answer, error }) => {
        this.#child.off("exit", gone);
        if (error === undefined) resolve(answer);
        else reject(new Error(error));
      });
      this.#child.send({ step, host });
    });
  }

  end() {
    this.#child.kill("SIGKILL");
  }
}
