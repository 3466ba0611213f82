// Starts the receivers of `js/examples/receiver` as their first lines say.

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

export const FOLDER = fileURLToPath(new URL("../../js/examples/receiver/", import.meta.url));

/** Starts a program of that folder. Returns, when it listens, `{ url, line, logged, process }`: the next lines that it prints, and logs. */
export async function startExample(file, settings) {
  const env = { PATH: process.env.PATH, PORT: "0", ...settings };
  const started = spawn(process.execPath, [`${FOLDER}${file}`], { env, stdio: ["ignore", "pipe", "pipe"] });
  const next = (stream) => {
    const lines = createInterface({ input: stream })[Symbol.asyncIterator]();
    return async () => (await lines.next()).value;
  };
  const [line, logged] = [next(started.stdout), next(started.stderr)];
  const url = /listening on (http\S+)/.exec(await line())[1];
  return { url, line, logged, process: started };
}
