// Third-party tools read the documents of the API: a TypeScript generator makes types of /openapi.json, and a client with
// these types calls a host; the parser of AsyncAPI finds no fault in /asyncapi.json.
//
//     cargo build && node --test tests/generated/documents.test.mjs

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";

import { Parser } from "@asyncapi/parser";
import openapiTS, { astToString } from "openapi-typescript";

import { demo } from "../support/program.mjs";

const modules = new URL("node_modules", import.meta.url).pathname;

let folder, host;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "tillgate-documents-"));
  host = await demo();
});

after(async () => {
  await host?.end();
  rmSync(folder, { recursive: true, force: true });
});

/** Ten calls of a client. The types check their paths, parameters, bodies and answers. */
const CALLS = `
import createClient from "openapi-fetch";
import type { paths } from "./api.js";

export async function calls(baseUrl: string, token: string): Promise<unknown[]> {
  const api = createClient<paths>({ baseUrl, headers: { Authorization: \`Bearer \${token}\` } });
  const condition = { params: { path: { conditionId: "cider" } } };
  const project = { params: { path: { projectId: "0b8a5d3e-6c1f-4a52-9d7e-2f4b8c6d1e90" } } };
  const put = await api.PUT("/api/v1/entity-conditions/{conditionId}", { ...condition, body: { rule: "AGE_RESTRICTION", condition_value: { minimum_age: 16 } } });
  const got = await api.GET("/api/v1/entity-conditions/{conditionId}", condition);
  const listed = await api.GET("/api/v1/entity-conditions", {});
  const decided = await api.POST("/api/v1/conditions/{conditionId}/evaluate", { ...condition, body: { item: { id: "cider-0.5l" }, context: { customer: { customer_age: 15 } } } });
  const basket = await api.POST("/api/v1/evaluations", { body: { items: [{ id: "cider-0.5l", conditionIds: ["cider"] }], context: {} } });
  const restrictions = await api.GET("/api/v1/projects/{projectId}/restrictions", project);
  const units = await api.GET("/api/v1/business-units", { params: { query: { limit: 2 } } });
  const rates = await api.GET("/api/v1/exchange-rates", { params: { query: { businessUnit: "SE-003" } } });
  const webhooks = await api.GET("/api/v1/webhooks", {});
  const removed = await api.DELETE("/api/v1/entity-conditions/{conditionId}", condition);
  return [
    put.response.status, got.data?.scope, listed.data?.some(({ id }) => id === "cider"), decided.data?.results[0]?.reason,
    basket.data?.decision, restrictions.data?.restrictions.length, units.response.status, rates.data?.some(({ setAt }) => setAt === "SE-003"),
    webhooks.response.status, removed.response.status,
  ];
}
`;

test("ten calls of a client with generated types compile, and are answered as they say", async () => {
  const document = await (await fetch(`${host.url}/openapi.json`)).json();
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  writeFileSync(join(folder, "api.ts"), astToString(await openapiTS(document, { defaultNonNullable: false })));
  writeFileSync(join(folder, "calls.ts"), CALLS);
  symlinkSync(modules, join(folder, "node_modules"));
  const options = ["--strict", "--target", "es2022", "--lib", "es2022,dom", "--module", "nodenext", "--skipLibCheck"];
  const compiled = await promisify(execFile)(process.execPath, [join(modules, "typescript/bin/tsc"), ...options, "calls.ts"], { cwd: folder }).catch((error) => error);
  assert.equal(compiled.stdout, "");
  const { calls } = await import(pathToFileURL(join(folder, "calls.js")));
  assert.deepEqual(await calls(host.url, await host.token()), [201, "TENANT", true, "age_restriction.underage", "SOFT_DENY", 2, 200, true, 200, 204]);
});

test("the package has a type for each problem code", async () => {
  const document = await (await fetch(`${host.url}/openapi.json`)).text();
  const types = readFileSync(new URL("../../js/src/shared/error.d.cts", import.meta.url), "utf8");
  const lists = document.match(/"x-problem-codes":\[[^\]]*\]/g);
  const codes = [...new Set(lists.flatMap((list) => JSON.parse(list.replace('"x-problem-codes":', ""))))];
  assert.ok(codes.length > 40, `${codes.length}`);
  assert.deepEqual(codes.filter((code) => !types.includes(`| "${code}"`)), []);
});

test("the parser of AsyncAPI finds no error and no warning, and every channel has a message", async () => {
  const { document, diagnostics } = await new Parser().parse(await (await fetch(`${host.url}/asyncapi.json`)).text());
  // Severities from 2 on are advice, for example that there is a later version of AsyncAPI.
  assert.deepEqual(diagnostics.filter(({ severity }) => severity < 2), []);
  const channels = document.channels().all();
  assert.deepEqual(channels.map((channel) => [channel.address(), channel.messages().all().length]), [
    ["/api/v1/catalog/changes", 1],
    ["{callbackUrl}", 6],
    ["cer.public.event.rates-changed.v1", 2],
  ]);
});
