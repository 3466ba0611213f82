// The process of an attack. Its parent sends commands: `files` to get the files of the host's folder, `prepare` with the host,
// then `attack`.

import { attackOf } from "./attacks.mjs";
import { administrator } from "./host.mjs";
import { schedule } from "./schedule.mjs";
import { Tally } from "./wire.mjs";

// The attacker stands for another machine: the host need not wait until it releases a processor.
schedule(["--idle"], 0);

const attack = attackOf(process.argv[2]);
const shop = { tally: new Tally() };

const steps = {
  files: async () => attack.files?.(),
  prepare: async (host) => {
    shop.host = host;
    shop.admin = await administrator(host);
    Object.assign(shop, await attack.prepare?.(shop));
    // Answers until now do not belong to the attack.
    shop.tally = new Tally();
  },
  attack: async () => {
    const until = performance.now() + (attack.seconds ?? 10) * 1_000;
    await attack.run(shop, until);
    return shop.tally;
  },
};

process.once("disconnect", () => process.exit());
process.on("message", async ({ step, host }) => {
  try {
    process.send({ answer: await steps[step](host) });
  } catch (error) {
    process.send({ error: error.stack ?? String(error) });
  }
});
