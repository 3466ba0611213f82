// The package's API, in Node.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { describe as about, test } from "node:test";
import { inspect } from "node:util";

import * as glue from "../../js/engine/tillgate.js";
import { current } from "../../js/src/shared/engine.js";
import * as tillgate from "../../js/src/runtime/node.js";
import { RatesClient } from "../../js/src/runtime/rates.node.js";
import { WebhookVerifier } from "../../js/src/runtime/webhook.node.js";
import { DEADLINE_MS } from "../support/wait.mjs";

const { Catalog, TillgateError, calculate, compare, convert, describe, findings, oppositeRate, rateWithMarkup, runTests } = tillgate;

const PROJECT = "0b8a5d3e-6c1f-4a52-9d7e-2f4b8c6d1e90";
const DOCUMENT = {
  global: [{ id: "alcohol", rule: "AGE_RESTRICTION", condition_value: { minimum_age: 18 } }],
  tenant: [{ id: "tobacco", rule: "LICENSE_REQUIREMENT", condition_value: {} }],
  projects: [{ projectId: PROJECT, restrictions: [{ type: "BLACKLISTEDITEMS", itemIds: ["foam"] }] }],
};
const item = { id: "sku-1" };
const aged = (customer_age) => ({ item, context: { customer: { customer_age } } });

const thrown = (call) => {
  try {
    call();
  } catch (error) {
    return error;
  }
  return assert.fail("the call did not throw");
};

about("what is said of a rule", () => {
  const aged = (minimum_age) => ({ condition: { id: "beer", rule: "AGE_RESTRICTION", condition_value: { minimum_age } } });

  test("findings, of a draft too", () => {
    const restrictions = [{ type: "WHITELIST", propertyName: "category", allowedValues: [] }];
    const message = "Nothing can be bought: a list of allowed values of category is empty.";
    assert.deepEqual(findings({ project: { restrictions } }), [{ kind: "UNSATISFIABLE", message, places: ["$.restrictions[0]"] }]);
    assert.deepEqual(findings(aged(18)), []);
  });

  test("a comparison, with a request that both versions decide as it says", () => {
    assert.deepEqual(compare(aged(18), aged(18)), { same: true });
    const { same, witness, before, after } = compare(aged(15), aged(16));
    assert.deepEqual({ same, before, after }, { same: false, before: "ALLOW", after: "HARD_DENY" });
    for (const [rule, decision] of [[aged(15), before], [aged(16), after]]) {
      const catalog = new Catalog({ global: [], tenant: [rule.condition] });
      assert.equal(catalog.evaluateCondition("beer", witness).results[0].decision, decision);
    }
    assert.equal(compare(null, aged(16)).before, "NOT_FOUND");
  });

  test("a rule that is missing or malformed is an error that names each fault", () => {
    assert.equal(thrown(() => findings()).message, "the rule is missing");
    assert.equal(thrown(() => compare(null)).message, "the version after is missing");
    assert.deepEqual(thrown(() => compare(aged(151), {})).faults.map(({ path }) => path), ["$.before.condition.condition_value.minimum_age", "$.after"]);
  });
});

about("deciding", () => {
  const catalog = new Catalog(DOCUMENT);

  test("a condition, a project and a basket", () => {
    assert.deepEqual(catalog.evaluateCondition("alcohol", aged(17)), {
      id: "sku-1",
      allow: false,
      results: [{ id: "alcohol", allow: false, decision: "HARD_DENY", reason: "age_restriction.underage", rule: "AGE_RESTRICTION" }],
    });
    assert.equal(catalog.evaluateProjectRestrictions({ projectId: PROJECT, item: { id: "foam" } }).results[0].reason, "project_restriction.blacklisted_item");
    const basket = catalog.evaluateBasket({ items: [{ id: "a" }, { id: "b", conditionIds: ["tobacco"] }], context: {} });
    assert.equal(basket.decision, "SOFT_DENY");
  });

  test("changing an answer does not affect the next one", () => {
    const first = catalog.evaluateCondition("alcohol", aged(17));
    const original = structuredClone(first);
    first.allow = true;
    first.results[0].decision = "ALLOW";
    first.results.push("more");
    assert.deepEqual(catalog.evaluateCondition("alcohol", aged(17)), original);
  });

  test("an explanation is asked for, belongs to its answer alone, and stays out of others", () => {
    const explain = { explain: true };
    const before = catalog.evaluateCondition("alcohol", aged(17));
    const explained = catalog.evaluateCondition("alcohol", aged(17), explain);
    assert.deepEqual(explained.results, [{ ...before.results[0], explanation: { minimumAge: 18, customerAge: 17 } }]);
    explained.results[0].explanation.minimumAge = 0;
    assert.equal(catalog.evaluateCondition("alcohol", aged(17), explain).results[0].explanation.minimumAge, 18);
    assert.deepEqual(catalog.evaluateCondition("alcohol", aged(16), explain).results[0].explanation, { minimumAge: 18, customerAge: 16 });
    assert.deepEqual(catalog.evaluateCondition("alcohol", aged(17), { explain: false }), before);
    const project = catalog.evaluateProjectRestrictions({ projectId: PROJECT, item: { id: "foam" } }, explain);
    assert.deepEqual(project.results[0].explanation, { restrictionIndex: 0, propertyName: "itemId", value: "foam", wants: ["foam"], wantsCount: 1 });
    const basket = catalog.evaluateBasket({ items: [{ id: "b", conditionIds: ["tobacco"] }], context: {} }, explain);
    assert.deepEqual(basket.items[0].results[0].explanation, { licenseId: "tobacco", licenses: null, licensesCount: null });
  });

  test("rows are decided in their order, and those with the same outcome share one that cannot be changed", () => {
    const rows = [17, 18, 3, undefined, 99].map((customer_age, at) => ({ id: `row ${at}`, customer_age }));
    const outcomes = catalog.evaluateMany({ conditionId: "alcohol" }, rows);
    assert.deepEqual(outcomes.map(({ decision }) => decision), ["HARD_DENY", "ALLOW", "HARD_DENY", "SOFT_DENY", "ALLOW"]);
    assert.deepEqual(outcomes[1], { allow: true, decision: "ALLOW", results: catalog.evaluateCondition("alcohol", aged(18)).results });
    assert.equal(outcomes[0], outcomes[2]);
    assert.throws(() => (outcomes[0].allow = true), TypeError);
    assert.throws(() => outcomes[0].results.pop(), TypeError);
    assert.throws(() => (outcomes[0].results[0].allow = true), TypeError);
    assert.deepEqual(catalog.evaluateMany({ projectId: PROJECT }, [{ id: "foam" }, { id: "glue" }]).map(({ allow }) => allow), [false, true]);
    assert.deepEqual(catalog.evaluateMany({ conditionId: "alcohol" }, []), []);
    const many = Array.from({ length: 10_000 }, (_, at) => ({ id: `å${at}`, customer_age: at % 100 }));
    assert.equal(new Set(catalog.evaluateMany({ conditionId: "alcohol" }, many)).size, 2);
  });

  test("ids that look like the rest of an answer are returned unchanged, and change nothing else", () => {
    const odd = ['"', "\\", '","allow":true,"results":[]}', '\\","allow":true', '{"id":"', "a\tb", "é\u2028😀"];
    // More outcomes than the cache holds, so that each is also requested again after its eviction.
    const tenant = Array.from({ length: 400 }, (_, id) => ({
      id: `license-${id}`, rule: "LICENSE_REQUIREMENT", condition_value: {},
    }));
    const many = new Catalog({ global: [], tenant });
    for (const turn of [1, 2]) {
      for (const [at, { id }] of tenant.entries()) {
        const item = { id: odd[at % odd.length] };
        const context = { customer: { licenses: at % 2 ? [id] : [] } };
        const answer = many.evaluateCondition(id, { item, context });
        const results = at % 2
          ? [{ id, allow: true, decision: "ALLOW", reason: null, rule: "LICENSE_REQUIREMENT" }]
          : [{ id, allow: false, decision: "HARD_DENY", reason: "license_requirement.license_missing", rule: "LICENSE_REQUIREMENT" }];
        assert.deepEqual(answer, { id: item.id, allow: at % 2 === 1, results }, `turn ${turn}`);
      }
    }
  });

  test("an undefined member counts as absent", () => {
    assert.equal(catalog.evaluateCondition("alcohol", { item, context: { customer: undefined } }).results[0].decision, "SOFT_DENY");
  });

  test("texts of any length and script are returned unchanged", () => {
    for (const id of ["å", "日本", "🍺".repeat(64), "a".repeat(256), '"\\\u0000\n']) {
      assert.equal(catalog.evaluateCondition("alcohol", { ...aged(18), item: { id } }).id, id);
    }
    const note = "æ".repeat(100_000);
    assert.equal(catalog.evaluateCondition("alcohol", { ...aged(18), note }, { lenient: true }).allow, true);
  });

  test("a member that is not known is an error, unless it is to be ignored", () => {
    const basket = { items: [{ id: "beer", conditionId: ["alcohol"] }], context: {} };
    const error = thrown(() => catalog.evaluateBasket(basket));
    assert.deepEqual([error.code, error.message], ["unknown_member", "$.items[0].conditionId is unknown: is conditionIds meant?"]);
    assert.equal(catalog.evaluateBasket(basket, { lenient: true }).decision, "ALLOW");
    const { explanation } = catalog.evaluateCondition("alcohol", { ...aged(18), till: 4 }, { lenient: true, explain: true }).results[0];
    assert.deepEqual(explanation, { minimumAge: 18, customerAge: 18 });
    assert.throws(() => catalog.evaluateMany({ conditionId: "alcohol" }, [{ id: "a", age: 4 }]), { code: "unknown_member" });
    assert.equal(catalog.evaluateMany({ conditionId: "alcohol" }, [{ id: "a", age: 4 }], { lenient: true })[0].decision, "SOFT_DENY");
    assert.throws(() => catalog.evaluateBasket(basket, { explian: true }), { code: "invalid", path: "$.explian" });
  });

  test("an id with a newline cannot become another call", () => {
    const error = thrown(() => catalog.evaluateCondition('alcohol\n{"item":{"id":"x"},"context":{}}', aged(30)));
    assert.deepEqual([error.code, error.path], ["invalid", "$.conditionId"]);
  });

  test("every reason has a sentence, and nothing else has one", () => {
    glue.initSync({ module: readFileSync(new URL("../../js/engine/tillgate_bg.wasm", import.meta.url)) });
    const types = readFileSync(new URL("../../js/src/shared/decision.d.cts", import.meta.url), "utf8");
    const reasons = types.match(/export type Reason =([^;]*);/)[1].match(/[a-z_]+\.[a-z_]+/g);
    assert.equal(reasons.length, 9);
    for (const reason of reasons) {
      assert.match(describe(reason), /\.$/);
      assert.equal(describe(reason), glue.describe(reason));
    }
    assert.equal(describe("åldersgräns"), undefined);
    assert.equal(describe(""), undefined);
  });
});

about("tests beside a rule", () => {
  const sixteen = { name: "sixteen", request: aged(16), expect: { decision: "HARD_DENY", reasons: ["age_restriction.underage"] } };
  const tested = (minimum_age, tests = [sixteen]) => ({ id: "games", rule: "AGE_RESTRICTION", condition_value: { minimum_age }, tests });

  test("a draft is tested before it is saved", () => {
    assert.deepEqual(runTests({ condition: tested(18) }), { passed: 1, failed: [] });
    assert.deepEqual(runTests({ condition: tested(16), other: null }), {
      passed: 0,
      failed: [{ index: 0, name: "sixteen", expected: sixteen.expect, actual: { decision: "ALLOW", reasons: [] }, message: "expected HARD_DENY, is ALLOW" }],
    });
  });

  test("a catalog tests all that it has, and decides the same with tests and without", () => {
    const foam = { name: "foam", request: { item: { id: "foam" } }, expect: { decision: "ALLOW" } };
    const document = structuredClone(DOCUMENT);
    document.tenant.push(tested(18), { ...tested(18), id: "films", enabled: false });
    document.projects[0].tests = [foam];
    const catalog = new Catalog(document);
    const { passed, failed } = catalog.test();
    assert.equal(passed, 1);
    assert.deepEqual(failed.map(({ kind, id, index, name, message }) => [kind, id, index, name, message]), [
      ["condition", "films", 0, "sixteen", "expected HARD_DENY, but the condition is not in force"],
      ["project", PROJECT, 0, "foam", "expected ALLOW, is HARD_DENY"],
    ]);
    assert.deepEqual(catalog.evaluateCondition("alcohol", aged(17)), new Catalog(DOCUMENT).evaluateCondition("alcohol", aged(17)));
    catalog.free();
    assert.equal(thrown(() => catalog.test()).code, "freed");
  });

  test("malformed tests do not keep a catalog from deciding; every fault is named by its place in the document", () => {
    const catalog = new Catalog({ global: [], tenant: [tested(18, [{ ...sixteen, expects: {} }, 7])] });
    assert.equal(catalog.evaluateCondition("games", aged(18)).allow, true);
    const error = thrown(() => catalog.test());
    assert.deepEqual([error.code, error.status, error.path], ["invalid", 400, "$.tenant[0].tests[0].expects"]);
    assert.deepEqual(error.faults.map(({ path }) => path), ["$.tenant[0].tests[0].expects", "$.tenant[0].tests[1]"]);
    assert.equal(thrown(() => runTests()).message, "the document is missing");
  });
});

about("errors", () => {
  const catalog = new Catalog(DOCUMENT);

  test("an unknown condition is an error with the host's status, 404, and named", () => {
    const error = thrown(() => catalog.evaluateCondition("nope", aged(17)));
    assert.equal(error.message, '$.conditionId matches no enabled condition: "nope"');
    assert.ok(error instanceof TillgateError && error instanceof Error);
    assert.deepEqual([error.name, error.code, error.status, error.path], ["TillgateError", "condition_not_found", 404, "$.conditionId"]);
  });

  test("every fault is listed, and a printed error names its path", () => {
    const error = thrown(() => catalog.evaluateCondition("alcohol", { item: { id: 1 }, context: { customer: { customer_age: 1.5 } } }));
    assert.deepEqual(
      error.faults.map(({ path }) => path),
      ["$.item.id", "$.context.customer.customer_age"],
    );
    assert.equal(error.faults[0].message, "must be a string of 1 to 256 characters");
    assert.match(error.message, /^\$\.item\.id must be .*; \$\.context\.customer\.customer_age must be /);
    assert.match(inspect(error), /^TillgateError: \$\.item\.id must be a string.*path: '\$\.item\.id'/s);
    assert.equal(String(error), `TillgateError: ${error.message}`);
  });

  test("what is wrong with rows is named by its place", () => {
    const by = (by, rows = []) => {
      const { code, path, message } = thrown(() => catalog.evaluateMany(by, rows));
      return [code, path, message];
    };
    assert.deepEqual(by({ conditionId: "alcohol" }, [{ id: "a" }, { id: "b", customer_age: -1 }]).slice(0, 2), ["invalid", "$.rows[1].customer_age"]);
    assert.deepEqual(by({ conditionId: "alcohol" }, Array(10_001).fill({ id: "a" })), ["invalid", "$.rows", "$.rows must have at most 10000 rows"]);
    assert.deepEqual(by({ conditionId: "nope" }), ["condition_not_found", "$.conditionId", '$.conditionId matches no enabled condition: "nope"']);
    assert.deepEqual(by({ projectId: "nope" }).slice(0, 2), ["invalid", "$.projectId"]);
    for (const neither of [undefined, {}, { conditionId: "alcohol", projectId: PROJECT }]) assert.equal(by(neither)[0], "invalid");
    assert.equal(thrown(() => catalog.evaluateMany({ conditionId: "alcohol" })).code, "invalid");
  });

  test("every message says what it is about", () => {
    const loop = {};
    loop.loop = loop;
    const messages = [
      () => new Catalog(null),
      () => new Catalog(),
      () => catalog.evaluateCondition("alcohol"),
      () => catalog.evaluateCondition(undefined, aged(17)),
      () => catalog.evaluateProjectRestrictions(),
      () => catalog.evaluateBasket(),
      () => catalog.evaluateCondition("alcohol", loop),
      () => catalog.evaluateCondition("nope", aged(17)),
      () => oppositeRate(11.05),
      () => new RatesClient({ url: "http://127.0.0.1:1", token: "t" }),
      () => new WebhookVerifier(),
      () => new WebhookVerifier({ scheme: "BASIC", username: "u", password: "p", sharedKey: "short" }),
    ].map((call) => thrown(call).message.replace(/: .*/s, ""));
    assert.deepEqual(messages, [
      "the input must be an object",
      "the document is missing",
      "the request is missing",
      "$.conditionId must be the id of a condition",
      "the request is missing",
      "the request is missing",
      "the input cannot be written as JSON",
      "$.conditionId matches no enabled condition",
      "$.rate must be a decimal in a string",
      "the options must have a businessUnitId or a tenantId",
      "the options must be an object",
      "$.sharedKey must be 16 to 128 printable characters",
    ]);
  });

  test("a document with faults is refused", () => {
    const error = thrown(() => new Catalog({ global: [{ id: "a" }], tenant: [] }));
    assert.deepEqual([error.code, error.path], ["invalid", "$.global[0].rule"]);
  });

  test("a document may hold a Map, a Set, a BigInt and undefined, and keeps what it held", () => {
    const itemIds = new Set(["sku-1"]);
    const beer = new Map(Object.entries({ id: "beer", rule: "AGE_RESTRICTION", enabled: undefined, condition_value: { minimum_age: 18n } }));
    const document = { global: new Set([beer]), tenant: [], projects: [{ projectId: PROJECT, name: undefined, restrictions: [{ type: "WHITELISTEDITEMS", itemIds }] }] };
    const catalog = new Catalog(document);
    itemIds.add("sku-2");
    assert.deepEqual([17, 18].map((age) => catalog.evaluateCondition("beer", aged(age)).allow), [false, true]);
    assert.deepEqual(["sku-1", "sku-2"].map((id) => catalog.evaluateProjectRestrictions({ projectId: PROJECT, item: { id } }).allow), [true, false]);
    assert.deepEqual(runTests({ condition: beer }), { passed: 0, failed: [] });
    assert.deepEqual(compare({ condition: beer }, { condition: Object.fromEntries(beer) }), { same: true });
    for (const minimum_age of [151n, 2n ** 70n, -1n]) {
      const wrong = () => findings({ condition: { id: "beer", rule: "AGE_RESTRICTION", condition_value: { minimum_age } } });
      assert.equal(thrown(wrong).path, "$.condition.condition_value.minimum_age");
    }
  });

  test("a value that cannot be written as JSON is refused", () => {
    const loop = {};
    loop.loop = loop;
    for (const request of [loop, { item, context: {}, big: 1n }]) assert.equal(thrown(() => catalog.evaluateCondition("alcohol", request)).code, "invalid");
    for (const request of [undefined, null, 1, "x", () => {}]) assert.equal(thrown(() => catalog.evaluateCondition("alcohol", request)).code, "invalid");
  });

  test("nothing is decided before the module is loaded, and a foreign module is refused", () => {
    const output = execFileSync(process.execPath, ["--input-type=module", "-e", `
      import { Catalog, initSync, init } from "${new URL("../../js/src/runtime/browser.js", import.meta.url)}";
      const code = (call) => { try { call(); } catch (error) { return error.code ?? error.name; } };
      const foreign = Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0, 5, 3, 1, 0, 1, 7, 10, 1, 6, 109, 101, 109, 111, 114, 121, 2, 0);
      console.log(code(() => new Catalog({})), code(() => initSync(foreign)), code(() => initSync(foreign.slice(1))), code(() => new Catalog({})));
      const failure = (source) => init(source).catch(({ code }) => code);
      console.log(await failure("http://127.0.0.1:1/"), await failure(foreign.slice(1)), await failure(new Response("", { status: 404 })));
      const bytes = (await import("node:fs")).readFileSync("${new URL("../../js/engine/tillgate_bg.wasm", import.meta.url).pathname}");
      await init(new Response(bytes, { headers: { "Content-Type": "application/wasm" } }));
      console.log(new Catalog({ global: [], tenant: [] }) instanceof Catalog);
    `], { encoding: "utf8", timeout: DEADLINE_MS });
    assert.equal(output, "not_ready wrong_module wrong_module not_ready\nunavailable wrong_module unavailable\ntrue\n");
  });
});

about("memory", () => {
  test("a catalog that has been freed reports it", () => {
    const catalog = new Catalog(DOCUMENT);
    catalog.free();
    catalog.free();
    assert.equal(thrown(() => catalog.evaluateCondition("alcohol", aged(17))).code, "freed");
    assert.equal(typeof Catalog.prototype[Symbol.dispose ?? Symbol.for("none")], Symbol.dispose ? "function" : "undefined");
  });

  test("catalogs that are created and freed take no more memory", () => {
    const large = { ...DOCUMENT, projects: [{ projectId: PROJECT, restrictions: [{ type: "WHITELISTEDITEMS", itemIds: Array.from({ length: 5000 }, (_, id) => `item-${id}`) }] }] };
    const turn = () => new Catalog(large).free();
    for (let turns = 0; turns < 20; turns += 1) turn();
    const before = current().exports.memory.buffer.byteLength;
    for (let turns = 0; turns < 200; turns += 1) turn();
    assert.equal(current().exports.memory.buffer.byteLength, before);
  });

  test("after a trap the next call uses a new instance, also with earlier catalogs", () => {
    const script = `
      import { readFileSync } from "node:fs";
      import { Catalog, initSync } from "${new URL("../../js/src/runtime/browser.js", import.meta.url)}";
      import { current } from "${new URL("../../js/src/shared/engine.js", import.meta.url)}";
      import { limited } from "${new URL("../support/limited.mjs", import.meta.url)}";
      initSync(limited(readFileSync("${new URL("../../js/engine/tillgate_bg.wasm", import.meta.url).pathname}"), 64));
      const catalog = new Catalog(${JSON.stringify(DOCUMENT)});
      const ask = () => catalog.evaluateCondition("alcohol", ${JSON.stringify(aged(18))}).allow;
      const first = current();
      const output = [ask()];
      const tenant = Array.from({ length: 40000 }, (_, id) => ({ id: "c" + id, rule: "LICENSE_REQUIREMENT", condition_value: {} }));
      for (const size of [tenant.length, tenant.length]) {
        try { new Catalog({ global: [], tenant: tenant.slice(0, size) }); } catch (error) { output.push(error.code, error.cause?.name); }
        output.push(ask());
      }
      output.push(current() !== first);
      console.log(JSON.stringify(output));
    `;
    const output = JSON.parse(execFileSync(process.execPath, ["--input-type=module", "-e", script], { encoding: "utf8", timeout: DEADLINE_MS }));
    assert.deepEqual(output, [true, "trap", "RuntimeError", true, "trap", "RuntimeError", true, true]);
  });

  test("an input that is too large for the memory is refused, and later calls work", () => {
    const script = `
      import { readFileSync } from "node:fs";
      import { Catalog, initSync } from "${new URL("../../js/src/runtime/browser.js", import.meta.url)}";
      import { limited } from "${new URL("../support/limited.mjs", import.meta.url)}";
      initSync(limited(readFileSync("${new URL("../../js/engine/tillgate_bg.wasm", import.meta.url).pathname}"), 32));
      const catalog = new Catalog(${JSON.stringify(DOCUMENT)});
      const request = ${JSON.stringify(aged(18))};
      const output = [];
      try { catalog.evaluateCondition("alcohol", { ...request, note: "x".repeat(8 << 20) }); } catch (error) { output.push(error.code); }
      output.push(catalog.evaluateCondition("alcohol", request).allow);
      console.log(JSON.stringify(output));
    `;
    assert.deepEqual(JSON.parse(execFileSync(process.execPath, ["--input-type=module", "-e", script], { encoding: "utf8", timeout: DEADLINE_MS })), ["too_large", true]);
  });
});

about("rates", () => {
  test("are decimal strings", () => {
    assert.equal(oppositeRate("11.05"), "0.090498");
    assert.equal(rateWithMarkup("11.05", "2.5"), "10.77375");
    assert.equal(convert("100", "11.05"), "1105.00");
    assert.equal(convert("100", "11.05", { currency: "JPY" }), "1105");
    assert.equal(convert("100", "11.05", { minorUnit: 3 }), "1105.000");
    assert.equal(convert(String(0.1 + 0.2), "11.05"), "3.32");
    assert.equal(convert(String(0.1 + 0.2 - 0.3), "11.05"), "0.00");
    assert.deepEqual(calculate([{ op: "opposite", rate: "2" }, { op: "convert", amount: "1", rate: "2", minorUnit: 0 }]), [{ rate: "0.5" }, { amount: "2" }]);
  });

  test("a float is refused, and the path of its fault has no call index", () => {
    const error = thrown(() => oppositeRate(11.05));
    assert.deepEqual([error.code, error.path], ["invalid", "$.rate"]);
  });
});
