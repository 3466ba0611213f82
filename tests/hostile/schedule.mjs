// When a process gets a processor. Whoever measures must know that this was refused: latencies then include the wait for
// a processor that others have on the same machine.

import { spawnSync } from "node:child_process";

/** Has this process scheduled by a policy of `chrt` from now on; says so when that cannot be. */
export function schedule(policy, priority) {
  const { status, error, stderr } = spawnSync("chrt", [...policy, "--pid", String(priority), String(process.pid)], { encoding: "utf8" });
  if (status === 0) return;
  console.error(`    NOTE: chrt ${policy.join(" ")} failed, so latencies include the wait for a processor: ${error?.message ?? stderr.trim()}`);
}
