// Starts the receivers of `js/examples/receiver` as in their first lines, and the Python receivers of the documents.

import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";

import { endsWithThis, lines } from "./wait.mjs";

const root = new URL("../../", import.meta.url);

export const FOLDER = fileURLToPath(new URL("js/examples/receiver/", root));

/**
 * Starts a program of that folder, or another. Once it listens, returns `{ url, line, logged, process }`: `line` returns its
 * next output, `logged` its log.
 */
export const startExample = (file, settings) => start(file, [process.execPath, resolve(FOLDER, file)], settings);

/** The same for a Python program that a document's reader writes to a file. */
export function startDocumented(document, file, settings) {
  const [, program] = readFileSync(new URL(document, root), "utf8").split(`cat > ${file} <<'END'\n`);
  return start(file, [process.env.PYTHON, "-c", program.split("\nEND\n")[0]], settings);
}

async function start(file, [command, ...args], settings) {
  const env = { PATH: process.env.PATH, PORT: "0", ...settings };
  const started = endsWithThis(spawn(command, args, { env, stdio: ["ignore", "pipe", "pipe"] }));
  const [printed, logged] = [lines(started.stdout, file), lines(started.stderr, `the log of ${file}`)];
  const [, url] = await printed.find(/listening on (http\S+)/);
  return { url, line: printed.next, logged: logged.next, process: started };
}
