// A shell into which the lines of a document are pasted. Its folder has nothing but the npm package and the files to operate a
// host; `cargo build --release` and `cargo run --release` put the built program where the document says.

import { spawn } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";

import { freePort } from "./port.mjs";
import { until, within } from "./wait.mjs";

const root = new URL("../../", import.meta.url).pathname;
const END = "\x1e";

/** The longest time for pasted lines. */
const DEADLINE_MS = 120_000;

/** The files of builds and installations. */
const KEPT = /^(target|js\/node_modules)(\/|$)/;

/** Puts an executable script into a folder. */
function script(file, text) {
  writeFileSync(file, `#!/bin/sh\n${text}`);
  chmodSync(file, 0o755);
}

/** Starts a shell in a folder of the clone; returns `{ paste, files, end }`. */
export async function pasted(program, inside = ".") {
  const folder = mkdtempSync(`${tmpdir()}/tillgate-pasted-`);
  mkdirSync(`${folder}/bin`);
  // Background output of hosts would come between the answers.
  script(`${folder}/tillgate`, `case $1 in serve) exec >/dev/null;; esac\nexec '${program}' "$@"\n`);
  script(
    `${folder}/bin/cargo`,
    `case "$1 $2" in "build --release"|"run --release") ;; *) exit 1;; esac
mkdir -p target/release && cp '${folder}/tillgate' target/release/
[ "$1" = build ] || { shift 3; exec target/release/tillgate "$@"; }\n`,
  );
  // Packages that a document installs with `pip` are there.
  if (process.env.PYTHON) script(`${folder}/bin/python3`, `exec '${process.env.PYTHON}' "$@"\n`);
  const address = async (scheme) => `${scheme}://127.0.0.1:${await freePort()}`;
  const hosts = { URL: await address("http"), SECOND: await address("http") };
  const addresses = { ...hosts, REDIS: await address("redis"), PROMETHEUS: await address("http"), PORT: `${await freePort()}` };
  const env = { ...process.env, ...addresses, PATH: `${folder}/bin:${process.env.PATH}` };
  const clone = `${folder}/clone`;
  cpSync(`${root}js`, `${clone}/js`, { recursive: true, dereference: true, filter: (file) => !file.endsWith("/node_modules") });
  cpSync(`${root}host/operations`, `${clone}/host/operations`, { recursive: true });
  cpSync(`${root}LICENSE`, `${clone}/LICENSE`);
  const shell = spawn("bash", [], { cwd: `${clone}/${inside}`, env, detached: true, stdio: "pipe" });
  let output = "";
  let faults = "";
  shell.stdout.setEncoding("utf8").on("data", (text) => (output += text));
  shell.stderr.setEncoding("utf8").on("data", (text) => (faults += text));
  const ended = new Promise((resolve) => shell.once("close", resolve));
  shell.stdin.write("set -euo pipefail\n");

  /** Pastes lines, and returns their output. */
  const paste = async (lines) => {
    output = "";
    shell.stdin.write(`${lines}\nprintf '\\036'\n`);
    const isDone = () => {
      if (output.includes(END)) return true;
      if (shell.exitCode !== null) throw new Error(`the shell ended with ${shell.exitCode} after\n${lines}\n${output}\n${faults}`);
      return false;
    };
    await until(isDone, `the shell has done\n${lines}`, DEADLINE_MS);
    return output.split(END)[0].trim();
  };
  return {
    paste,
    /** The files and folders of the clone, without those of builds and installations. */
    files: () => readdirSync(clone, { recursive: true }).filter((file) => !KEPT.test(file)),
    end: async () => {
      // The shell, and everything that it started and did not end.
      try {
        process.kill(-shell.pid, "SIGTERM");
      } catch (error) {
        if (error.code !== "ESRCH") throw error;
      }
      await within(ended, "the end of the shell");
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
