// The real program, as a test starts it: the demo on a free port, with its client's credentials.

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

const root = new URL("../../", import.meta.url);

/** Where the built program is. */
export const PROGRAM = new URL(`${process.env.CARGO_TARGET_DIR ?? "target"}/debug/tillgate`, root).pathname;

export const AUDIENCE = "https://api.tillgate.example";

/** Starts `tillgate demo` and answers `{ url, clientId, clientSecret, api, end }`. */
export async function demo() {
  const child = spawn(PROGRAM, ["demo", "--listen", "127.0.0.1:0"], { stdio: ["ignore", "pipe", "inherit"] });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  const printed = {};
  for await (const line of createInterface({ input: child.stdout })) {
    const [, name, value] = /^(listening on|  client id|  secret) +(\S+)$/.exec(line) ?? [];
    if (name) printed[name.trim()] = value;
    if (line.startsWith("curl ")) break;
  }
  const host = { url: printed["listening on"], clientId: printed["client id"], clientSecret: printed.secret };
  return {
    ...host,
    ...api(host),
    end: async () => {
      child.kill("SIGTERM");
      await ended;
    },
  };
}

/** Requests with the demo's client: `{ token, api }`. */
function api({ url, clientId, clientSecret }) {
  let held;
  const token = async () => {
    const answer = await fetch(`${url}/oauth2/token`, {
      method: "POST",
      headers: { Authorization: `Basic ${btoa(`${clientId}:${clientSecret}`)}` },
      body: new URLSearchParams({ grant_type: "client_credentials", audience: AUDIENCE }),
    });
    return (await answer.json()).access_token;
  };
  return {
    token,
    api: async (method, path, body, headers = {}) => {
      held ??= token();
      return fetch(url + path, {
        method,
        headers: { Authorization: `Bearer ${await held}`, "Content-Type": "application/json", ...headers },
        body: body && JSON.stringify(body),
      });
    },
  };
}

/** Waits until something holds; fails when it does not for too long. */
export async function until(holds, what, deadlineMs = 10_000) {
  const end = Date.now() + deadlineMs;
  for (;;) {
    const held = await holds();
    if (held) return held;
    if (Date.now() > end) throw new Error(`not within ${deadlineMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
