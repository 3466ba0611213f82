// The Webhooks view as integrators use it: a real Chromium against the real program, and a real endpoint.
//
//     cargo build && node --test tests/page/webhooks.test.mjs     TESTS_LONG=1 keeps screenshots in tests/output/

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createHmac } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { promisify } from "node:util";

import { OUTPUT, browser, open, signIn, signedIn } from "../support/browser.mjs";
import { looksRight, still } from "../support/looks.mjs";
import { UNREACHABLE, dialog, expected, flashes, hasCount, hasFocus, hasValue, onHost, pressButton, save, tabTo, visit } from "../support/page.mjs";
import { clientWith, emptyHost } from "../support/program.mjs";
import { receiver } from "../support/receiver.mjs";
import { DEADLINE_MS, eventually, until } from "../support/wait.mjs";

/**
 * Endpoints on loopback, which is closed by default, and retries that a test can wait for: all attempts of a delivery fail
 * before there are enough to pause the webhook.
 */
const SETTINGS = {
  TILLGATE_WEBHOOKS__ALLOW_HTTP: "true",
  TILLGATE_WEBHOOKS__ALLOW_PRIVATE: '["127.0.0.0/8"]',
  TILLGATE_WEBHOOKS__RETRY_DELAYS: '["1s","1s","1s"]',
};
const SHARED_KEY = "0123456789abcdef-shared";

/** The tenant's client that the tests sign in as, and `operator`, who made it. */
async function integrator() {
  const operator = await emptyHost(SETTINGS);
  const client = await clientWith(operator, ["exe.editor", "exe.publisher"]);
  return { ...client, operator, end: operator.end };
}

const on = onHost(integrator, { permissions: ["clipboard-read", "clipboard-write"] });
let endpoint;

before(async () => (endpoint = await receiver()));
after(() => endpoint?.end());

const WEBHOOKS = "/api/v1/webhooks";

let names = 0;

/** Creates a working webhook for the endpoint, with its own name and event type. */
async function webhook(changes = {}) {
  endpoint.answer(204);
  names += 1;
  const body = { name: `Webhook ${names}`, callbackUrl: `${endpoint.url}/hook`, eventTypes: [`test-${names}.events.v1`], authentication: { type: "BEARER" }, sharedKey: SHARED_KEY, ...changes };
  const answer = await on.host.api("POST", WEBHOOKS, body);
  assert.equal(answer.status, 201, await answer.clone().text());
  return answer.json();
}

/** Publishes an event that a webhook gets. */
async function publish(type, data) {
  const answer = await on.host.api("POST", "/api/v1/events", { type, data });
  assert.equal(answer.status, 202);
  assert.ok((await answer.json()).deliveries > 0, `no webhook gets ${type}`);
}

/** All deliveries of a filter. */
async function deliveries(query) {
  const found = [];
  for (let cursor; ; ) {
    const page = await (await on.host.api("GET", `/api/v1/deliveries?${new URLSearchParams({ ...query, ...(cursor && { cursor }) })}`)).json();
    found.push(...page.items);
    if ((cursor = page.next) === undefined) return found;
  }
}

/** The delivery of an event to a webhook, once it has a status. */
// A receiver that has just failed is left alone for a while.
const PATIENCE = 60_000;
const delivered = ({ id }, status) => until(async () => (await deliveries({ webhookId: id })).find((each) => each.status === status), `a delivery is ${status}`, PATIENCE);

/** The last delivery of an event type: attempts of other webhooks may come at any time. */
const last = (type) => endpoint.got.findLast(({ body }) => JSON.parse(body).type === type);

const press = (page, name) => pressButton(dialog(page).last(), name);
const notice = (page, text) => page.locator("#notices").getByText(text).waitFor();
const card = (page, name) => page.locator(".webhook").filter({ has: page.getByRole("heading", { name, exact: true }) });
const rows = (page) => page.getByRole("table", { name: "Deliveries, newest first" }).locator("tbody tr");

test("an integrator sets a webhook up, breaks the endpoint, sees why deliveries fail, mends it and sends again", () => visit(on, "#/webhooks", async (page) => {
  await page.getByRole("button", { name: "New webhook" }).click();
  await dialog(page).getByLabel("Name", { exact: true }).fill("ERP");
  await dialog(page).getByLabel("Address").fill(`${endpoint.url}/erp`);
  await dialog(page).getByLabel("All events").uncheck();
  await dialog(page).getByLabel("Another event type").fill("orders.events.v1");
  await page.keyboard.press("Enter");
  await dialog(page).getByRole("checkbox", { name: "orders.events.v1" }).and(page.locator(":checked")).waitFor();
  endpoint.answer(503, "the database is away");
  await press(page, "Ping before saving");
  await dialog(page).getByText("Nothing was sent yet. Give this key to the receiver").waitFor();
  await press(page, "Ping before saving");
  await dialog(page).getByText(/^The endpoint answered 503 Service Unavailable\. It took \d+ ms\.$/).waitFor();
  await dialog(page).getByText("the database is away").waitFor();
  endpoint.answer(204);
  await press(page, "Ping before saving");
  await dialog(page).getByText(/^It works: the endpoint answered 204\./).waitFor();
  assert.equal((await (await on.host.api("GET", WEBHOOKS)).json()).some(({ name }) => name === "ERP"), false, "a ping saves nothing");
  await save(page);

  await dialog(page).getByRole("heading", { name: "The shared key of ERP" }).waitFor();
  const shownKey = dialog(page).getByLabel("Shared key");
  await eventually(async () => assert.match(await shownKey.inputValue(), /^.{16,128}$/));
  const sharedKey = await shownKey.inputValue();
  await press(page, "Copy");
  await notice(page, "The shared key was copied.");
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), sharedKey);
  await page.screenshot({ path: `${OUTPUT}webhooks-shared-key.png` });
  await press(page, "Done");
  await card(page, "ERP").getByText("Orders · bearer token, signed with a shared key").waitFor();

  await card(page, "ERP").getByRole("button", { name: "Ping ERP" }).click();
  await page.getByRole("heading", { name: "A ping" }).waitFor();
  await page.locator(".facts").getByText("exe.events.v1", { exact: true }).waitFor();
  await page.getByText("Delivered: the endpoint answered 204.").waitFor();

  // The endpoint breaks, and an event comes.
  endpoint.answer(500, "out of memory");
  await page.getByRole("link", { name: "All deliveries" }).click();
  await rows(page).first().waitFor();
  const hasFlashed = await flashes(page);
  await pressButton(page, "Send an event");
  await dialog(page).getByLabel("Event type").fill("orders.events.v1");
  await dialog(page).getByLabel("Data").fill('{"orderId":"1001","total":12.5}');
  await press(page, "Send");
  await notice(page, "One webhook gets it.");
  const row = rows(page).filter({ hasText: "orders.events.v1" }).first();
  await row.getByRole("link", { name: "Orders", exact: true }).waitFor();
  await row.getByText("Trying again").waitFor();
  await row.getByText("The endpoint answered 500 Internal Server Error.").waitFor();
  await row.getByText("Failed").waitFor();
  await hasFlashed("orders.events.v1");
  await row.getByRole("link").click();
  await page.getByText("The endpoint answered 500 Internal Server Error. It is not tried again by itself.").waitFor();
  await page.getByText(/^Attempt 4, /).waitFor();
  await page.getByText("What it answered").last().click();
  await page.getByText("out of memory").last().waitFor();
  await page.getByText('"total": 12.5').waitFor();
  await page.screenshot({ path: `${OUTPUT}webhooks-failed.png`, fullPage: true });

  // The endpoint is repaired, and the delivery is sent again.
  endpoint.answer(200, "thank you");
  await page.getByRole("button", { name: "Send again" }).click();
  await page.getByText("Delivered: the endpoint answered 200.").waitFor();
  await page.locator(".delivery-state").getByText("Delivered.").waitFor();
  const got = last("orders.events.v1");
  assert.equal(atob(JSON.parse(got.body).data), '{"orderId":"1001","total":12.5}');

  // The received request passes every check with the receiver's knowledge.
  await page.getByRole("link", { name: "Check a signature" }).click();
  await page.getByLabel("Headers, or the whole request").fill(`${got.head}\n${got.body}`);
  await hasValue(page.getByLabel("Body", { exact: true }), got.body, "a whole request is taken apart");
  await page.getByLabel("Shared key").fill(sharedKey);
  await page.getByRole("button", { name: "Use this host’s certificates" }).click();
  await page.getByLabel("Address of the endpoint").fill(`${endpoint.url}/erp`);
  await page.getByLabel("Sender’s e-mail").fill("dispatcher@tillgate.example");
  await page.getByLabel("Issuer").fill("https://identity.tillgate.example");
  await page.getByText("Every check passes.").waitFor();
  await page.screenshot({ path: `${OUTPUT}webhooks-signature.png`, fullPage: true });
  await page.getByRole("heading", { name: "Signature of Standard Webhooks" }).getByText("Passes").waitFor();
  await page.getByLabel("Shared key").fill(`${sharedKey}x`);
  await page.getByText("A receiver rejects this. What fails: signature of Standard Webhooks.").waitFor();
  await page.getByLabel("Shared key").fill(`whsec_${btoa(sharedKey)}`);
  await page.getByText("Every check passes.").waitFor();
  await page.getByLabel("Body", { exact: true }).fill(got.body.replace("orders", "order"));
  await page.getByText("A receiver rejects this. What fails: signature of Standard Webhooks.").waitFor();
}));

describe("webhooks", () => {
  test("what is wrong is said at its field, and what was typed is not discarded without asking", () => visit(on, "#/webhooks", async (page) => {
    await page.getByRole("button", { name: "New webhook" }).click();
    await dialog(page).getByLabel("All events").uncheck();
    await dialog(page).getByRole("radio", { name: "User name and password" }).check();
    await dialog(page).getByLabel("At most per second").fill("many");
    await press(page, "Review");
    for (const fault of ["The name must not be empty.", "The address must begin with https://.", "The user name must not be empty.", "The password must not be empty.", "The limit per second must be a whole number, 1 or more."]) {
      await dialog(page).getByText(fault).waitFor();
    }
    await dialog(page).getByText("The list of events must not be empty: choose at least one, or all events.").waitFor();
    await dialog(page).getByRole("radio", { name: "Bearer token" }).check();
    await dialog(page).getByLabel("At most per second").fill("");
    await dialog(page).getByLabel("Name", { exact: true }).fill("Faulty");
    await dialog(page).getByLabel("Address").fill("https://user@erp.example/hook");
    await dialog(page).getByLabel("All events").check();
    await save(page);
    await dialog(page).getByText(/^The address must not/).waitFor();
    assert.doesNotMatch(await dialog(page).innerText(), /\$\.|BASIC|callbackUrl/);
    await press(page, "Cancel");
    await page.getByText("Discard what you entered?").waitFor();
    await press(page, "Discard");
    expected(page, 400);
  }));

  test("a key that is generated is shown before the ping that it signs, and is the one that is saved", () => visit(on, "#/webhooks", async (page) => {
    endpoint.answer(204);
    const arrived = () => endpoint.got.filter(({ head }) => head.startsWith("POST /known "));
    const isSigned = ({ headers, body }, key) => {
      const expected = createHmac("sha256", key).update(JSON.parse(body).data).digest("hex");
      assert.equal(headers["x-service-signature"], `HS256=${expected}`);
    };
    await page.getByRole("button", { name: "New webhook" }).click();
    await dialog(page).getByLabel("Name", { exact: true }).fill("Known key");
    await dialog(page).getByLabel("Address").fill(`${endpoint.url}/known`);
    await dialog(page).getByLabel("All events").uncheck();
    await dialog(page).getByLabel("Another event type").fill("known.events.v1");
    await page.keyboard.press("Enter");
    await press(page, "Ping before saving");
    await dialog(page).getByText("Nothing was sent yet. Give this key to the receiver").waitFor();
    const key = await dialog(page).getByLabel("The key that the ping is signed with").inputValue();
    assert.match(key, /^[\w-]{43}$/);
    await hasValue(dialog(page).getByLabel("Secret for libraries of Standard Webhooks"), `whsec_${btoa(key)}`);
    assert.equal(arrived().length, 0, "nothing is sent before the key is known");
    await press(page, "Ping before saving");
    await dialog(page).getByText(/^It works: the endpoint answered 204\./).waitFor();
    isSigned(arrived()[0], key);
    await save(page);
    await dialog(page).getByRole("heading", { name: "The shared key of Known key" }).waitFor();
    await hasValue(dialog(page).getByLabel("Shared key"), key, "it is shown with the webhook that has it now");
    await press(page, "Done");
    await card(page, "Known key").waitFor();
    await publish("known.events.v1", {});
    isSigned(await until(() => arrived()[1], "the event arrives"), key);
  }));

  test("an edit keeps the secrets, and a key is replaced, removed and generated", async () => {
    const made = await webhook({ authentication: { type: "BASIC", username: "erp", password: "secret" } });
    await visit(on, "#/webhooks", async (page) => {
      const edit = async (work) => {
        await page.getByRole("button", { name: `Edit ${made.name}` }).click();
        await work();
        await save(page);
      };
      await edit(() => dialog(page).getByLabel("At most per second").fill("50"));
      await card(page, made.name).getByText("user name “erp” and password, signed with a shared key · at most 50 a second").waitFor();
      await publish(made.eventTypes[0], {});
      await delivered(made, "DELIVERED");
      const { headers } = last(made.eventTypes[0]);
      assert.equal(headers.authorization, `Basic ${btoa("erp:secret")}`);
      assert.match(headers["x-service-signature"], /^HS256=[0-9a-f]{64}$/);
      await edit(() => dialog(page).getByRole("radio", { name: "None" }).check());
      await card(page, made.name).getByText("not signed").waitFor();
      await edit(() => dialog(page).getByRole("radio", { name: "Generate", exact: true }).check());
      await dialog(page).getByRole("heading", { name: `The shared key of ${made.name}` }).waitFor();
      await press(page, "Done");
      await page.getByRole("button", { name: `New key for ${made.name}` }).click();
      await dialog(page).getByRole("radio", { name: "24 hours", checked: true }).waitFor();
      await dialog(page).getByRole("radio", { name: "Nothing" }).check();
      await dialog(page).getByText("Until the receiver knows it, it will reject them.").waitFor();
      await press(page, "Replace");
      await eventually(async () => assert.match(await dialog(page).getByLabel("Shared key").inputValue(), /^.{16,128}$/));
      await press(page, "Done");
    });
  });

  test("when another user has saved first, both versions are shown", async () => {
    const made = await webhook();
    await visit(on, "#/webhooks", async (page) => {
      await page.getByRole("button", { name: `Edit ${made.name}` }).click();
      await dialog(page).getByLabel("Name", { exact: true }).fill("Mine");
      const { id, hasSharedKey, createdAt, lastModified, ...body } = made;
      assert.equal((await on.host.api("PUT", `${WEBHOOKS}/${id}`, { ...body, name: "Theirs" })).status, 200);
      await dialog(page).getByText("test-1 1 has just saved this. What you entered is still here.").waitFor();
      await save(page);
      await dialog(page).getByText("test-1 1 changed this while you were editing").waitFor();
      const has = (side, changes) =>
        eventually(async () => assert.deepEqual(await dialog(page).locator(".side").filter({ hasText: side }).locator("ins, del").allTextContents(), changes));
      await has("Their changes", [`−removed: ${made.name}`, "+added: Theirs"]);
      await has("Changes if you save yours now", ["−removed: Theirs", "+added: Mine"]);
      await press(page, "Save mine instead");
      await card(page, "Mine").waitFor();
      expected(page, 412);
    });
  });

  test("every save is preceded by its difference, in which no secret is shown", async () => {
    const made = await webhook({ authentication: { type: "BASIC", username: "erp", password: "secret" }, maxPerSecond: 5 });
    await visit(on, "#/webhooks", async (page) => {
      const sent = [];
      page.on("request", (request) => request.method() === "PUT" && sent.push(request.url()));
      await page.getByRole("button", { name: `Edit ${made.name}` }).click();
      assert.equal(await dialog(page).getByRole("button", { name: "Save", exact: true }).count(), 0);
      await press(page, "Review");
      await dialog(page).getByText("You have not changed anything.").waitFor();
      await dialog(page).getByLabel("Password", { exact: true }).fill("another secret");
      await dialog(page).getByRole("radio", { name: "My own" }).check();
      await dialog(page).getByLabel("Shared key", { exact: true }).fill("a key of 16 and more");
      await dialog(page).getByLabel("All events").check();
      await dialog(page).getByLabel("At most per second").fill("");
      await dialog(page).getByLabel("Switched on").uncheck();
      await press(page, "Review");
      await dialog(page).getByText("What changes", { exact: true }).waitFor();
      const changes = await dialog(page).getByRole("list", { name: "Changes" }).getByRole("listitem").allInnerTexts();
      assert.deepEqual(changes.map((text) => text.split(/\s*\n\s*/).join(" ")), [
        `Events − removed: ${made.name.replace("Webhook", "Test")} (${made.eventTypes[0]}) + added: all events`,
        "Password − removed: the present one + added: a new one",
        "Shared key − removed: the present one + added: a new one",
        "At most per second − removed: 5",
        "Switched on − removed: yes + added: no",
      ]);
      await dialog(page).getByText("Until the receiver knows the new key, it will reject deliveries.").waitFor();
      assert.doesNotMatch(await dialog(page).innerText(), /another secret|a key of 16/);
      assert.deepEqual(sent, []);
      await press(page, "Back");
      await hasValue(dialog(page).getByLabel("Password", { exact: true }), "another secret");
      await press(page, "Cancel");
      await press(page, "Discard");
    });
  });

  test("a draft survives Escape, other views and the session’s end, without its secrets", async () => {
    const made = await webhook();
    const editor = await clientWith(on.host.operator, ["exe.editor", "exe.publisher"]);
    const page = await signedIn(on.context, editor, "#/webhooks");
    await page.getByRole("button", { name: `Edit ${made.name}` }).click();
    await dialog(page).getByLabel("Name", { exact: true }).fill("Half a name");
    await dialog(page).getByRole("radio", { name: "My own" }).check();
    await dialog(page).getByLabel("Shared key", { exact: true }).fill("a key of 16 and more");
    await page.keyboard.press("Escape");
    await notice(page, "What you entered is kept as a draft.");
    await card(page, made.name).getByText("Draft", { exact: true }).waitFor();
    await page.getByRole("link", { name: "Deliveries", exact: true }).click();
    await pressButton(page, "Send an event");
    await dialog(page).getByLabel("Event type").fill("half.an.event");
    await on.host.operator.api("PUT", `/v1/tenants/demo/clients/${editor.clientId}/revoke`);
    await page.getByText("Your session has expired. Sign in again. Your drafts are kept.").waitFor();
    assert.equal(await page.getByText(made.name).count(), 0);
    await signIn(page, on.host);
    await page.getByText("Your drafts are still here: a webhook, an event.").waitFor();
    await pressButton(page, "Send an event");
    await hasValue(dialog(page).getByLabel("Event type"), "half.an.event");
    await press(page, "Cancel");
    await press(page, "Discard");
    await page.getByRole("link", { name: "Webhooks", exact: true }).last().click();
    await page.getByRole("button", { name: `Edit ${made.name}` }).click();
    await dialog(page).getByText("This is your unsaved draft. Passwords and keys were not kept: enter them again.").waitFor();
    await hasValue(dialog(page).getByLabel("Name", { exact: true }), "Half a name");
    await hasValue(dialog(page).getByLabel("Shared key", { exact: true }), "");
    await press(page, "Start over");
    await dialog(page).getByText("This is your unsaved draft").waitFor({ state: "detached" });
    await hasValue(dialog(page).getByLabel("Name", { exact: true }), made.name);
    await press(page, "Cancel");
    await card(page, made.name).getByText("Draft", { exact: true }).waitFor({ state: "detached" });
    await page.close();
  });

  test("one that the service switched off says why, holds its deliveries, and sends them once it is switched on", async () => {
    const made = await webhook();
    endpoint.answer(410);
    await publish(made.eventTypes[0], {});
    await delivered(made, "FAILED");
    await publish(made.eventTypes[0], {});
    await delivered(made, "HELD");
    await visit(on, "#/webhooks", async (page) => {
      await card(page, made.name).getByText(/^Its endpoint answered 410 Gone, so it was switched off on /).waitFor();
      assert.equal(await page.getByRole("button", { name: `Ping ${made.name}` }).count(), 0);
      await page.getByRole("button", { name: `Edit ${made.name}` }).click();
      await dialog(page).getByText("Once it is switched on, the deliveries that were held are sent.").waitFor();
      endpoint.answer(204);
      await dialog(page).getByLabel("Switched on").check();
      await save(page);
      await card(page, made.name).getByText("Its endpoint answered 410 Gone").waitFor({ state: "detached" });
      await delivered(made, "DELIVERED");
    });
  });

  test("the last 24 hours are a chart, which is also a sentence", async () => {
    const made = await webhook();
    await publish(made.eventTypes[0], {});
    await delivered(made, "DELIVERED");
    await visit(on, "#/webhooks", async (page) => {
      await card(page, made.name).getByRole("img", { name: "The last 24 hours: 1 delivered, 0 failed attempts." }).waitFor({ timeout: 30_000 });
      await hasCount(card(page, made.name).locator("svg .delivered"), 1);
    });
  });

  test("one that keeps failing is paused, says since when and until when, and is resumed", async () => {
    const made = await webhook();
    endpoint.answer(500);
    for (let at = 0; at < 2; at += 1) await publish(made.eventTypes[0], { at });
    await visit(on, "#/webhooks", async (page) => {
      const text = /^(Paused since \d\d:\d\d:\d\d, because one attempt after another failed\. (Nothing is sent until \d\d:\d\d:\d\d|The next delivery is tried)|Being tried again with one delivery at a time, after it was paused at \d\d:\d\d:\d\d)\. Failing since /;
      await card(page, made.name).getByText(text).waitFor({ timeout: 30_000 });
      await card(page, made.name).getByText(/[12] deliver(y waits|ies wait)\.$/).waitFor();
      const chart = card(page, made.name).getByRole("img", { name: /^The last 24 hours: 0 delivered, \d failed attempts\. Most failed from \d\d:\d\d to now: / });
      await chart.waitFor();
      await hasCount(chart.locator(".failed"), 1);
      const [bar, caption] = [await chart.locator(".failed").boundingBox(), await card(page, made.name).locator("figcaption").boundingBox()];
      assert.ok(bar.y + bar.height <= caption.y + 0.1, "the chart does not cover “now”");
      await publish(made.eventTypes[0], { at: "later" });
      await card(page, made.name).getByRole("link", { name: `Deliveries of ${made.name}` }).click();
      await rows(page).first().getByText(/^Its webhook is paused( until \d\d:\d\d:\d\d)?, because one attempt after another failed\./).waitFor();
      // It still fails, so the button stays until it is pressed.
      await page.getByRole("link", { name: "Webhooks", exact: true }).last().click();
      await card(page, made.name).getByRole("button", { name: `Resume now: ${made.name}` }).waitFor();
      await still(page);
      await looksRight(page, "webhooks-paused");
      // Something waits, however long that took.
      await publish(made.eventTypes[0], { at: "last" });
      await tabTo(page, `Resume now: ${made.name}`);
      await page.keyboard.press("Enter");
      await notice(page, `${made.name} gets deliveries again. Those that waited are on their way.`);
      endpoint.answer(204);
      await delivered(made, "DELIVERED");
    });
  });

  test("those that fail come first, then by name, and one that works takes a dense row on a wide screen", async () => {
    const [works, quiet, fails] = [await webhook({ name: "Dense and well" }), await webhook({ name: "Dense and quiet" }), await webhook({ name: "Dense and gone" })];
    await publish(works.eventTypes[0], {});
    await delivered(works, "DELIVERED");
    endpoint.answer(410);
    await publish(fails.eventTypes[0], {});
    await delivered(fails, "FAILED");
    endpoint.answer(204);
    await visit(on, "#/webhooks", async (page) => {
      await page.setViewportSize({ width: 1440, height: 900 });
      await page.getByLabel("Filter webhooks").fill("Dense and");
      await card(page, works.name).getByText(/^Works\. 1 delivered, 0 failed attempts in 24 hours\.$/).waitFor({ timeout: 30_000 });
      await eventually(async () => assert.deepEqual(await page.locator(".webhook h2").allTextContents(), [fails.name, quiet.name, works.name]));
      const { height } = await card(page, works.name).boundingBox();
      assert.ok(height <= 72, `it takes ${height} px`);
    });
  });

  test("one is found, and deleted after asking", async () => {
    const made = await webhook();
    await visit(on, "#/webhooks", async (page) => {
      await page.getByLabel("Filter webhooks").fill(made.eventTypes[0]);
      await page.getByText(/^1 of \d+ webhooks$/).waitFor();
      await page.getByRole("button", { name: `Delete ${made.name}` }).click();
      await press(page, "Delete");
      await notice(page, `${made.name} was deleted.`);
      assert.equal((await on.host.api("GET", `${WEBHOOKS}/${made.id}`)).status, 404);
    });
  });
});

describe("receivers that ask for events", () => {
  const section = (page) => page.getByRole("region", { name: "Receivers that ask for events" });
  /** Leaves the list and comes back to it, which reads it at once. */
  const look = async (page) => {
    await page.evaluate(() => (location.hash = "#/webhooks/deliveries"));
    await page.evaluate(() => (location.hash = "#/webhooks"));
  };
  const ask = async (host, query) => {
    const answer = await host.api("GET", `/api/v1/events?${query}`);
    assert.equal(answer.status, 200);
    return answer.json();
  };

  test("the page says how to start one, how far behind it is, and removes it after asking", async () => {
    const client = await clientWith(on.host.operator, ["exe.editor", "exe.publisher"], "asking");
    await visit({ ...on, host: client }, "#/webhooks", async (page) => {
      await section(page).getByText("A receiver that cannot be called asks for events instead.").waitFor();
      const command = await section(page).locator("code").textContent();
      const { stdout } = await promisify(execFile)("bash", ["-c", command.replace("wait=20s", "wait=0s")], { env: { ...process.env, TOKEN: await client.token() }, timeout: DEADLINE_MS });
      assert.deepEqual(JSON.parse(stdout).items, []);
      await section(page).getByRole("heading", { name: "erp" }).waitFor({ timeout: 30_000 });
      await section(page).getByText("It has everything.").waitFor();
      assert.equal(await section(page).locator("code").isVisible(), false);

      assert.equal((await client.api("POST", "/api/v1/events", { type: "orders.events.v1", data: {} })).status, 202);
      await look(page);
      await section(page).getByText(/^The oldest event that it has not confirmed came \d+ seconds? ago\.$/).waitFor();
      const { next } = await ask(client, "consumer=erp");
      await ask(client, `consumer=erp&after=${next}`);
      await look(page);
      await section(page).getByText("It has everything.").waitFor();

      await section(page).getByRole("button", { name: "Remove erp" }).click();
      await dialog(page).getByText("If it asks again, it starts with later events.").waitFor();
      await press(page, "Cancel");
      await section(page).getByRole("button", { name: "Remove erp" }).click();
      await press(page, "Remove");
      await notice(page, "erp was removed.");
      await section(page).getByText("A receiver that cannot be called asks for events instead.").waitFor();
      assert.deepEqual(await (await client.api("GET", "/api/v1/event-consumers")).json(), []);
    });
  });

  test("one that has missed events is told apart, a viewer has no button, and who may not see events no list", async () => {
    const missed = [{ name: "slow", createdAt: "2026-01-01T00:00:00.000Z", lastSeenAt: "2026-01-02T00:00:00.000Z", waitingSince: "2026-03-01T00:00:00.000Z", reset: true }];
    const viewer = await clientWith(on.host.operator, ["exe.viewer"], "asking");
    const page = await signedIn(on.context, viewer);
    await page.route("**/api/v1/event-consumers", (route) => route.fulfill({ json: missed }));
    await look(page);
    await section(page).getByText("It has missed events: they were removed before it asked for them.").waitFor();
    assert.equal(await section(page).getByRole("button").count(), 0);
    await page.close();

    const context = await browser();
    await context.route("**/api/v1/caller", (route) => route.fulfill({ json: { tenantId: "asking", permissions: ["exe.webhook.read"] } }));
    const other = await signedIn(context, viewer, "#/webhooks");
    await other.getByText("No webhooks yet").waitFor();
    assert.equal(await section(other).count(), 0);
    await context.close();
  });
});

describe("deliveries", () => {
  test("a filter is in the address, new ones appear without moving the focus, and older ones are read when asked for", async () => {
    const made = await webhook();
    for (let at = 0; at < 60; at += 1) await publish(made.eventTypes[0], { at });
    await until(async () => (await deliveries({ webhookId: made.id, status: "DELIVERED" })).length === 60, "all are delivered");
    await visit(on, "#/webhooks/deliveries", async (page) => {
      await page.getByLabel("Webhook", { exact: true }).selectOption(made.name);
      await page.waitForURL(`**/#/webhooks/deliveries/webhookId%3D${made.id}`);
      await page.getByText("50 deliveries shown").waitFor();
      await page.getByRole("button", { name: "Show older ones" }).click();
      await page.getByText("60 deliveries shown").waitFor();
      const link = rows(page).nth(55).getByRole("link");
      await link.focus();
      const href = await link.getAttribute("href");
      await publish(made.eventTypes[0], { at: 60 });
      await page.getByText("61 deliveries shown").waitFor();
      await eventually(async () => assert.equal(await page.evaluate(() => document.activeElement.getAttribute("href")), href, "the focus stays"));
      await rows(page).first().and(page.locator(".changed")).waitFor();
      assert.equal(await page.locator(".deliveries tr.changed").count(), 1, "nothing else flashes");

      await page.getByLabel("Status").selectOption("Failed");
      await page.getByText("No delivery matches the filter.").waitFor();
      await page.reload();
      await page.getByText("No delivery matches the filter.").waitFor();
      await hasValue(page.getByLabel("Webhook", { exact: true }), made.id);
      await page.getByRole("button", { name: "Clear" }).click();
      await page.waitForURL("**/#/webhooks/deliveries");
      await page.getByRole("button", { name: "Clear" }).waitFor({ state: "hidden" });
      await page.getByLabel("Time", { exact: true }).selectOption("The last hour");
      await page.getByText("50 deliveries shown").waitFor();
    });
  });

  test("what an address says that cannot be is left out, and an event type that cannot be one is explained", () => visit(on, "#/webhooks/deliveries/status%3DLOST/webhookId%3Dx/since%3Dnever/period%3D1y/status", async (page) => {
    await rows(page).first().waitFor();
    assert.equal(await page.getByRole("button", { name: "Clear" }).count(), 0);
    await page.getByLabel("Event type").fill("Orders");
    await page.keyboard.press("Enter");
    await page.getByText("The event type must have names in lower case with dots between them and a version at the end").waitFor();
    await page.getByRole("button", { name: "Clear" }).click();
    await rows(page).first().waitFor();
    expected(page, 400);
  }));

  test("the service’s own events are not offered to be sent, and are refused like the topic of rate changes", () => visit(on, "#/webhooks/deliveries", async (page) => {
    const offered = () => dialog(page).locator("datalist option").evaluateAll((all) => all.map(({ value }) => value));
    await pressButton(page, "Send an event");
    await dialog(page).getByLabel("Event type").waitFor();
    assert.deepEqual((await offered()).filter((type) => /^(entity-conditions|projects|webhooks|deliveries|exe)\.events\.v1$/.test(type)), []);
    await dialog(page).getByLabel("Event type").fill("cer.public.event.rates-changed.v1");
    await press(page, "Send");
    await dialog(page).getByText("This is the topic of rate changes, not an event: subscribe to the topic instead.").waitFor();
    await dialog(page).getByLabel("Event type").fill("projects.events.v1");
    await press(page, "Send");
    await dialog(page).getByText("Only the service itself sends events of this type.").waitFor();
    expected(page, 400, 403);
    await press(page, "Cancel");
    await press(page, "Discard");
  }));

  test("one is found by the id of its event, with its last answer, how long that took, and when the next attempt is", async () => {
    const made = await webhook();
    await publish(made.eventTypes[0], { at: 1 });
    await delivered(made, "DELIVERED");
    endpoint.answer(503);
    await publish(made.eventTypes[0], { at: 2 });
    const { eventId } = await until(async () => (await deliveries({ webhookId: made.id })).find(({ attemptCount, status }) => attemptCount > 0 && status !== "DELIVERED"), "an attempt has failed");
    await visit(on, `#/webhooks/deliveries/webhookId%3D${made.id}`, async (page) => {
      await page.getByText("2 deliveries shown").waitFor();
      await rows(page).last().getByText(/^204, \d[\d.]* m?s$/).waitFor();
      await page.getByLabel("Event id").fill(eventId);
      await page.keyboard.press("Enter");
      await page.waitForURL(`**/webhookId%3D${made.id}/eventId%3D${eventId}`);
      await page.getByText("1 delivery shown").waitFor();
      await rows(page).getByText(/^503, \d[\d.]* m?s$/).waitFor();
      await rows(page).getByText("4 attempts", { exact: true }).waitFor();
      await rows(page).getByRole("link").click();
      await page.getByRole("link", { name: eventId }).click();
      await page.waitForURL(`**/#/webhooks/deliveries/eventId%3D${eventId}`);
      await page.getByText("1 delivery shown").waitFor();
      await page.getByLabel("Event id").fill("no-such-event");
      await page.keyboard.press("Enter");
      await page.getByText("No delivery matches the filter.").waitFor();
    });
    endpoint.answer(204);
  });

  test("those of a webhook that is switched off say so, and until when they are held", async () => {
    const made = await webhook({ enabled: false });
    await publish(made.eventTypes[0], {});
    await delivered(made, "HELD");
    await visit(on, `#/webhooks/deliveries/webhookId%3D${made.id}`, async (page) => {
      await rows(page).getByText(/^Its webhook is switched off: it is held until \d{1,2} \w+ \d{4}, \d\d:\d\d\.$/).waitFor();
      await hasCount(page.getByRole("button", { name: "Send these again" }), 0, "none of them can be sent again");
      await page.getByRole("link", { name: "Webhooks", exact: true }).last().click();
      await card(page, made.name).getByText("Switched off. Deliveries are held for seven days. 1 delivery waits.").waitFor({ timeout: 30_000 });
    });
  });

  test("those that failed are counted and sent again together, with their progress", async () => {
    const made = await webhook();
    await publish(made.eventTypes[0], {});
    await delivered(made, "DELIVERED");
    endpoint.answer(500);
    await publish(made.eventTypes[0], {});
    await delivered(made, "FAILED");
    await visit(on, `#/webhooks/deliveries/webhookId%3D${made.id}`, async (page) => {
      await page.getByText("2 deliveries shown").waitFor();
      endpoint.answer(204);
      await page.getByRole("button", { name: "Send these again" }).click();
      await dialog(page).getByText(`Failed deliveries to ${made.name}: 1 delivery is sent again. Receivers that have it already get it twice`).waitFor();
      await dialog(page).getByRole("radio", { name: "All of them" }).check();
      await dialog(page).getByText(`All deliveries to ${made.name}: 2 deliveries are sent again.`).waitFor();
      await dialog(page).getByRole("radio", { name: "Only those that failed" }).check();
      await dialog(page).getByText("1 delivery is sent again.").waitFor();
      await press(page, "Send again");
      await page.getByText(/^Done: 1 delivery sent again, of [\d,]+ looked at\.$/).first().waitFor();
      await rows(page).filter({ hasText: "Delivered" }).nth(1).waitFor();
    });
  });

  test("curl sends the same request again", async () => {
    const made = await webhook({ callbackUrl: `${endpoint.url}/hook?ids=[1-2]&of={a,b}` });
    await publish(made.eventTypes[0], { text: "it's $HOME" });
    const { id } = await delivered(made, "DELIVERED");
    const sent = last(made.eventTypes[0]);
    await visit(on, `#/webhooks/delivery/${id}`, async (page) => {
      await page.getByRole("button", { name: "Copy as curl" }).click();
      await notice(page, "The command was copied.");
      const command = await page.evaluate(() => navigator.clipboard.readText());
      assert.match(command, /authorization: Bearer \$TOKEN/i);
      assert.doesNotMatch(command, new RegExp(SHARED_KEY));
      await promisify(execFile)("bash", ["-c", command], { env: { ...process.env, TOKEN: "a-token" }, timeout: DEADLINE_MS });
      const again = last(made.eventTypes[0]);
      assert.notEqual(again, sent);
      assert.equal(again.head.split("\n")[0], sent.head.split("\n")[0]);
      assert.equal(again.body, sent.body);
      assert.equal(again.headers.authorization, "Bearer a-token");
      assert.equal(again.headers["x-service-signature"], sent.headers["x-service-signature"]);
      await page.getByRole("link", { name: "Check its signature" }).click();
      await page.getByText("The token was left out here.").waitFor();
      await hasValue(page.getByLabel("Body", { exact: true }), sent.body);
      await page.getByLabel("Shared key").fill(SHARED_KEY);
      await page.getByText("It matches.", { exact: true }).waitFor();
    });
  });

  test("one that no endpoint has answered says why it has no signatures", async () => {
    const [deaf, answering] = [await webhook({ callbackUrl: "http://127.0.0.1:9/hook" }), await webhook()];
    for (const [hook, status, count] of [[deaf, "FAILED", 1], [answering, "DELIVERED", 0]]) {
      await publish(hook.eventTypes[0], { order: 7 });
      const { id } = await delivered(hook, status);
      await visit(on, `#/webhooks/delivery/${id}`, async (page) => {
        const sent = page.getByRole("region", { name: "What is sent" });
        await sent.getByText("The headers").waitFor();
        await hasCount(sent.getByText("Its signatures appear once the endpoint has answered"), count);
      });
    }
  });

  test("one of an event type with the name of what every object has is shown like any other", async () => {
    const hook = await webhook({ eventTypes: ["constructor.v1"] });
    await publish("constructor.v1", {});
    const { id } = await delivered(hook, "DELIVERED");
    await visit(on, `#/webhooks/delivery/${id}`, (page) => page.getByRole("heading", { name: "Constructor", exact: true }).waitFor());
    await visit(on, "#/webhooks", async (page) => {
      await card(page, hook.name).getByRole("button", { name: /^Edit/ }).click();
      const label = dialog(page).locator("label").filter({ hasText: "constructor.v1" });
      assert.equal((await label.textContent()).trim(), "Constructor constructor.v1");
    });
  });

  test("one whose request is not kept any more says so", async () => {
    const hook = await webhook();
    await publish(hook.eventTypes[0], { order: 7 });
    const { id } = await delivered(hook, "DELIVERED");
    const { request, ...rest } = await (await on.host.api("GET", `/api/v1/deliveries/${id}`)).json();
    assert.ok(request);
    const page = await signedIn(on.context, on.host);
    await page.route(`**/api/v1/deliveries/${id}`, (route) => route.fulfill({ json: rest }));
    await page.evaluate((hash) => (location.hash = hash), `#/webhooks/delivery/${id}`);
    await page.getByRole("region", { name: "What is sent" }).getByText("It is no longer stored.").waitFor();
    assert.deepEqual(page.faults, []);
    await page.close();
  });

  test("one that does not exist is named, and the page goes on when the host comes back", () => visit(on, "#/webhooks/delivery/01900000-0000-7000-8000-000000000000", async (page) => {
    await page.getByText("There is no such delivery").waitFor();
    await page.route("**/api/v1/**", (route) => route.abort());
    await page.getByText("Not connected. Showing the last known webhooks").waitFor();
    await page.unroute("**/api/v1/**");
    await page.getByRole("button", { name: "Reconnect" }).click();
    await page.getByText("Live · demo").waitFor();
    expected(page, 404, UNREACHABLE);
  }));
});

describe("permissions", () => {
  test("a viewer sees webhooks and deliveries without dead buttons", async () => {
    const made = await webhook();
    await publish(made.eventTypes[0], {});
    const { id } = await delivered(made, "DELIVERED");
    const page = await signedIn(on.context, await clientWith(on.host.operator, ["exe.viewer"]), "#/webhooks");
    await card(page, made.name).getByRole("link", { name: `Deliveries of ${made.name}` }).waitFor();
    assert.equal(await page.getByRole("navigation", { name: "Views" }).getByRole("link").count(), 1);
    for (const name of [/^New/, /^Edit/, /^Ping/, /^Delete/]) assert.equal(await page.locator("main").getByRole("button", { name }).count(), 0);
    await page.goto(`${on.host.operator.url}/#/webhooks/delivery/${id}`);
    await page.getByRole("button", { name: "Copy as curl" }).waitFor();
    assert.equal(await page.getByRole("button", { name: "Send again" }).count(), 0);
    await page.getByRole("link", { name: "Deliveries", exact: true }).click();
    await rows(page).first().waitFor();
    for (const name of ["Send an event", "Send these again"]) assert.equal(await page.getByRole("button", { name }).count(), 0);
    assert.deepEqual(page.faults, []);
    await page.close();
  });

  test("a permission that is withdrawn is named, and its buttons go", async () => {
    const made = await webhook();
    const editor = await clientWith(on.host.operator, ["exe.editor"]);
    const page = await signedIn(on.context, editor, "#/webhooks");
    await page.getByRole("button", { name: `Edit ${made.name}` }).click();
    await dialog(page).getByLabel("Name", { exact: true }).fill("Another name");
    await on.host.operator.api("PUT", `/v1/tenants/demo/clients/${editor.clientId}/roles`, { roles: [{ roleId: "exe.viewer" }] });
    await save(page);
    await dialog(page).getByText("It needs the permission exe.webhook.write.").waitFor();
    await press(page, "Cancel");
    await press(page, "Discard");
    await page.getByRole("button", { name: `Edit ${made.name}` }).waitFor({ state: "detached" });
    await page.close();
  });

  test("a client that may not see webhooks has no link to them, and is told which role it needs", async () => {
    const publisher = await clientWith(on.host.operator, ["exe.publisher"]);
    const page = await open(on.context, on.host.operator.url);
    await signIn(page, publisher);
    await page.getByText("To see webhooks: exe.viewer").waitFor();
    await page.close();
  });
});

describe("accessibility", () => {
  let made;
  let failed;
  before(async () => {
    made = await webhook({ name: "Long ".repeat(40).trim(), callbackUrl: `${endpoint.url}/${"long-".repeat(60)}` });
    const off = await webhook({ enabled: false });
    await publish(off.eventTypes[0], {});
    await delivered(off, "HELD");
    endpoint.answer(500, "x".repeat(900));
    await publish(made.eventTypes[0], { text: "y".repeat(400) });
    failed = await delivered(made, "FAILED");
    endpoint.answer(204);
  });

  const states = [
    ["list", () => "#/webhooks", (page) => card(page, made.name).locator("svg").first().waitFor()],
    ["found-none", () => "#/webhooks", async (page) => {
      await page.getByLabel("Filter webhooks").fill("nothing like it");
      await page.getByText(/^0 of \d+ webhooks$/).waitFor();
    }],
    ["edit", () => "#/webhooks", async (page) => {
      await page.getByRole("button", { name: `Edit ${made.name}` }).click();
      await press(page, "Ping before saving");
      await dialog(page).getByText(/^It works/).waitFor();
    }],
    ["ping-key", () => "#/webhooks", async (page) => {
      await page.getByRole("button", { name: `Edit ${made.name}` }).click();
      await dialog(page).getByRole("radio", { name: "Generate a new one" }).check();
      await press(page, "Ping before saving");
      await dialog(page).getByText("Nothing was sent yet. Give this key to the receiver").waitFor();
    }],
    ["review", () => "#/webhooks", async (page) => {
      await page.getByRole("button", { name: `Edit ${made.name}` }).click();
      await dialog(page).getByRole("radio", { name: "Generate a new one" }).check();
      await dialog(page).getByLabel("All events").check();
      await dialog(page).getByLabel("At most per second").fill("5");
      await press(page, "Review");
      await dialog(page).getByText("What changes", { exact: true }).waitFor();
    }],
    ["faults", () => "#/webhooks", async (page) => {
      await page.getByRole("button", { name: "New webhook" }).click();
      await dialog(page).getByLabel("All events").uncheck();
      await dialog(page).getByRole("radio", { name: "User name and password" }).check();
      await press(page, "Review");
      await dialog(page).getByText("The name must not be empty.").waitFor();
    }],
    ["key", () => "#/webhooks", async (page) => {
      await page.getByRole("button", { name: `New key for ${made.name}` }).click();
      await press(page, "Replace");
      await dialog(page).getByLabel("Shared key").waitFor();
    }],
    ["delete", () => "#/webhooks", async (page) => {
      await page.getByRole("button", { name: `Delete ${made.name}` }).click();
      await dialog(page).waitFor();
    }],
    ["deliveries", () => "#/webhooks/deliveries", (page) => rows(page).first().waitFor()],
    ["deliveries-paused", () => "#/webhooks/deliveries/status%3DHELD", (page) => rows(page).getByText("Its webhook is switched off").first().waitFor()],
    ["deliveries-none", () => "#/webhooks/deliveries/eventType%3Dnever.v1", (page) => page.getByText("No delivery matches the filter.").waitFor()],
    ["resend", () => `#/webhooks/deliveries/webhookId%3D${made.id}/since%3D2026-01-01T00%3A00%3A00.000Z`, async (page) => {
      await page.getByRole("button", { name: "Send these again" }).click();
      await dialog(page).getByText("Which ones").waitFor();
    }],
    ["publish", () => "#/webhooks/deliveries", async (page) => {
      await pressButton(page, "Send an event");
      await dialog(page).getByLabel("Event type").waitFor();
    }],
    ["delivery", () => `#/webhooks/delivery/${failed.id}`, async (page) => {
      await page.getByText("What it answered").first().click();
      await page.getByText("The headers").click();
    }],
    ["delivery-unknown", () => "#/webhooks/delivery/01900000-0000-7000-8000-000000000000", (page) => page.getByText("There is no such delivery").waitFor()],
    ["check", () => `#/webhooks/signature/${failed.id}`, async (page) => {
      await page.getByLabel("Shared key").fill("another key of 16");
      await page.getByText("A receiver rejects this.").waitFor();
    }],
    ["check-empty", () => "#/webhooks/signature", (page) => page.getByText("Paste a request to begin.").waitFor()],
    ["viewer", () => "#/webhooks", (page) => card(page, made.name).waitFor(), () => clientWith(on.host.operator, ["exe.viewer"])],
    ["consumers", () => "#/webhooks", async (page) => {
      const answer = await on.host.api("GET", `/api/v1/events?consumer=${"long-".repeat(12)}`);
      assert.equal(answer.status, 200);
      await page.getByRole("heading", { name: "long-long-" }).waitFor({ timeout: 30_000 });
    }],
    ["none", () => "#/webhooks", (page) => page.getByText("No webhooks yet").waitFor(), () => clientWith(on.host.operator, ["exe.editor"], "newcomer")],
  ];
  for (const [name, hash, prepare, as] of states) {
    test(`${name} looks right, and axe finds nothing`, async () => visit({ ...on, host: as ? await as() : on.host }, hash(), async (page) => {
      await still(page);
      await prepare(page);
      await looksRight(page, `webhooks-${name}`);
      expected(page, 404);
    }));
  }

  test("a webhook is created with the keyboard alone, and the focus goes back", () => visit(on, "#/webhooks", async (page) => {
    await page.getByRole("button", { name: "New webhook" }).waitFor();
    await tabTo(page, "New webhook");
    await page.keyboard.press("Enter");
    await dialog(page).waitFor();
    await tabTo(page, "Name");
    await page.keyboard.type("Keyboard");
    await page.keyboard.press("Tab");
    await page.keyboard.type(`${endpoint.url}/hook`);
    await page.keyboard.press("Enter");
    await dialog(page).getByText("A new webhook: Keyboard").waitFor();
    await tabTo(page, "Save");
    await page.keyboard.press("Enter");
    await dialog(page).getByRole("heading", { name: "The shared key of Keyboard" }).waitFor();
    await hasFocus(page, "Copy");
    await tabTo(page, "Done");
    await page.keyboard.press("Enter");
    await card(page, "Keyboard").waitFor();
    await dialog(page).waitFor({ state: "detached" });
    await hasFocus(page, "New webhook", "the focus is back where it was");
    await page.keyboard.press("Shift+Tab");
    await hasFocus(page, "Filter webhooks");
  }));
});
