// Starts the receivers of `js/examples/receiver` as their first lines say.

import { spawn } from "node:child_process";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";

import { endsWithThis, lines } from "./wait.mjs";

export const FOLDER = fileURLToPath(new URL("../../js/examples/receiver/", import.meta.url));

/** Starts a program of that folder, or another. Returns, when it listens, `{ url, line, logged, process }`: the next lines that it prints, and logs. */
export async function startExample(file, settings) {
  const env = { PATH: process.env.PATH, PORT: "0", ...settings };
  const started = endsWithThis(spawn(process.execPath, [resolve(FOLDER, file)], { env, stdio: ["ignore", "pipe", "pipe"] }));
  const [printed, logged] = [lines(started.stdout, file), lines(started.stderr, `the log of ${file}`)];
  const [, url] = await printed.find(/listening on (http\S+)/);
  return { url, line: printed.next, logged: logged.next, process: started };
}
