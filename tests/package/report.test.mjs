// `tillgate/client` with `report` against the real program: local decisions are recorded there, once, and no data of the
// customer is sent.

import assert from "node:assert/strict";
import { after, before, describe, mock, test } from "node:test";

import { CatalogClient, clientCredentials } from "../../js/src/runtime/client.node.js";
import { sha256 } from "../../js/src/runtime/node.js";
import { AUDIENCE, configuredHost } from "../support/program.mjs";
import { proxy } from "../support/proxy.mjs";
import { until, within } from "../support/wait.mjs";

const PROJECT = "0b8a5d3e-6c1f-4a52-9d7e-2f4b8c6d1e90";
const PATH = "/api/v1/decisions";

let host;
const open = [];

before(async () => {
  host = await configuredHost('[decisions]\nlog = "decisions.jsonl"\n');
  await host.api("PUT", "/v1/tenants/platform/decision-log", { decisionLog: "all" });
  await host.api("PUT", "/api/v1/entity-conditions/beer", { rule: "AGE_RESTRICTION", condition_value: { minimum_age: 18 } });
  const restrictions = [{ type: "WHITELISTEDITEMS", itemIds: ["glue"] }];
  await host.api("PUT", `/api/v1/projects/${PROJECT}`, { restrictions });
});
after(async () => {
  for (const client of open) client.close();
  await host.end();
});

async function connect(report, options) {
  const token = clientCredentials({ tokenUrl: `${host.url}/oauth2/token`, clientId: host.clientId, clientSecret: host.clientSecret, audience: AUDIENCE });
  const client = new CatalogClient({ url: host.url, token, report, ...options });
  open.push(client);
  await within(client.ready(), "the client is ready");
  return client;
}

const aged = (id, customer_age) => ({ item: { id }, context: { customer: { customer_age, licenses: ["1984-07-07"] } } });

/** The records of a till. */
async function onRecord(till) {
  const { code, stdout } = await host.run("decisions", "decisions.jsonl", "--format", "json");
  assert.equal(code, 0);
  const lines = stdout.trim().split("\n").map((line) => JSON.parse(line));
  return lines.filter((line) => line.till === till);
}

/** Requests that upload decisions, answered by `answer`. */
const uploading = (answer) => (url, options) => (String(url).endsWith(PATH) ? answer(url, options) : fetch(url, options));

describe("decisions on record", () => {
  test("each item and rule is on record as the host would have put it, and nothing of the customer is sent", async () => {
    const bodies = [];
    const client = await connect({ till: "one", businessUnitId: "SE-003" }, { fetch: uploading((url, options) => (bodies.push(options.body), fetch(url, options))) });
    await client.evaluateCondition("beer", aged("beer-1", 17), { explain: true });
    await client.evaluateProjectRestrictions({ projectId: PROJECT, item: { id: "paint" } });
    const items = [{ id: "bread" }, { id: "beer-2", conditionIds: ["beer", "nope"] }];
    await client.evaluateBasket({ items, context: {} });
    await client.evaluateBasket({ items: [{ id: "glue" }], projectId: PROJECT, context: {} });
    await within(client.upload(), "all is uploaded");
    const lines = await onRecord("one");
    const { digest } = client.document;
    for (const line of lines) {
      const { engine, catalog, businessUnitId, tenantId } = line;
      assert.deepEqual({ engine, catalog, businessUnitId, tenantId }, { engine: sha256, catalog: digest, businessUnitId: "SE-003", tenantId: "platform" });
      assert.ok(Math.abs(Date.parse(line.at) - Date.parse(line.received)) < 60_000);
    }
    const said = lines.map(({ itemId, conditionId, projectId, decision, reason, restriction }) => [itemId, conditionId ?? projectId, decision, reason, restriction]);
    assert.deepEqual(said, [
      ["beer-1", "beer", "HARD_DENY", "age_restriction.underage", undefined],
      ["paint", PROJECT, "HARD_DENY", "project_restriction.whitelist_not_met", "itemId"],
      ["beer-2", "beer", "SOFT_DENY", "age_restriction.missing_context", undefined],
      ["beer-2", "nope", "SOFT_DENY", "condition.not_in_force", undefined],
      ["glue", PROJECT, "ALLOW", undefined, undefined],
    ]);
    assert.ok(bodies.length > 0);
    for (const known of ['"customer"', "customer_age", "1984", "minimumAge", '"context"']) assert.ok(!bodies.join().includes(known), known);
  });

  test("they are uploaded by themselves", async () => {
    let asked;
    const uploaded = new Promise((resolve) => (asked = resolve));
    const answer = async (url, options) => {
      const response = await fetch(url, options);
      asked(response.status);
      return response;
    };
    const client = await connect({ till: "itself" }, { fetch: uploading(answer) });
    await client.evaluateCondition("beer", aged("beer-1", 17));
    assert.equal(await within(uploaded, "it is uploaded"), 200);
  });

  test("what is uploaded again after a lost answer is on record once", async () => {
    let lost = 2;
    const answer = async (url, options) => {
      const response = await fetch(url, options);
      if ((lost -= 1) < 0) return response;
      await response.body.cancel();
      throw new TypeError("the connection was lost");
    };
    const client = await connect({ till: "lost" }, { fetch: uploading(answer) });
    for (const item of ["a", "b"]) await client.evaluateCondition("beer", aged(item, 17));
    await assert.rejects(client.upload(), { code: "unavailable" });
    await client.evaluateCondition("beer", aged("c", 17));
    await assert.rejects(client.upload(), { code: "unavailable" });
    await within(client.upload(), "all is uploaded");
    assert.deepEqual((await onRecord("lost")).map(({ itemId }) => itemId), ["a", "b", "c"]);
  });

  test("while the host cannot be reached the oldest make room, and the record says so", async () => {
    let isAway = true;
    const client = await connect({ till: "away", maxDecisions: 2 }, {
      fetch: uploading((url, options) => (isAway ? Promise.reject(new TypeError("away")) : fetch(url, options))),
    });
    for (const item of ["a", "b", "c", "d"]) await client.evaluateCondition("beer", aged(item, 17));
    await assert.rejects(client.upload(), { code: "unavailable" });
    isAway = false;
    await within(client.upload(), "all is uploaded");
    const lines = await onRecord("away");
    assert.deepEqual(lines.map(({ itemId, missing }) => itemId ?? missing), [2, "c", "d"]);
  });

  test("what a till decides that was switched on without its host is uploaded later", async () => {
    const gate = await proxy(host.url);
    try {
      let kept;
      const snapshot = { get: () => kept, set: (given) => (kept = given) };
      const first = await connect(undefined, { url: gate.url, snapshot });
      await until(() => kept !== undefined, "the catalog is kept");
      first.close();
      gate.cut();
      const till = await connect({ till: "alone" }, { url: gate.url, snapshot });
      assert.equal(till.state, "STALE");
      await till.evaluateCondition("beer", aged("a", 17));
      await assert.rejects(till.upload(), { code: "unavailable" });
      gate.restore();
      await within(till.upload(), "all is uploaded");
      const lines = await onRecord("alone");
      assert.deepEqual(lines.map(({ itemId, decision, catalog }) => [itemId, decision, catalog]), [["a", "HARD_DENY", kept.document.digest]]);
    } finally {
      gate.end();
    }
  });

  test("a till whose clock was set back loses nothing", async () => {
    const first = await connect({ till: "back" });
    await first.evaluateCondition("beer", aged("a", 17));
    await within(first.upload(), "all is uploaded");
    const now = mock.method(Date, "now", () => 1_000);
    const second = await connect({ till: "back" }).finally(() => now.mock.restore());
    for (const item of ["b", "c"]) await second.evaluateCondition("beer", aged(item, 17));
    await within(second.upload(), "all is uploaded");
    assert.deepEqual((await onRecord("back")).map(({ itemId }) => itemId), ["a", "b", "c"]);
  });

  test("nor when its first request after that gets no answer", async () => {
    const first = await connect({ till: "back-again" });
    await first.evaluateCondition("beer", aged("a", 17));
    await within(first.upload(), "all is uploaded");
    const now = mock.method(Date, "now", () => 1_000);
    let isAway = true;
    const second = await connect({ till: "back-again" }, {
      fetch: uploading((url, options) => (isAway ? Promise.reject(new TypeError("away")) : fetch(url, options))),
    }).finally(() => now.mock.restore());
    for (const item of ["b", "c"]) await second.evaluateCondition("beer", aged(item, 17));
    await assert.rejects(second.upload(), { code: "unavailable" });
    isAway = false;
    await within(second.upload(), "all is uploaded");
    assert.deepEqual((await onRecord("back-again")).map(({ itemId }) => itemId), ["a", "b", "c"]);
  });

  test("what the host refuses is told, and the next decision says that it is missing", async () => {
    const refused = () => Promise.resolve(Response.json({ statusCode: 400, code: "invalid", message: ["$.till is wrong"] }, { status: 400, headers: { "Content-Type": "application/problem+json" } }));
    let refuses = true;
    const client = await connect({ till: "refused" }, { fetch: uploading((url, options) => (refuses ? refused() : fetch(url, options))) });
    await client.evaluateCondition("beer", aged("a", 17));
    await assert.rejects(client.upload(), { code: "invalid" });
    await client.evaluateCondition("beer", aged("b", 17));
    refuses = false;
    await within(client.upload(), "all is uploaded");
    assert.deepEqual((await onRecord("refused")).map(({ itemId, missing }) => itemId ?? missing), [1, "b"]);
  });

  test("the option is checked, and nothing is uploaded without it", async () => {
    for (const [report, path] of [
      [{}, "$.report.till"],
      [{ till: "a b" }, "$.report.till"],
      [{ till: ".." }, "$.report.till"],
      [{ till: "a", businessUnitId: "" }, "$.report.businessUnitId"],
      [{ till: "a", maxDecisions: 0 }, "$.report.maxDecisions"],
    ]) {
      assert.throws(() => new CatalogClient({ url: host.url, token: "t", report }), { code: "invalid", path });
    }
    const client = await connect(undefined);
    await assert.rejects(client.upload(), { code: "invalid" });
  });
});
