// The types of the installed package: programs compile against them, as ES modules and as CommonJS, and every resolution finds
// the types of the file that it loads.

import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { TOOLS, install, run } from "../support/packed.mjs";

const IMPORTS = `
  import { bytes } from "tillgate/module";
  import { Catalog, TillgateError, calculate, compare, convert, describe, findings, init, oppositeRate, runTests, type CatalogDocument, type Finding, type ItemDecision, type Rule } from "tillgate";
  import { CatalogClient, Host, clientCredentials, type CatalogSnapshot, type CatalogStorage, type ReadyOptions } from "tillgate/client";
  import { RatesClient, type RatesSnapshot, type ShopRate, type TokenSource } from "tillgate/rates";
  import { WebhookError, WebhookVerifier, type WebhookEvent } from "tillgate/webhook";
`;

const STATEMENTS = `
  await init();
  await init(await bytes());
  const document: CatalogDocument = { global: [], tenant: [{ id: "beer", rule: "AGE_RESTRICTION", condition_value: { minimum_age: 18 } }] };
  const catalog = new Catalog(document);
  const ids: Set<string> = new Set(["a"]);
  new Catalog({ global: new Set([{ id: "beer", rule: "AGE_RESTRICTION", condition_value: new Map([["minimum_age", 18n]]) }]), tenant: [], projects: [{ projectId: "a", restrictions: [{ type: "WHITELISTEDITEMS", itemIds: ids }] }] });
  findings({ condition: { id: "beer", rule: "AGE_RESTRICTION", condition_value: { minimum_age: 18n } } });
  const decision: ItemDecision = catalog.evaluateCondition("beer", { item: { id: "a" }, context: { customer: { customer_age: 17, licenses: ["a", { id: "b" }] } } });
  for (const result of decision.results) {
    if (result.rule === "PROJECT_RESTRICTION") result.restriction?.toUpperCase();
    else result.id.toUpperCase();
    if (result.reason !== null) describe(result.reason).toUpperCase();
  }
  const [explained] = catalog.evaluateCondition("beer", { item: { id: "a" }, context: {} }, { explain: true }).results;
  if (explained && "minimumAge" in explained.explanation) explained.explanation.minimumAge.toFixed();
  const [listed] = catalog.evaluateProjectRestrictions({ projectId: "a", item: { id: "a" } }, { explain: true }).results;
  const wants: readonly (string | boolean)[] | undefined = listed?.explanation?.wants;
  for (const item of catalog.evaluateBasket({ items: [], context: {} }, { explain: true }).items) {
    for (const result of item.results) if (result.rule === "PROJECT_RESTRICTION") result.explanation?.propertyName.toUpperCase();
  }
  const flipped: string[] = catalog.evaluateMany({ conditionId: "beer" }, [{ id: "a", customer_age: 17, licenses: null }]).map(({ decision }) => decision);
  void [wants, flipped, catalog.evaluateMany({ projectId: "a" }, [{ id: "a", additionalProperties: { p: true } }])[0]?.results[0]?.restriction];
  const basket = catalog.evaluateBasket({ items: [{ id: "a", conditionIds: ["beer"] }], context: {} });
  const status: 404 | undefined = basket.items[0]?.errors?.[0]?.status;
  const tested = runTests({ condition: { id: "beer", rule: "AGE_RESTRICTION", condition_value: { minimum_age: 18 }, tests: [{ name: "a", request: { item: { id: "a" }, context: {} }, expect: { decision: "SOFT_DENY", reasons: ["age_restriction.missing_context"] } }] }, other: null });
  const places: string[] = catalog.test().failed.map(({ kind, id, name, message }) => [kind, id, name, message].join());
  tested.failed[0]?.actual.decision satisfies "ALLOW" | "SOFT_DENY" | "HARD_DENY" | "NOT_FOUND" | undefined;
  runTests({ project: { restrictions: [], tests: [{ name: "b", request: { item: { id: "a" } }, expect: { decision: "ALLOW" } }] } });
  const [opposite, converted] = calculate([{ op: "opposite", rate: "2" }, { op: "convert", amount: "1", rate: "2", currency: "SEK" }]);
  const texts: string[] = [opposite.rate, converted.amount, oppositeRate("2"), convert("1", "2", { minorUnit: 0 })];
  try { catalog.free(); } catch (error) { if (error instanceof TillgateError && error.code === "invalid") error.faults[0]?.path.toUpperCase(); }

  const rule: Rule = { condition: document.tenant[0] ?? null, other: null };
  const kinds: Finding["kind"][] = findings({ project: { restrictions: [{ type: "BLACKLIST", propertyName: "a", deniedValues: [true, "b"] }] } }).map(({ kind }) => kind);
  const compared = compare(rule, null);
  if (!compared.same) kinds.push(compared.before === "NOT_FOUND" ? "SHADOWED" : "SUSPICIOUS"), compared.witness.item.id.toUpperCase();
  // @ts-expect-error a rule is a condition or a project
  findings({ restrictions: [] });

  const token = clientCredentials({ tokenUrl: "https://a/oauth2/token", clientId: "a", clientSecret: "b", audience: "c" });
  const client = new CatalogClient({ url: "https://a", token });
  client.addEventListener("state", ({ state }) => state satisfies "STARTING" | "READY" | "STALE" | "CLOSED");
  let last: CatalogSnapshot | undefined;
  const storage: CatalogStorage = { get: async () => last ?? JSON.parse("null"), set: (snapshot) => void (last = snapshot) };
  const waiting: ReadyOptions = { signal: new AbortController().signal, timeoutMs: 5_000 };
  await new CatalogClient({ url: "https://a", token, snapshot: storage }).ready(waiting);
  void [client.asOf?.toISOString(), client.ageMs?.toFixed(), last?.document.digest];
  const asked = await new Host({ url: "https://a", token: () => "t" }).evaluateCondition("beer", { item: { id: "a" }, context: {} });
  asked.decision.results[0]?.id.toUpperCase();
  void [status, texts, places];

  const source: TokenSource = token;
  const rates = new RatesClient({ url: "https://a", token: source, businessUnitId: "se-001", snapshot: JSON.parse("null") as RatesSnapshot | null });
  rates.addEventListener("state", ({ state }) => state satisfies "STARTING" | "READY" | "STALE" | "CLOSED");
  rates.addEventListener("change", ({ businessUnitId, message }) => message?.deletedRates.map(({ rateValue }) => businessUnitId + rateValue));
  await rates.ready({ timeoutMs: 5_000 });
  const rate: ShopRate = rates.rate({ exchangeRateType: "SALES", currencyIdFrom: "SEK", currencyIdTo: "EUR" });
  const money: { amount: string; currency: string } = rates.convert({ amount: "1", from: "EUR", to: "SEK", exchangeRateType: "SALES" });
  const age: number | undefined = rates.ageMs;
  const stored: RatesSnapshot = JSON.parse(JSON.stringify(rates));
  const later = new RatesClient({ url: "https://a", token: "t", tenantId: "demo", snapshot: stored });
  later.rates({ businessUnitId: later.businessUnitIds[0] }).map(({ rateValueWithMarkup }) => rateValueWithMarkup.length);
  void [rate.createdBy?.length, money, age, later.host];

  const verifier = new WebhookVerifier({ scheme: "BEARER", audience: "a", email: "b", issuer: "c", certificatesUrl: new URL("https://a/certs"), sharedKey: ["a", "b"] });
  const request = new Request("https://a", { method: "POST" });
  const event = await verifier.verify<{ action: string }>({ headers: request.headers, body: await request.arrayBuffer() });
  const kept: Map<string, WebhookEvent> = new Map([[event.id, event]]);
  event.data.action.toUpperCase();
  try {
    const headers: { [name: string]: string | string[] | undefined } = {};
    await new WebhookVerifier({ scheme: "BASIC", username: "a", password: "b", signatureHeader: "c" }).verify({ headers, body: new Uint8Array() });
    await new WebhookVerifier({ scheme: "BASIC", credentials: [{ username: "a", password: "b" }] }).verify({ headers: ["a", "b"], body: "" });
  } catch (error) {
    if (error instanceof WebhookError && error.code === "expired") error.status satisfies 400 | 401 | 413 | 503;
    if (error instanceof TillgateError && error.code === "unknown_kid") kept.clear();
  }

  // @ts-expect-error nothing is explained that was not asked for
  decision.results[0]?.explanation;
  // @ts-expect-error a rate is not a float
  oppositeRate(11.05);
  // @ts-expect-error a request needs a context
  catalog.evaluateCondition("beer", { item: { id: "a" } });
  // @ts-expect-error a license has no minimum age
  new Catalog({ global: [], tenant: [{ id: "a", rule: "LICENSE_REQUIREMENT", condition_value: { minimum_age: 1 } }] });
  // @ts-expect-error an age is not a text
  new Catalog({ global: [], tenant: [{ id: "a", rule: "AGE_RESTRICTION", condition_value: { minimum_age: "18" } }] });
  // @ts-expect-error there is no such code
  if ((null as unknown as TillgateError).code === "oops") throw 0;
  // @ts-expect-error there is no such option
  new CatalogClient({ url: "https://a", token: "t", maxAgeMs: 1 });
  // @ts-expect-error there is nothing to follow
  new RatesClient({ url: "https://a", token: "t" });
  // @ts-expect-error an amount is not a float
  rates.convert({ amount: 1.5, from: "EUR", to: "SEK", exchangeRateType: "SALES" });
  // @ts-expect-error there is no such type
  rates.rate({ exchangeRateType: "RENT", currencyIdFrom: "SEK", currencyIdTo: "EUR" });
  // @ts-expect-error an audience must be there
  new WebhookVerifier({ scheme: "BEARER", email: "b", issuer: "c", certificatesUrl: "https://a/certs" });
  // @ts-expect-error a parsed body cannot be verified
  verifier.verify({ headers: request.headers, body: {} });
  // @ts-expect-error a shared key is left out or there
  new WebhookVerifier({ scheme: "BASIC", username: "a", password: "b", sharedKey: undefined });
  // @ts-expect-error the decimals are given twice
  convert("1", "2", { currency: "SEK", minorUnit: 2 });
`;

/** CommonJS has no `await` outside functions. */
const PROGRAMS = {
  "program.mts": `${IMPORTS}${STATEMENTS}`,
  "program.cts": `${IMPORTS}async function main() {${STATEMENTS}}\nvoid main;`,
};

const RESOLUTIONS = [
  ["program.mts", "bundler", "esnext"],
  ["program.mts", "node16", "node16"],
  ["program.cts", "node16", "node16"],
];

const LIBRARIES = {
  "those of Node alone": ["--lib", "es2022", "--types", "node", "--typeRoots", `${TOOLS}../@types`],
  "those of browsers alone": ["--lib", "es2022,dom", "--typeRoots", "none"],
};

const STRICT = ["--noEmit", "--strict", "--exactOptionalPropertyTypes", "--noUncheckedIndexedAccess", "--target", "es2022"];

let place;
let home;
let end;

before(() => ({ place, home, end } = install()));
after(() => end());

for (const compiler of ["typescript-5.6", "typescript"]) {
  for (const [libraries, options] of Object.entries(LIBRARIES)) {
    for (const [name, moduleResolution, module] of RESOLUTIONS) {
      test(`${name} compiles strictly by ${compiler} with ${libraries}, resolved by ${moduleResolution}`, () => {
        const folder = join(home, "types");
        mkdirSync(folder, { recursive: true });
        writeFileSync(join(folder, name), PROGRAMS[name]);
        try {
          run("node", [`${TOOLS}../${compiler}/bin/tsc`, ...STRICT, ...options, "--module", module, "--moduleResolution", moduleResolution, name], folder);
        } catch (error) {
          assert.fail(error.stdout);
        }
      });
    }
  }
}

test("are found for ES modules, for CommonJS and for bundlers, and are those of what is loaded", () => {
  try {
    run("node", [`${TOOLS}attw`, "tillgate-0.1.0.tgz", "--profile", "node16", "--no-color"], join(place, "js"));
  } catch (error) {
    assert.fail(error.stdout);
  }
});
