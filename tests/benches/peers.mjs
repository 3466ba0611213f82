// The same decisions by other engines, measured in one run with this one: object in, object out, equal answers.
//
//     npm install --no-save --prefix tests/.peers json-logic-engine @cedar-policy/cedar-wasm @gorules/zen-engine-wasm casbin
//     node tests/benches/peers.mjs
//
// Each engine states the rule in its own language and returns an `ItemDecision`. Parts that it cannot return itself (reasons,
// the shape) are added around it, at almost no cost. Each decides about the same sixteen items in turn and must
// return the module's answer. Prints JSON for tests/bench.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

import { Catalog } from "../../js/src/runtime/node.js";
import { time } from "../support/measure.mjs";

const peer = createRequire(new URL("../.peers/", import.meta.url));

const ids = Array.from({ length: 100 }, (_, id) => `item-${String(id).padStart(3, "0")}`);
const projectId = "0b8a5d3e-6c1f-4a52-9d7e-2f4b8c6d1e90";
const RESTRICTIONS = [
  { type: "WHITELIST", propertyName: "productGroup", allowedValues: ["timber", "fasteners", "insulation"] },
  { type: "BLACKLIST", propertyName: "brand", deniedValues: ["umbrella", "initech"] },
  { type: "BOOLEAN", propertyName: "hazardous", value: false },
  { type: "WHITELISTEDITEMS", itemIds: ids },
  { type: "BLACKLISTEDITEMS", itemIds: ["item-900", "item-901"] },
];
const CHECKS = [
  ["productGroup", "whitelist_not_met"],
  ["brand", "blacklist_met"],
  ["hazardous", "boolean_not_met"],
  ["itemId", "whitelist_not_met"],
  ["itemId", "blacklisted_item"],
];

const AGES = [null, 0, 5, 12, 16, 17, 18, 19, 20, 21, 30, 40, 55, 70, 99, 150].map((customer_age) => ({
  item: { id: "beer-0.5l-7311041080306" },
  context: { customer: { customer_age, licenses: ["hunting", "pesticide"], loyalty: "gold", postcode: "11346" }, till: "till-04-se" },
}));
const ITEMS = Array.from({ length: 16 }, (_, at) => ({
  projectId,
  item: {
    id: at % 5 === 4 ? "item-900" : `item-${String(at * 7).padStart(3, "0")}`,
    additionalProperties: { productGroup: at % 3 === 2 ? "paint" : "timber", brand: at % 7 === 6 ? "initech" : "acme", hazardous: at % 4 === 3, organic: true },
  },
}));

/** An age decision from the result of an engine: ALLOW, SOFT_DENY or HARD_DENY. */
const REASONS = { ALLOW: null, SOFT_DENY: "age_restriction.missing_context", HARD_DENY: "age_restriction.underage" };
const ageDecision = (request, decision) => {
  const allow = decision === "ALLOW";
  return { id: request.item.id, allow, results: [{ id: "alcohol", allow, decision, reason: REASONS[decision], rule: "AGE_RESTRICTION" }] };
};

/** A project's decision from one boolean per restriction. */
const projectDecision = (request, allows) => ({
  id: request.item.id,
  allow: allows.every(Boolean),
  results: CHECKS.map(([restriction, reason], at) => ({
    allow: allows[at],
    decision: allows[at] ? "ALLOW" : "HARD_DENY",
    reason: allows[at] ? null : `project_restriction.${reason}`,
    rule: "PROJECT_RESTRICTION",
    source: "PROJECT_RESTRICTION",
    restriction,
  })),
});

function ours() {
  const catalog = new Catalog({
    global: [{ id: "alcohol", rule: "AGE_RESTRICTION", condition_value: { minimum_age: 18 } }],
    tenant: [],
    projects: [{ projectId, restrictions: RESTRICTIONS }],
  });
  return { age: (request) => catalog.evaluateCondition("alcohol", request), five: (request) => catalog.evaluateProjectRestrictions(request) };
}

function jsonLogic() {
  const { LogicEngine } = peer("json-logic-engine");
  const engine = new LogicEngine();
  const age = engine.build({
    if: [{ "===": [{ var: "context.customer.customer_age" }, null] }, "SOFT_DENY", { "<": [{ var: "context.customer.customer_age" }, 18] }, "HARD_DENY", "ALLOW"],
  });
  const property = (name) => ({ var: `item.additionalProperties.${name}` });
  const rules = [
    { in: [property("productGroup"), ["timber", "fasteners", "insulation"]] },
    { "!": { in: [property("brand"), ["umbrella", "initech"]] } },
    { "===": [property("hazardous"), false] },
    { in: [{ var: "item.id" }, ids] },
    { "!": { in: [{ var: "item.id" }, ["item-900", "item-901"]] } },
  ].map((rule) => engine.build(rule));
  return {
    age: (request) => ageDecision(request, age(request)),
    five: (request) => projectDecision(request, rules.map((rule) => rule(request))),
  };
}

function cedar() {
  const { preparsePolicySet, statefulIsAuthorized } = peer("@cedar-policy/cedar-wasm/nodejs");
  const set = (values) => `[${values.map((value) => JSON.stringify(value)).join(",")}]`;
  const forbid = (condition) => `forbid(principal, action, resource) when { ${condition} };`;
  const parse = (name, policies) => {
    const { type } = preparsePolicySet(name, { staticPolicies: { permit: "permit(principal, action, resource);", ...policies } });
    assert.equal(type, "success");
  };
  parse("age", {
    SOFT_DENY: forbid("!(context has customer_age)"),
    HARD_DENY: forbid("context has customer_age && context.customer_age < 18"),
  });
  parse("five", {
    0: forbid(`!(context has productGroup && ${set(["timber", "fasteners", "insulation"])}.contains(context.productGroup))`),
    1: forbid(`context has brand && ${set(["umbrella", "initech"])}.contains(context.brand)`),
    2: forbid("!(context has hazardous && context.hazardous == false)"),
    3: forbid(`!${set(ids)}.contains(context.itemId)`),
    4: forbid(`${set(["item-900", "item-901"])}.contains(context.itemId)`),
  });
  const ask = (preparsedPolicySetId, context) => {
    const call = { principal: { type: "Till", id: "1" }, action: { type: "Action", id: "sell" }, resource: { type: "Item", id: "1" }, context, entities: [], preparsedPolicySetId };
    const answer = statefulIsAuthorized(call);
    assert.equal(answer.type, "success");
    return answer.response.diagnostics.reason;
  };
  return {
    age(request) {
      const { customer_age } = request.context.customer;
      const [reason] = ask("age", customer_age === null ? {} : { customer_age });
      return ageDecision(request, reason === "permit" ? "ALLOW" : reason);
    },
    five(request) {
      const reasons = ask("five", { ...request.item.additionalProperties, itemId: request.item.id });
      return projectDecision(request, CHECKS.map((_, at) => !reasons.includes(String(at))));
    },
  };
}

async function zen() {
  const { default: init, evaluateExpression } = await import(peer.resolve("@gorules/zen-engine-wasm"));
  await init({ module_or_path: readFileSync(new URL("zen_engine_wasm_bg.wasm", new URL("dist/", `file://${peer.resolve("@gorules/zen-engine-wasm")}`))) });
  const list = (values) => `[${values.map((value) => `'${value}'`).join(",")}]`;
  const age = "context.customer.customer_age == null ? 'SOFT_DENY' : context.customer.customer_age < 18 ? 'HARD_DENY' : 'ALLOW'";
  const five = `[item.additionalProperties.productGroup in ${list(["timber", "fasteners", "insulation"])},
    not (item.additionalProperties.brand in ${list(["umbrella", "initech"])}),
    item.additionalProperties.hazardous == false, item.id in ${list(ids)}, not (item.id in ${list(["item-900", "item-901"])})]`;
  return {
    age: (request) => ageDecision(request, evaluateExpression(age, request)),
    five: (request) => projectDecision(request, evaluateExpression(five, request)),
  };
}

async function casbin() {
  const { newEnforcer, newModelFromString } = peer("casbin");
  const model = newModelFromString(`
[request_definition]
r = rule, q
[policy_definition]
p = rule, name, test, eft
[policy_effect]
e = !some(where (p.eft == deny))
[matchers]
m = r.rule == p.rule && eval(p.test)`);
  const enforcer = await newEnforcer(model);
  enforcer.addFunction("listed", (at, value) => LISTS[at].has(value));
  const add = (rule, name, test) => enforcer.addPolicy(rule, name, test, "deny");
  await add("age", "SOFT_DENY", "r.q.age == null");
  await add("age", "HARD_DENY", "r.q.age != null && r.q.age < 18");
  const tests = ["!listed(0, r.q.productGroup)", "listed(1, r.q.brand)", "r.q.hazardous != false", "!listed(3, r.q.itemId)", "listed(4, r.q.itemId)"];
  for (const [at, test] of tests.entries()) await add(`five-${at}`, String(at), test);
  return {
    age(request) {
      const [allow, why] = enforcer.enforceExSync("age", { age: request.context.customer.customer_age });
      return ageDecision(request, allow ? "ALLOW" : why[1]);
    },
    five(request) {
      const question = { ...request.item.additionalProperties, itemId: request.item.id };
      return projectDecision(request, CHECKS.map((_, at) => enforcer.enforceSync(`five-${at}`, question)));
    },
  };
}

const LISTS = RESTRICTIONS.map(({ allowedValues, deniedValues, itemIds }) => new Set(allowedValues ?? deniedValues ?? itemIds ?? []));

const PEERS = { "json-logic-engine": jsonLogic, "@cedar-policy/cedar-wasm": cedar, "@gorules/zen-engine-wasm": zen, casbin };

let kept;

/** The nanoseconds of a decision by this engine and by the other, in turn: `{ age: [this, other], five: [..] }`. */
async function compare(name) {
  const engines = [ours(), await PEERS[name]()];
  const figures = {};
  for (const [rule, requests] of [["age", AGES], ["five", ITEMS]]) {
    for (const request of requests) assert.deepEqual(engines[1][rule](request), engines[0][rule](request), `${name}: ${JSON.stringify(request)}`);
    const calls = engines.map((engine) => {
      let turn = 0;
      return () => {
        kept = engine[rule](requests[(turn += 1) & 15]);
      };
    });
    figures[rule] = time(calls, 500);
  }
  assert.ok(kept);
  return figures;
}

// Each engine runs in its own process, so that the compiler's assumptions about one do not affect the next. Without the flag,
// V8 of Node 20 ends with a fatal error when it deoptimizes code inside a call of Cedar. The flag costs nothing.
const [, program, only] = process.argv;
const run = (name) => JSON.parse(execFileSync(process.execPath, ["--no-turbo-inline-js-wasm-calls", program, name]));
const figures = only ? await compare(only) : Object.fromEntries(Object.keys(PEERS).map((name) => [name, run(name)]));
console.log(JSON.stringify(figures));
