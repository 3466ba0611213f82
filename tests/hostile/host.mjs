// Starts the program with its default limits on an empty store in its own folder, and creates tenants and clients through its
// routes.

import { spawn } from "node:child_process";
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { setPriority, tmpdir } from "node:os";
import { createInterface } from "node:readline";

import { ask, freshAddress, json } from "./wire.mjs";

const AUDIENCE = "https://api.tillgate.example";

/**
 * Starts a host; `openFiles` limits its open files, `files` are put into its folder, `store` is the URL of its store. Returns
 * `{ port, pid, operator, log, memory, peak, forgetPeak, end }`, where memory is in MiB.
 */
export async function startHost(program, { openFiles, files, store } = {}) {
  const folder = mkdtempSync(`${tmpdir()}/tillgate-hostile-`);
  for (const [name, text] of Object.entries({ "tillgate.toml": "", ...files })) writeFileSync(`${folder}/${name}`, text);
  const log = openSync(`${folder}/host.log`, "a");
  const serve = [program, "serve", "--listen", "127.0.0.1:0", "--config", "tillgate.toml", "--operator-file", "operator.json", ...(store ? ["--store", store] : [])];
  const limit = openFiles ? `ulimit -n ${openFiles}; ` : "";
  const child = spawn("bash", ["-c", `${limit}exec "$@"`, "bash", ...serve], { cwd: folder, stdio: ["ignore", "pipe", log] });
  closeSync(log);
  // The host must not inherit the priority of the measuring process.
  setPriority(child.pid, 0);
  const kill = () => {
    child.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  };
  process.once("exit", kill);
  const ended = new Promise((resolve) => child.once("close", (code, signal) => resolve(code ?? signal)));
  let port = 0;
  for await (const line of createInterface({ input: child.stdout })) {
    port = Number(/^listening on http:\/\/127\.0\.0\.1:(\d+)$/.exec(line)?.[1] ?? 0);
    if (port) break;
  }
  child.stdout.resume();
  const logged = (from = 0) => readFileSync(`${folder}/host.log`).subarray(from).toString();
  if (!port) throw new Error(`the host did not start: ${logged()}`);
  const status = (field) => {
    const text = readFileSync(`/proc/${child.pid}/status`, "utf8");
    return Number(new RegExp(`^${field}:\\s+(\\d+) kB`, "m").exec(text)[1]) / 1024;
  };
  return {
    port,
    pid: child.pid,
    /** Undefined on a store that another host has used. */
    operator: existsSync(`${folder}/operator.json`) ? JSON.parse(readFileSync(`${folder}/operator.json`, "utf8")) : undefined,
    log: logged,
    memory: () => status("VmRSS"),
    peak: () => status("VmHWM"),
    /** Resets the peak. */
    forgetPeak: () => writeFileSync(`/proc/${child.pid}/clear_refs`, "5"),
    /** Ends the host; returns its exit code, 0 if all is well. */
    end: async () => {
      child.kill("SIGTERM");
      const code = await ended;
      process.off("exit", kill);
      rmSync(folder, { recursive: true, force: true });
      return code;
    },
  };
}

/** An access token for a client's credentials. */
export async function tokenOf(host, { clientId, clientSecret }) {
  const answer = await ask(host, tokenRequest({ clientId, clientSecret }));
  if (answer.status !== 200) throw new Error(`no token: ${answer.status} ${answer.body}`);
  return json(answer).access_token;
}

/** A request for a token, in the form that `ask` takes. */
export function tokenRequest({ clientId, clientSecret }, from = freshAddress()) {
  return {
    method: "POST",
    path: "/oauth2/token",
    headers: { authorization: `Basic ${btoa(`${clientId}:${clientSecret}`)}`, "content-type": "application/x-www-form-urlencoded" },
    body: `grant_type=client_credentials&audience=${encodeURIComponent(AUDIENCE)}`,
    from,
  };
}

/** The functions that create tenants, templates and clients, with the operator's token. */
export async function administrator(host) {
  const token = await tokenOf(host, host.operator);
  let clients = 0;

  /** Sends a request with the operator's token; any other status is an error. */
  const must = async (status, request) => {
    const answer = await ask(host, { token, ...request });
    if (answer.status !== status) throw new Error(`${answer.what}: ${answer.status} ${answer.body.toString().slice(0, 300)}`);
    return answer;
  };

  /** Creates a template and its tenant; returns the answer, whatever it is. */
  const template = (tenant, softwareId, claimsSchema, roles = []) => {
    const body = { softwareId, softwareVersion: "1", name: softwareId, claimsSchema, roles: roles.map((roleId) => ({ roleId })) };
    return ask(host, { method: "POST", path: `/v1/tenants/${tenant}/templates`, body, token });
  };

  /** Registers and authorizes a client with these roles: `{ clientId, clientSecret, token }`. */
  const client = async (tenant, roles) => {
    clients += 1;
    const softwareId = `attacker-${process.pid}-${clients}`;
    const made = await template(tenant, softwareId, { type: "object" }, roles);
    if (made.status !== 201) throw new Error(`no template: ${made.status} ${made.body}`);
    const registered = await must(201, registration(tenant, softwareId, {}));
    const credentials = json(registered);
    await must(200, { method: "PUT", path: `/v1/tenants/${tenant}/clients/${credentials.clientId}/authorize` });
    return { ...credentials, token: await tokenOf(host, credentials) };
  };

  return { token, must, template, client };
}

/** A registration in the form that `ask` takes: without a token, from its own address. */
export function registration(tenantId, softwareId, claims, from = freshAddress()) {
  const body = { softwareId, softwareVersion: "1", usingGlobalTemplate: false, tenantId, claims };
  return { method: "POST", path: "/v1/registration", body, from, token: undefined };
}

/** Puts a condition that allows customers from a minimum age on. */
export const ageCondition = (id, minimum_age = 18) => ({
  method: "PUT",
  path: `/api/v1/entity-conditions/${id}`,
  body: { rule: "AGE_RESTRICTION", condition_value: { minimum_age } },
});

/** Asks for a decision about one item by that condition. */
export const evaluation = (id) => ({
  method: "POST",
  path: `/api/v1/conditions/${id}/evaluate`,
  body: { item: { id: "beer" }, context: { customer: { customer_age: 20 } } },
});
