// The permissions of the package's clients: those that `js/README.md` names suffice, and a fleet of tills set up as in
// `host/docs/clients.md` has them all.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";

import { CatalogClient, Host, clientCredentials } from "../../js/src/runtime/client.node.js";
import { RatesClient } from "../../js/src/runtime/rates.node.js";
import { README, ROOT } from "../support/packed.mjs";
import { AUDIENCE, clientWith, emptyHost } from "../support/program.mjs";
import { within } from "../support/wait.mjs";

const TENANT = "acme";
const REQUEST = { item: { id: "sku-1" }, context: {} };

let host;
const open = [];

before(async () => {
  host = await emptyHost();
  const office = await clientWith(host, ["ecs.editor", "exr.editor"], TENANT);
  for (const [path, body] of [
    ["entity-conditions/beer", { rule: "AGE_RESTRICTION", condition_value: { minimum_age: 18 } }],
    ["business-units/nordic", { type: "COMPANY" }],
    ["business-units/se-001", { type: "STORE", parentId: "nordic" }],
  ]) {
    assert.equal((await office.api("PUT", `/api/v1/${path}`, body)).status, 201, path);
  }
});
after(async () => {
  for (const client of open) client.close();
  await host.end();
});

/** The options of a client with these roles. */
async function withRoles(roles) {
  const { clientId, clientSecret } = await clientWith(host, roles, TENANT);
  return { url: host.url, token: clientCredentials({ tokenUrl: `${host.url}/oauth2/token`, clientId, clientSecret, audience: AUDIENCE }) };
}

async function ready(client) {
  open.push(client);
  await within(client.ready(), "the client is ready");
  return client;
}

/** Waits for the rates of the first shop: without `exr.rate.read`, a client knows only after a while that it has all. */
async function hasRates(client) {
  open.push(client);
  const changed = new Promise((resolve) => client.addEventListener("change", resolve, { once: true }));
  await within(Promise.race([client.ready(), changed]), "the client has rates");
}

/** The actions of each client in the table, by their names there. */
const USES = {
  CatalogClient: (options) => ready(new CatalogClient(options)),
  "CatalogClient that may ask the host, and Host": (options) => new Host(options).evaluateCondition("beer", REQUEST),
  "CatalogClient with report": async (options) => {
    const client = await ready(new CatalogClient({ ...options, report: { till: "a" } }));
    await client.evaluateCondition("beer", REQUEST);
    await within(client.upload(), "all is uploaded");
  },
  "RatesClient with businessUnitId": (options) => ready(new RatesClient({ ...options, businessUnitId: "se-001" })),
  "RatesClient with tenantId": (options) => hasRates(new RatesClient({ ...options, tenantId: TENANT })),
};

const [, table] = README.split("\n### Permissions\n");
const names = (cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name);
const rows = table.split("\n## ")[0].split("\n### ")[0].split("\n").filter((line) => line.startsWith("| `"));

test("the table has every client", () => {
  assert.deepEqual(rows.map((row) => row.split(" | ")[0].replace(/[|`]/g, "").trim()), Object.keys(USES));
});

for (const [index, [client, use]] of Object.entries(USES).entries()) {
  const [, permissions, roles] = (rows[index] ?? "").split(" | ").map((cell) => names(cell));

  test(`the permissions of the table are what is needed: ${client}`, async () => {
    const role = `test-${index}`;
    const without = `${role}-without`;
    const put = (id, permissions) => host.api("PUT", `/v1/roles/${id}`, { permissions });
    assert.equal((await put(role, permissions)).status, 201);
    await use(await withRoles([role]));
    for (const missing of permissions) {
      await put(without, permissions.filter((permission) => permission !== missing));
      const denied = { code: "permission_missing", message: new RegExp(`^the permission ${missing} is needed, which the role (${roles.join("|")}) has$`) };
      await assert.rejects(async () => use(await withRoles([without])), denied);
    }
  });
}

test("a fleet of tills may use every client", async () => {
  const recipe = readFileSync(`${ROOT}/host/docs/clients.md`, "utf8").split("## A fleet of tills")[1].split("software-statements")[0];
  const options = await withRoles([...recipe.matchAll(/"roleId":"([^"]+)"/g)].map(([, role]) => role));
  for (const use of Object.values(USES)) await use(options);
});
