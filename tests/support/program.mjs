// Starts the real program for a test: the demo on a free port, with its client's credentials.

import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { createInterface } from "node:readline";

const root = new URL("../../", import.meta.url);

/** The path of the built program. */
export const PROGRAM = new URL(`${process.env.CARGO_TARGET_DIR ?? "target"}/debug/tillgate`, root).pathname;

export const AUDIENCE = "https://api.tillgate.example";

/** Starts `tillgate demo` and returns `{ url, clientId, clientSecret, token, api, end }`. */
export async function demo() {
  const { printed, end } = await start(["demo", "--listen", "127.0.0.1:0"], "curl ");
  const host = { url: printed["listening on"], clientId: printed["client id"], clientSecret: printed.secret };
  return { ...host, ...api(host), end };
}

/** Starts `tillgate serve` on an empty store; returns the same, with the operator's credentials. `settings` are `TILLGATE_*`. */
export async function emptyHost(settings = {}) {
  const folder = mkdtempSync(`${tmpdir()}/tillgate-empty-`);
  const file = `${folder}/operator.json`;
  const { printed, end } = await start(["serve", "--listen", "127.0.0.1:0", "--store", "memory:", "--operator-file", file], "listening", settings);
  const { clientId, clientSecret } = JSON.parse(readFileSync(file, "utf8"));
  rmSync(folder, { recursive: true });
  const host = { url: printed["listening on"], clientId, clientSecret };
  return { ...host, ...api(host), end };
}

/** Starts the program and reads its output up to a line that begins with `until`. */
async function start(args, until, settings = {}) {
  const child = spawn(PROGRAM, args, { stdio: ["ignore", "pipe", "ignore"], env: { ...process.env, ...settings } });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  const printed = {};
  for await (const line of createInterface({ input: child.stdout })) {
    const [, name, value] = /^(listening on|  client id|  secret) +(\S+)$/.exec(line) ?? [];
    if (name) printed[name.trim()] = value;
    if (line.startsWith(until)) break;
  }
  const end = async () => {
    child.kill("SIGTERM");
    await ended;
  };
  return { printed, end };
}

let clients = 0;

/** Registers and authorizes another client of the demo's tenant with these roles; returns what `demo` returns of it. */
export async function clientWith(host, roles) {
  clients += 1;
  const software = { softwareId: `test-${clients}`, softwareVersion: "1" };
  const template = { ...software, name: "a test", claimsSchema: { type: "object" }, roles: roles.map((roleId) => ({ roleId })) };
  const made = await host.api("POST", "/v1/tenants/demo/templates", template);
  const registered = await host.api("POST", "/v1/registration", { ...software, usingGlobalTemplate: false, tenantId: "demo", claims: {} });
  const { clientId, clientSecret } = await registered.json();
  const authorized = await host.api("PUT", `/v1/tenants/demo/clients/${clientId}/authorize`);
  if (made.status !== 201 || authorized.status !== 200) throw new Error(`the client could not be created: ${made.status}, ${authorized.status}`);
  const client = { url: host.url, clientId, clientSecret };
  return { ...client, ...api(client) };
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

/** Waits until a condition holds; fails after the deadline. */
export async function until(holds, what, deadlineMs = 10_000) {
  const end = Date.now() + deadlineMs;
  for (;;) {
    const held = await holds();
    if (held) return held;
    if (Date.now() > end) throw new Error(`not within ${deadlineMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
