// The process of an attack, of lower priority than the host and those who measure it. It is told what to do by its parent:
// `config` to say what the host is to be configured with, `prepare` with the host, then `attack`.

import { setPriority } from "node:os";

import { attackOf } from "./attacks.mjs";
import { administrator } from "./host.mjs";
import { Tally } from "./wire.mjs";

setPriority(10);

const attack = attackOf(process.argv[2]);
const tally = new Tally();
const shop = { tally };

const steps = {
  config: async () => attack.config?.() ?? "",
  prepare: async (host) => {
    shop.host = host;
    shop.admin = await administrator(host);
    Object.assign(shop, await attack.prepare?.(shop));
  },
  attack: async () => {
    const until = performance.now() + (attack.seconds ?? 10) * 1_000;
    await attack.run(shop, until);
    return tally;
  },
};

process.on("message", async ({ step, host }) => {
  try {
    process.send({ answer: await steps[step](host) });
  } catch (error) {
    process.send({ error: error.stack ?? String(error) });
  }
});
