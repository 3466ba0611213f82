// Replacing the shared key of a webhook in the page: how long the old key keeps working, and what is shown of both.
//
//     cargo build && node --test tests/page/key-rotation.test.mjs     TESTS_LONG=1 keeps screenshots in tests/output/

import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { after, before, describe, test } from "node:test";

import { looksRight, still } from "../support/looks.mjs";
import { dialog, hasFocus, onHost, pressButton, tabTo, visit } from "../support/page.mjs";
import { clientWith, emptyHost } from "../support/program.mjs";
import { receiver } from "../support/receiver.mjs";
import { eventually, until } from "../support/wait.mjs";

const SETTINGS = { TILLGATE_WEBHOOKS__ALLOW_HTTP: "true", TILLGATE_WEBHOOKS__ALLOW_PRIVATE: '["127.0.0.0/8"]' };
const OLD_KEY = "0123456789abcdef-shared";
const OLD_KEY_TEXT = /^Its shared key was replaced\. The old key keeps working until \d{1,2} \w+ \d{4}, \d\d:\d\d\.$/;

async function integrator() {
  const operator = await emptyHost(SETTINGS);
  return { ...(await clientWith(operator, ["exe.editor", "exe.publisher"])), end: operator.end };
}

const on = onHost(integrator, { permissions: ["clipboard-read", "clipboard-write"] });
let endpoint;

before(async () => (endpoint = await receiver()));
after(() => endpoint?.end());

let names = 0;

/** Creates a webhook with its own name and event type. */
async function webhook(changes) {
  names += 1;
  const settings = { name: `Webhook ${names}`, callbackUrl: `${endpoint.url}/hook`, eventTypes: [`test-${names}.events.v1`], authentication: { type: "BEARER" }, sharedKey: OLD_KEY };
  const answer = await on.host.api("POST", "/api/v1/webhooks", { ...settings, ...changes });
  assert.equal(answer.status, 201, await answer.clone().text());
  return answer.json();
}

const read = async ({ id }) => (await on.host.api("GET", `/api/v1/webhooks/${id}`)).json();

/** The delivery of an event that is published now. */
async function delivered({ eventTypes: [type] }) {
  const count = endpoint.got.length;
  assert.equal((await on.host.api("POST", "/api/v1/events", { type, data: {} })).status, 202);
  return until(() => endpoint.got.slice(count).find(({ body }) => JSON.parse(body).type === type), `an event of ${type} arrives`);
}

const signature = (key, { headers, body }) => `v1,${createHmac("sha256", key).update(`${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${body}`).digest("base64")}`;

const press = (page, name) => pressButton(dialog(page).last(), name);
const card = (page, { name }) => page.locator(".webhook").filter({ has: page.getByRole("heading", { name, exact: true }) });
const ask = (page, { name }) => page.getByRole("button", { name: `New key for ${name}` }).click();

/** The shown key, with its secret. */
async function shownKey(page) {
  const [key, secret] = ["Shared key", "Secret for libraries of Standard Webhooks"].map((name) => dialog(page).getByLabel(name));
  await eventually(async () => assert.match(await key.inputValue(), /^.{16,128}$/));
  const value = await key.inputValue();
  assert.equal(await secret.inputValue(), `whsec_${btoa(value)}`);
  return value;
}

test("the old key keeps working for as long as is chosen, and its end is shown", async () => {
  const made = await webhook();
  await visit(on, "#/webhooks", async (page) => {
    await ask(page, made);
    await dialog(page).getByText("Give the receiver the new key within that time.").waitFor();
    const words = await dialog(page).getByRole("group", { name: "Old key keeps working for" }).locator("label").allTextContents();
    assert.deepEqual(words, ["Nothing", "1 hour", "24 hours", "7 days"]);
    assert.ok(await dialog(page).getByRole("radio", { name: "24 hours" }).isChecked(), "the old key goes on working unless that is changed");
    await press(page, "Replace");
    const key = await shownKey(page);
    await dialog(page).getByText(/^The old key keeps working until /).waitFor();
    await press(page, "Copy the secret");
    await page.locator("#notices").getByText("The secret was copied.").waitFor();
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), `whsec_${btoa(key)}`);
    await press(page, "Done");
    await card(page, made).getByText(OLD_KEY_TEXT).waitFor();
    const ends = Date.parse((await read(made)).previousSharedKeyEndsAt) - Date.parse((await read(made)).lastModified);
    assert.equal(ends, 24 * 3_600_000);
    const delivery = await delivered(made);
    assert.equal(delivery.headers["webhook-signature"], `${signature(key, delivery)} ${signature(OLD_KEY, delivery)}`);

    // After another replacement the older of two old keys ends.
    await ask(page, made);
    await dialog(page).getByText("An earlier key still works. It ends at once.").waitFor();
    await dialog(page).getByRole("radio", { name: "Nothing" }).check();
    await dialog(page).getByText("Until the receiver knows it, it will reject them.").waitFor();
    await press(page, "Replace");
    const last = await shownKey(page);
    assert.equal(await dialog(page).getByText(/^The old key keeps working until /).count(), 0);
    await press(page, "Done");
    await card(page, made).getByText(OLD_KEY_TEXT).waitFor({ state: "detached" });
    const next = await delivered(made);
    assert.equal(next.headers["webhook-signature"], signature(last, next));
  });
});

test("nothing is replaced unless it is confirmed, and a webhook without a key is not asked about an old one", async () => {
  const [kept, unsigned] = [await webhook(), await webhook({ sharedKey: undefined })];
  await visit(on, "#/webhooks", async (page) => {
    await ask(page, kept);
    await dialog(page).getByRole("radio", { name: "7 days" }).check();
    await press(page, "Cancel");
    await dialog(page).waitFor({ state: "detached" });
    await ask(page, unsigned);
    assert.equal(await dialog(page).getByRole("radio").count(), 0);
    await press(page, "Generate");
    await shownKey(page);
    await press(page, "Done");
  });
  assert.deepEqual(await read(kept), kept);
  assert.equal((await read(unsigned)).previousSharedKeyEndsAt, undefined);
});

test("the review of another key says that the one before ends as well", async () => {
  const made = await webhook();
  assert.equal((await on.host.api("POST", `/api/v1/webhooks/${made.id}/shared-key?overlap=7d`)).status, 200);
  await visit(on, "#/webhooks", async (page) => {
    await page.getByRole("button", { name: `Edit ${made.name}` }).click();
    await dialog(page).getByRole("radio", { name: "Generate a new one" }).check();
    await press(page, "Review");
    await dialog(page).getByText("The key that was replaced before stops working at once as well.").waitFor();
    await press(page, "Save");
    await shownKey(page);
    await press(page, "Done");
    await card(page, made).getByText(OLD_KEY_TEXT).waitFor({ state: "detached" });
  });
});

test("a key is replaced with the keyboard alone", async () => {
  const made = await webhook();
  await visit(on, "#/webhooks", async (page) => {
    await card(page, made).waitFor();
    await tabTo(page, `New key for ${made.name}`);
    await page.keyboard.press("Enter");
    await hasFocus(page, "Cancel");
    await page.keyboard.press("Shift+Tab");
    await hasFocus(page, "24 hours");
    await page.keyboard.press("ArrowRight");
    await hasFocus(page, "7 days");
    await tabTo(page, "Replace");
    await page.keyboard.press("Enter");
    await shownKey(page);
    await tabTo(page, "Done");
    await page.keyboard.press("Enter");
    await card(page, made).getByText(OLD_KEY_TEXT).waitFor();
  });
});

describe("in each theme and at each width", () => {
  let made;

  before(async () => {
    made = await webhook();
    assert.equal((await on.host.api("POST", `/api/v1/webhooks/${made.id}/shared-key?overlap=7d`)).status, 200);
  });

  for (const [name, prepare] of [
    ["overlap", (page) => card(page, made).getByText(OLD_KEY_TEXT).waitFor()],
    ["question", async (page) => {
      await ask(page, made);
      await dialog(page).getByText("Give the receiver the new key within that time.").waitFor();
    }],
    ["key-and-secret", async (page) => {
      await ask(page, made);
      await dialog(page).getByRole("radio", { name: "1 hour" }).check();
      await press(page, "Replace");
      await shownKey(page);
    }],
  ]) {
    test(`${name} looks right, and axe finds nothing`, () => visit(on, "#/webhooks", async (page) => {
      await still(page);
      await prepare(page);
      await looksRight(page, `webhooks-${name}`);
    }));
  }
});
