// A Redis for one run, on a free port.

import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";

import { freePort } from "../support/port.mjs";

const answers = (port) =>
  new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => resolve(true)).on("error", () => resolve(false));
    socket.on("close", () => {}).end();
  });

/** The options for writing to disk before it answers, as a host requires; or none. */
const DURABLE = ["--appendonly", "yes", "--appendfsync", "always", "--aof-load-truncated", "no", "--save", ""];
const VOLATILE = ["--appendonly", "no", "--save", ""];

/** Starts a server: `{ url, bytes(), memory(), end() }`, the bytes that it takes on disk and in memory. */
export async function startRedis({ isDurable = false } = {}) {
  const folder = mkdtempSync(`${tmpdir()}/tillgate-redis-`);
  const port = await freePort();
  const child = spawn("redis-server", ["--port", port, "--bind", "127.0.0.1", ...(isDurable ? DURABLE : VOLATILE), "--dir", folder], { stdio: "ignore" });
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
    bytes: () => {
      const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((file) => file.isFile());
      return files.reduce((sum, { parentPath, path, name }) => sum + statSync(`${parentPath ?? path}/${name}`).size, 0);
    },
    memory: () => Number(/^used_memory:(\d+)/m.exec(execFileSync("redis-cli", ["-p", port, "info", "memory"], { encoding: "utf8" }))[1]),
    end: () => {
      process.off("exit", end);
      end();
    },
  };
}
