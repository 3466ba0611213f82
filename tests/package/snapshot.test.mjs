// `tillgate/client` with a `snapshot` against the real program: a till that is switched on without a host decides with the
// rules of its last run.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, beforeEach, test } from "node:test";

import { CatalogClient } from "../../js/src/runtime/client.node.js";
import { block } from "../support/packed.mjs";
import { demo } from "../support/program.mjs";
import { proxy } from "../support/proxy.mjs";
import { until, within } from "../support/wait.mjs";

const PATH = "/api/v1/entity-conditions/knives";
const DAY_MS = 86_400_000;
const aged = (customer_age) => ({ item: { id: "sku-1" }, context: { customer: { customer_age } } });

let host;
let gate;
let open;

before(async () => (host = await demo()));
after(() => host.end());
beforeEach(async () => {
  gate = await proxy(host.url);
  open = [];
});
afterEach(() => {
  for (const client of open) client.close();
  gate.end();
});

/** A storage of text, like a file; `texts` are all that it was given. */
function storage(...texts) {
  return { texts, get: async () => JSON.parse(texts.at(-1) ?? "null"), set: async (snapshot) => texts.push(JSON.stringify(snapshot)) };
}

function connect(options) {
  const client = new CatalogClient({ url: gate.url, token: () => host.token(), ...options });
  open.push(client);
  client.errors = [];
  client.addEventListener("error", ({ error }) => client.errors.push(error));
  return client;
}

/** The snapshot of a client that was ready once; the host cannot be reached afterwards. */
async function kept() {
  const snapshot = storage();
  const client = connect({ snapshot });
  await within(client.ready(), "the client is ready");
  await until(() => snapshot.texts.length === 1, "the catalog is kept");
  client.close();
  gate.cut();
  return snapshot;
}

test("a till that is switched on without its host decides with the rules of its last run, and then with the host's", async () => {
  const snapshot = await kept();
  const { asOf, url } = JSON.parse(snapshot.texts[0]);
  assert.equal(url, gate.url);
  const till = connect({ snapshot });
  assert.deepEqual([till.state, till.asOf, till.ageMs], ["STARTING", undefined, undefined]);
  await within(till.ready(), "the till is ready");
  assert.deepEqual([till.state, till.asOf.toISOString()], ["STALE", asOf]);
  assert.ok(till.ageMs >= 0);
  assert.equal((await till.evaluateCondition("alcohol", aged(17))).allow, false);
  assert.equal((await till.evaluateCondition("alcohol", aged(18))).allow, true);
  await assert.rejects(till.evaluateCondition("knives", aged(17)), { code: "condition_not_found" });

  await host.api("PUT", PATH, { rule: "AGE_RESTRICTION", condition_value: { minimum_age: 18 } });
  gate.restore();
  till.retry();
  await until(() => till.state === "READY", "the till follows its host");
  assert.equal((await till.evaluateCondition("knives", aged(17))).allow, false);
  assert.ok(till.asOf.toISOString() > asOf);
  await until(() => snapshot.texts.length === 2, "the new catalog is kept");
  assert.match(snapshot.texts[1], /"knives"/);
  await host.api("DELETE", PATH);
});

test("a catalog that is not another one is not fetched again", async () => {
  const snapshot = await kept();
  gate.restore();
  const paths = [];
  const till = connect({ snapshot, fetch: (url, options) => (paths.push(new URL(url).pathname), fetch(url, options)) });
  await until(() => till.state === "READY", "the till follows its host");
  assert.deepEqual(paths, ["/api/v1/catalog/changes"]);
});

test("how old a catalog may be is for the caller to say", async () => {
  const snapshot = await kept();
  const old = { ...JSON.parse(snapshot.texts[0]), asOf: new Date(Date.now() - DAY_MS).toISOString() };
  const till = connect({ snapshot: storage(JSON.stringify(old)) });
  await within(till.ready(), "the till is ready");
  assert.ok(till.ageMs >= DAY_MS);
  assert.equal((await till.evaluateCondition("alcohol", aged(17))).allow, false);
  const strict = connect({ snapshot: storage(JSON.stringify(old)), maxStaleMs: DAY_MS / 2 });
  await within(strict.ready(), "the till is ready");
  await assert.rejects(strict.evaluateCondition("alcohol", aged(17)), { code: "unavailable" });
});

test("the same catalog is kept again when what is kept is old", async () => {
  const snapshot = await kept();
  const old = { ...JSON.parse(snapshot.texts[0]), asOf: new Date(Date.now() - DAY_MS).toISOString() };
  gate.restore();
  const again = storage(JSON.stringify(old));
  const till = connect({ snapshot: again });
  await until(() => again.texts.length === 2, "it is kept again");
  assert.equal(JSON.parse(again.texts[1]).asOf, till.asOf.toISOString());
});

test("a snapshot that cannot be used is an error, and the till starts without it", async () => {
  const good = JSON.parse((await kept()).texts[0]);
  gate.restore();
  const cause = new Error("the disk is gone");
  for (const [get, expected] of [
    [() => ({ ...good, version: 2 }), { code: "invalid", path: "$.snapshot.version" }],
    [() => "{}", { code: "invalid", path: "$.snapshot.version" }],
    [() => ({ ...good, url: "https://till.example" }), { code: "invalid", path: "$.snapshot.url" }],
    [() => ({ ...good, asOf: "yesterday" }), { code: "invalid", path: "$.snapshot.asOf" }],
    [() => ({ ...good, document: { global: [{}], tenant: [] } }), { code: "invalid", path: "$.snapshot.document" }],
    [() => ({ ...good, document: undefined }), { code: "invalid", path: "$.snapshot.document" }],
    [() => Promise.reject(cause), { code: "unavailable", message: "the snapshot cannot be read: the disk is gone", cause }],
  ]) {
    const till = connect({ snapshot: { get, set() {} } });
    await within(till.ready(), "the till is ready");
    assert.equal(till.state, "READY");
    assert.equal(till.errors.length, 1);
    for (const [name, value] of Object.entries(expected)) assert.equal(till.errors[0][name], value, name);
  }
});

test("a storage that fails is an error, and the till goes on", async () => {
  const cause = new Error("the disk is full");
  const set = () => {
    throw cause;
  };
  const till = connect({ snapshot: { get: () => undefined, set } });
  await within(till.ready(), "the till is ready");
  await until(() => till.errors.length === 1, "the error of the storage");
  const { code, message } = till.errors[0];
  assert.deepEqual([code, message, till.state], ["unavailable", "the snapshot cannot be stored: the disk is full", "READY"]);
});

test("the storage of the README keeps the catalog in a file", async () => {
  const folder = mkdtempSync(join(tmpdir(), "tillgate-snapshot-"));
  const before = process.cwd();
  process.chdir(folder);
  try {
    writeFileSync("storage.mjs", `${block("js", "const snapshot")}export { snapshot };`);
    const { snapshot } = await import(join(folder, "storage.mjs"));
    const first = connect({ snapshot });
    await within(first.ready(), "the client is ready");
    await until(() => readdirSync(folder).includes("catalog.json"), "the catalog is kept");
    first.close();
    gate.cut();
    const till = connect({ snapshot });
    await within(till.ready(), "the till is ready");
    assert.deepEqual([till.state, till.document], ["STALE", JSON.parse(readFileSync("catalog.json", "utf8")).document]);
  } finally {
    process.chdir(before);
    rmSync(folder, { recursive: true });
  }
});
