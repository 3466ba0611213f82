// Starts the real program for a test on a free port: the demo with its client's credentials, or an empty host with its
// operator's.

import { execFile, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";

import { DEADLINE_MS, endsWithThis, lines, within } from "./wait.mjs";

const root = new URL("../../", import.meta.url);

/** The path of the program: the built one, or another to measure with. */
export const PROGRAM = new URL(process.env.PROGRAM ?? `${process.env.CARGO_TARGET_DIR ?? "target"}/debug/tillgate`, root).pathname;

export const AUDIENCE = "https://api.tillgate.example";

/** Starts `tillgate demo` and returns `{ url, clientId, clientSecret, link, token, api, end }`; the link signs in once. */
export async function demo() {
  const { printed, end } = await start(["demo", "--listen", "127.0.0.1:0"], "curl ");
  const host = { url: printed["listening on"], clientId: printed["client id"], clientSecret: printed.secret };
  return { ...host, link: printed.page, ...api(host), end };
}

/**
 * Starts `tillgate serve` on an empty store; returns the same, with the operator's credentials. `settings` are `TILLGATE_*`
 * variables.
 */
export async function emptyHost(settings = {}) {
  const folder = mkdtempSync(`${tmpdir()}/tillgate-empty-`);
  const file = `${folder}/operator.json`;
  const { printed, end } = await start(["serve", "--listen", "127.0.0.1:0", "--store", "memory:", "--operator-file", file], "listening", { env: { ...process.env, ...settings } });
  const { clientId, clientSecret } = JSON.parse(readFileSync(file, "utf8"));
  rmSync(folder, { recursive: true });
  const host = { url: printed["listening on"], clientId, clientSecret };
  return { ...host, ...api(host), end };
}

/**
 * Starts `tillgate serve` on an embedded store in an empty folder, with a configuration file. Returns the same, `log()`, which
 * returns the host's log, and `run(...args)`, which runs another command of the program in the same folder and returns
 * `{ code, stdout, stderr }`.
 */
export async function configuredHost(config, settings = {}) {
  const folder = mkdtempSync(`${tmpdir()}/tillgate-configured-`);
  writeFileSync(`${folder}/tillgate.toml`, config);
  const place = { cwd: folder, env: { ...process.env, ...settings } };
  let log = "";
  const { child, printed, end } = await start(["serve", "--listen", "127.0.0.1:0", "--config", "tillgate.toml"], "listening", { ...place, stderr: "pipe" });
  child.stderr.setEncoding("utf8").on("data", (text) => (log += text));
  const { clientId, clientSecret } = JSON.parse(readFileSync(`${folder}/tillgate-data/operator.json`, "utf8"));
  const host = { url: printed["listening on"], clientId, clientSecret };
  return {
    ...host,
    ...api(host),
    log: () => log,
    run: (...args) =>
      new Promise((resolve) => {
        const done = (error, stdout, stderr) => resolve({ code: error ? (error.code ?? error.signal) : 0, stdout, stderr });
        execFile(PROGRAM, args, { ...place, timeout: DEADLINE_MS }, done);
      }),
    end: async () => {
      await end();
      rmSync(folder, { recursive: true });
    },
  };
}

/** Starts the program and reads its output up to a line that begins with `until`. */
async function start(args, until, { stderr = "ignore", ...options } = {}) {
  const child = endsWithThis(spawn(PROGRAM, args, { stdio: ["ignore", "pipe", stderr], ...options }));
  const ended = new Promise((resolve) => child.once("close", resolve));
  const end = async () => {
    child.kill("SIGTERM");
    try {
      await within(ended, `the end of ${args[0]}`);
    } finally {
      child.kill("SIGKILL");
    }
  };
  const printed = {};
  try {
    const output = lines(child.stdout, `tillgate ${args[0]}`);
    for (let line = ""; !line.startsWith(until); ) {
      line = await output.next();
      if (line === undefined) throw new Error(`tillgate ${args[0]} ended before it printed “${until}”`);
      const [, name, value] = /^(listening on|  page|  client id|  secret) +(\S+)$/.exec(line) ?? [];
      if (name) printed[name.trim()] = value;
    }
    await output.close();
  } catch (error) {
    await end();
    throw error;
  }
  return { child, printed, end };
}

let clients = 0;

/** Registers and authorizes a client of a tenant with these roles and claims; returns the same as `demo`. */
export async function clientWith(host, roles, tenantId = "demo", claims = {}) {
  clients += 1;
  const software = { softwareId: `test-${clients}`, softwareVersion: "1" };
  const template = { ...software, name: "a test", claimsSchema: { type: "object" }, roles: roles.map((roleId) => ({ roleId })) };
  const made = await host.api("POST", `/v1/tenants/${tenantId}/templates`, template);
  const registered = await host.api("POST", "/v1/registration", { ...software, usingGlobalTemplate: false, tenantId, claims });
  const { clientId, clientSecret } = await registered.json();
  const authorized = await host.api("PUT", `/v1/tenants/${tenantId}/clients/${clientId}/authorize`);
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
