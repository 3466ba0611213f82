// The filter of a webhook in the page: in plain words, tried on recent events, and decided as on the host.
//
//     cargo build && node --test tests/page/webhook-filters.test.mjs     TESTS_LONG=1 keeps screenshots in tests/output/

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { VECTORS } from "../support/filter-vectors.mjs";
import { looksRight, still } from "../support/looks.mjs";
import { dialog, expected, hasCount, hasFocus, hasValue, onHost, pressButton, save, tabTo, visit } from "../support/page.mjs";
import { clientWith, emptyHost } from "../support/program.mjs";
import { receiver } from "../support/receiver.mjs";

const SETTINGS = { TILLGATE_WEBHOOKS__ALLOW_HTTP: "true", TILLGATE_WEBHOOKS__ALLOW_PRIVATE: '["127.0.0.0/8"]' };
const WEBHOOKS = "/api/v1/webhooks";
const LONG = "1.10,12345678901234567890123";

const on = onHost(async () => {
  const operator = await emptyHost(SETTINGS);
  const client = await clientWith(operator, ["exe.editor", "exe.publisher"]);
  return { ...client, operator, end: operator.end };
});
let endpoint;

before(async () => (endpoint = await receiver()));
after(() => endpoint?.end());

let names = 0;

/** Creates a webhook with its own name and event type. */
async function webhook(changes = {}) {
  names += 1;
  const body = { name: `Webhook ${names}`, callbackUrl: `${endpoint.url}/hook`, eventTypes: [`x.test-${names}.v1`], authentication: { type: "BEARER" }, ...changes };
  const answer = await on.host.api("POST", WEBHOOKS, body);
  assert.equal(answer.status, 201, await answer.clone().text());
  return answer.json();
}

/** The stored filter, as the host writes it. */
async function stored({ id }) {
  const answer = await (await on.host.api("GET", `${WEBHOOKS}/${id}`)).text();
  return /"filter":(\[.*?\}\])/.exec(answer)?.[1];
}

/** Publishes an event; returns the number of webhooks that get it. */
async function publish(type, data) {
  const answer = await on.host.api("POST", "/api/v1/events", { type, data });
  assert.equal(answer.status, 202);
  return (await answer.json()).deliveries;
}

const press = (page, name) => pressButton(dialog(page).last(), name);
const card = (page, name) => page.locator(".webhook").filter({ has: page.getByRole("heading", { name, exact: true }) });
const edit = (page, { name }) => page.getByRole("button", { name: `Edit ${name}` }).click();
const where = (page, at = 0) => dialog(page).getByLabel(at === 0 ? "Where" : "and where", { exact: true }).nth(Math.max(0, at - 1));
const values = (page, at = 0) => dialog(page).getByLabel("is one of, one per line").nth(at);
const kind = (page, at = 0) => dialog(page).getByLabel("Kind of value").nth(at);

test("a webhook is narrowed to some shops after the form has said how many recent events that lets through", async () => {
  const made = await webhook();
  const [type] = made.eventTypes;
  for (const businessUnitId of ["SE-001", "DE-001", "SE-002"]) assert.equal(await publish(type, { businessUnitId }), 1);
  await visit(on, "#/webhooks", async (page) => {
    await edit(page, made);
    await hasCount(dialog(page).getByRole("button", { name: "Try it on recent events" }), 0);
    await press(page, "Add a condition");
    await hasFocus(page, "Where");
    await page.keyboard.type("businessUnitId");
    await press(page, "Try it on recent events");
    await dialog(page).getByText("Complete the conditions first.").waitFor();
    await values(page).fill("SE-003");
    await dialog(page).getByText("None of the last 3 events would be delivered.").waitFor();
    await values(page).fill("SE-001\nSE-002\nDE-001");
    await dialog(page).getByText("All of the last 3 events would be delivered.").waitFor();
    await values(page).fill("SE-001\nSE-002");
    await dialog(page).getByText("2 of the last 3 events would be delivered.").waitFor();
    await values(page).fill("SE-001");
    await dialog(page).getByText("1 of the last 3 events would be delivered.").waitFor();
    assert.doesNotMatch(await dialog(page).innerText(), /\$\.|JSON/);
    await press(page, "Review");
    const changes = await dialog(page).getByRole("list", { name: "Changes" }).getByRole("listitem").allInnerTexts();
    assert.deepEqual(changes.map((text) => text.split(/\s*\n\s*/).join(" ")), ["Only where + added: businessUnitId is SE-001"]);
    await press(page, "Save");
    await card(page, made.name).getByText(`Test ${/\d+/.exec(type)} · only where businessUnitId is SE-001 · bearer token`).waitFor();
    assert.equal(await stored(made), '[{"path":"$.data.businessUnitId","in":["SE-001"]}]');
    assert.equal(await publish(type, { businessUnitId: "DE-001" }), 0);
    assert.equal(await publish(type, { businessUnitId: "SE-001" }), 1);

    // Unchanged conditions are saved as they were, and a removed one is gone.
    await edit(page, made);
    await hasValue(where(page), "businessUnitId");
    await dialog(page).getByLabel("Name", { exact: true }).fill("Narrowed");
    await save(page);
    await card(page, "Narrowed").waitFor();
    assert.equal(await stored(made), '[{"path":"$.data.businessUnitId","in":["SE-001"]}]');
    await edit(page, { name: "Narrowed" });
    await press(page, "Remove this condition");
    await hasFocus(page, "Add a condition");
    await save(page);
    await card(page, "Narrowed").getByText("only where").waitFor({ state: "detached" });
    assert.equal(await stored(made), undefined);
    assert.equal(await publish(type, { businessUnitId: "DE-001" }), 1);
  });
});

test("conditions are about texts, numbers, and yes or no, and a value of another kind is pointed out", async () => {
  const made = await webhook();
  await publish(made.eventTypes[0], { shop: { id: "7" }, open: true });
  await visit(on, "#/webhooks", async (page) => {
    await edit(page, made);
    await press(page, "Add a condition");
    await where(page).fill("shop › id");
    await kind(page).selectOption("number");
    await values(page).fill("7");
    await press(page, "Try it on recent events");
    await dialog(page).getByText(/^The last event would not be delivered\. Some events have a value of another kind/).waitFor();
    await kind(page).selectOption("text");
    await dialog(page).getByText("The last event would be delivered.").waitFor();
    await press(page, "Add a condition");
    await where(page, 1).fill("open");
    await kind(page, 1).selectOption("yes or no");
    await dialog(page).getByLabel("is", { exact: true }).last().selectOption("no");
    await dialog(page).getByText("The last event would not be delivered.").waitFor();
    await dialog(page).getByLabel("is", { exact: true }).last().selectOption("yes");
    await dialog(page).getByText("The last event would be delivered.").waitFor();
    await save(page);
    await card(page, made.name).getByText("only where shop › id is 7 and open is yes").waitFor();
    assert.equal(await stored(made), '[{"path":"$.data.shop.id","in":["7"]},{"path":"$.data.open","in":[true]}]');
  });
});

test("what only requests can set stays as it is, digit for digit", async () => {
  const filter = `[{"path":"$.data['a.b'].n","in":[${LONG}]},{"path":"$.data.code","in":["a\\nb",7]},{"path":"$.type","in":["x.exact.v1"]}]`;
  const body = `{"name":"Exact","callbackUrl":"${endpoint.url}/hook","eventTypes":["x.exact.v1"],"authentication":{"type":"BEARER"},"filter":${filter}}`;
  const headers = { Authorization: `Bearer ${await on.host.token()}`, "Content-Type": "application/json" };
  const answer = await fetch(on.host.url + WEBHOOKS, { method: "POST", headers, body });
  assert.equal(answer.status, 201);
  const made = await answer.json();
  assert.equal(await stored(made), filter);
  await visit(on, "#/webhooks", async (page) => {
    await edit(page, made);
    await hasValue(where(page), '"a.b" › n');
    await hasValue(values(page), LONG.replace(",", "\n"));
    await dialog(page).getByText("code is one of “a↵b”, 7. These values of several kinds stay as they are.").waitFor();
    await dialog(page).getByLabel("Name", { exact: true }).fill("Exactly");
    await save(page);
    await card(page, "Exactly").waitFor();
    assert.equal(await stored(made), filter);
    await edit(page, { name: "Exactly" });
    await values(page).fill("12345678901234567890123");
    await save(page);
    await dialog(page).waitFor({ state: "detached" });
    assert.equal(await stored(made), filter.replace(LONG, "12345678901234567890123"));
  });
});

test("the page decides about events as the host does", async () => {
  await visit(on, "#/webhooks", async (page) => {
    const decided = await page.evaluate(async (vectors) => {
      const { eventOf, matches } = await import("/www/webhooks/event-filter.js");
      const { parseExactly } = await import("/www/webhooks/exact-json.js");
      return vectors.map(({ name, filter, envelope }) => [name, matches(parseExactly(filter), eventOf(envelope))]);
    }, VECTORS);
    assert.equal(JSON.stringify(decided), JSON.stringify(VECTORS.map(({ name, matches }) => [name, matches])));
  });
});

test("what is wrong with a condition is said without a path, and the rest is kept", async () => {
  const made = await webhook();
  await visit(on, "#/webhooks", async (page) => {
    await edit(page, made);
    await press(page, "Add a condition");
    await values(page).fill("x");
    await press(page, "Review");
    await dialog(page).getByText("For each condition, enter the member of the event’s data that it checks").waitFor();
    await where(page).fill("code");
    await values(page).fill("");
    await press(page, "Review");
    await dialog(page).getByText("Enter 1 to 100 values for each condition.").waitFor();
    await kind(page).selectOption("number");
    await values(page).fill("seven");
    await press(page, "Review");
    await dialog(page).getByText("Enter numbers only, one per line.").waitFor();
    await kind(page).selectOption("text");
    await values(page).fill("x".repeat(600));
    await save(page);
    await dialog(page).getByText("A value of a condition is too long.").waitFor();
    assert.doesNotMatch(await dialog(page).innerText(), /\$\.|filter\[/);
    await hasValue(where(page), "code");
    await page.keyboard.press("Escape");
    expected(page, 400);
  });
});

test("the conditions look right, axe finds nothing, and the keyboard reaches them", async () => {
  const filter = [{ path: "$.data.businessUnitId", in: ["SE-001", "SE-002"] }, { path: "$.data.open", in: [true] }];
  const made = await webhook({ filter });
  await publish(made.eventTypes[0], { businessUnitId: "SE-001", open: true });
  await visit(on, "#/webhooks", async (page) => {
    await still(page);
    await edit(page, made);
    for (const name of ["Where", "Kind of value", "Remove this condition", "Add a condition", "Try it on recent events"]) await tabTo(page, name);
    await page.keyboard.press("Enter");
    await dialog(page).getByText("The last event would be delivered.").waitFor();
    await looksRight(page, "webhooks-filter");
  });
});
