// Sets a process's scheduling. The measuring process must know if this was refused: latencies then include the wait for a
// processor that others use on the same machine.

import { spawnSync } from "node:child_process";

/** Schedules this process by a policy of `chrt` from now on; says so if this is impossible. */
export function schedule(policy, priority) {
  const { status, error, stderr } = spawnSync("chrt", [...policy, "--pid", String(priority), String(process.pid)], { encoding: "utf8" });
  if (status === 0) return;
  console.error(`    NOTE: chrt ${policy.join(" ")} failed, so latencies include the wait for a processor: ${error?.message ?? stderr.trim()}`);
}
