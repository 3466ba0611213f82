// A Redis of its own for a run, on a free port, without persistence.

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";

async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

const answers = (port) =>
  new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => resolve(true)).on("error", () => resolve(false));
    socket.on("close", () => {}).end();
  });

/** Starts a server: `{ url, end() }`. */
export async function startRedis() {
  const folder = mkdtempSync(`${tmpdir()}/tillgate-redis-`);
  const port = await freePort();
  const child = spawn("redis-server", ["--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", folder], { stdio: "ignore" });
  let error;
  child.on("error", (cause) => (error = cause));
  const end = () => {
    child.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  };
  process.once("exit", end);
  while (!error && child.exitCode === null && !(await answers(port))) await sleep(20);
  if (error || child.exitCode !== null) throw new Error(`redis-server did not start: ${error?.message ?? child.exitCode}`);
  return {
    url: `redis://127.0.0.1:${port}`,
    end: () => {
      process.off("exit", end);
      end();
    },
  };
}
