// The checks of answers: statuses, sizes, dropped connections. Checks that need no host of their own share one, and those that
// only wait run at the same time.

import { administrator, startHost } from "./host.mjs";
import { Tally } from "./wire.mjs";

/** Runs checks one after another; returns how many passed and failed. */
export async function functional(program, checks) {
  const count = { passed: 0, failed: 0 };
  const shared = checks.filter((check) => !check.openFiles && !check.files);
  const alone = checks.filter((check) => !shared.includes(check));
  for (const together of [shared, ...alone.map((check) => [check])]) {
    if (together.length > 0) await onOneHost(program, together, count);
  }
  return count;
}

async function onOneHost(program, checks, count) {
  const [{ openFiles, files }] = checks;
  const host = await startHost(program, { openFiles, files: await files?.() });
  const admin = await administrator(host);
  const run = (check) => {
    const shop = { program, host, admin, tally: new Tally() };
    return one(check.name, count, async () => {
      await check.run(shop);
      const { faults } = shop.tally.toJSON();
      if (faults.length > 0) throw new Error(faults.join("; "));
    });
  };
  const waiting = checks.filter(({ waits }) => waits).map(run);
  for (const check of checks.filter(({ waits }) => !waits)) await run(check);
  await Promise.all(waiting);
  await one("the host did not panic, and ends in order", count, async () => {
    const panic = /.*panicked at.*/.exec(host.log());
    const code = await host.end();
    if (panic) throw new Error(panic[0]);
    if (code !== 0) throw new Error(`it ended with ${code}`);
  });
}

async function one(name, count, run) {
  const begin = performance.now();
  const took = () => `<${((performance.now() - begin) / 1_000).toFixed(3)}s>`;
  try {
    await run();
    count.passed += 1;
    console.log(`test ${name} ... ok ${took()}`);
  } catch (error) {
    count.failed += 1;
    console.log(`test ${name} ... FAILED ${took()}\n${error.message}`);
  }
}
