// Platform: the actions of an operator, and the view of a tenant's administrator, by labels and words alone.
//
//     cargo build && node --test tests/page/platform.test.mjs     TESTS_LONG=1 keeps screenshots in tests/output/

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { signedIn } from "../support/browser.mjs";
import { looksRight, still } from "../support/looks.mjs";
import { alterAnswers, dialog, expected, hasCount, loseAnswers, onHost, pick, pressButton, tabTo, visit } from "../support/page.mjs";
import { AUDIENCE, clientWith, emptyHost } from "../support/program.mjs";
import { eventually } from "../support/wait.mjs";
import { Pages } from "../../www/platform/pages.js";

const LOOKED = "The host’s answer was lost, so the page checked.";
const TILL = { softwareId: "till", softwareVersion: "2.1" };
const HOSTILE = "<img src=x onerror=alert(1)>";
const job = (at) => ({ id: `id-${at}`, queue: "webhook-fan-out", job: `${at}`, tenantId: "acme", partition: "tenant:acme", attempts: 20, failedAt: "2026-11-20T17:40:00.000Z", error: HOSTILE });

let host;
let operator;

const on = onHost(platform, { permissions: ["clipboard-read", "clipboard-write"] });

/** A host with two tenants, a template of one of them, and an operator who may only run the platform. */
async function platform() {
  host = await emptyHost({ TILLGATE_TOKENS__REGISTRATIONS_PER_MINUTE: "1000" });
  const { permissions } = await ok("GET", "/v1/roles/platform.operator");
  await ok("PUT", "/v1/roles/desk", { permissions: permissions.filter((each) => each.startsWith("iam.")) });
  operator = await clientWith(host, ["desk"], "platform");
  await ok("PUT", "/v1/tenants/acme", { name: "Acme Markets" });
  await ok("PUT", "/v1/tenants/other", { name: "Other Shops" });
  await ok("PUT", "/v1/tenants/a-shelf", { name: "Shelf 10" });
  await ok("PUT", "/v1/tenants/b-shelf", { name: "Shelf 2" });
  const claimsSchema = { type: "object", required: ["store_number", "device_name"] };
  await ok("POST", "/v1/tenants/acme/templates", { ...TILL, name: "Tills of our shops", claimsSchema, roles: [{ roleId: "ecs.evaluator" }] });
  return host;
}

/** Runs a test on a page signed in as that operator. */
const asOperator = (hash, work) => visit({ ...on, host: operator }, hash, work);

/** Sends a request that must succeed; returns the answer. */
async function ok(method, path, body) {
  const answer = await host.api(method, path, body);
  const text = await answer.text();
  assert.ok(answer.ok, `${method} ${path}: ${answer.status} ${text}`);
  return text === "" ? undefined : JSON.parse(text);
}

/** Registers a till of a tenant, as the till does. */
const register = (device_name, tenantId = "acme") => ok("POST", "/v1/registration", { ...TILL, usingGlobalTemplate: false, tenantId, claims: { store_number: "0042", device_name } });

/** The same, let in. */
async function till(device_name) {
  const registered = await register(device_name);
  await ok("PUT", `${pathOf(registered)}/authorize`);
  return registered;
}

const pathOf = ({ clientId }) => `/v1/tenants/acme/clients/${clientId}`;
const stored = (client) => ok("GET", pathOf(client));

/** The status of the answer to a till that asks for a token. */
async function signsIn({ clientId, clientSecret }) {
  const headers = { Authorization: `Basic ${btoa(`${clientId}:${clientSecret}`)}` };
  return (await fetch(`${host.url}/oauth2/token`, { method: "POST", headers, body: new URLSearchParams({ grant_type: "client_credentials", audience: AUDIENCE }) })).status;
}

const tab = (page, name) => page.getByRole("navigation", { name: "About the platform" }).getByRole("link", { name, exact: true }).click();
const act = (page, text, name) => page.getByRole("button", { name: `${text}: ${name}`, exact: true }).click();
const press = (page, name) => pressButton(dialog(page).last(), name);
/** The names of the rows that match a pattern, in order. */
const names = (page, pattern) => page.getByRole("heading", { level: 3, name: pattern }).allTextContents();
const says = (page, text) => dialog(page).last().getByText(text).waitFor();
const notice = (page, text) => page.locator("#notices").getByText(text, { exact: true }).waitFor();

describe("an operator", () => {
  test("lands on Platform, and makes a tenant and a template", () => asOperator("", async (page) => {
    await page.getByRole("heading", { name: "Platform", level: 1 }).waitFor();
    assert.deepEqual(await page.getByRole("navigation", { name: "Views" }).getByRole("link").allTextContents(), ["Platform"]);
    await page.getByRole("button", { name: "New tenant" }).click();
    await dialog(page).getByLabel("Id", { exact: true }).fill("acme");
    await press(page, "Make it");
    await says(page, "A tenant with this id exists already.");
    await dialog(page).getByLabel("Id", { exact: true }).fill("new shops");
    await press(page, "Make it");
    await says(page, "Enter 1 to 64 letters, digits, . _ or -");
    await dialog(page).getByLabel("Id", { exact: true }).fill("corner");
    await dialog(page).getByLabel("Name", { exact: true }).fill("Corner Shops");
    await press(page, "Make it");
    await page.getByRole("link", { name: "Waiting: Corner Shops" }).click();
    await page.getByText("Nothing is waiting").waitFor();
    await tab(page, "Tenants");
    await page.getByRole("heading", { name: "Shelf 10" }).waitFor();
    assert.deepEqual(await names(page, /^Shelf/), ["Shelf 2", "Shelf 10"], "they are sorted by name");

    await tab(page, "Templates");
    await page.getByRole("region", { name: "Templates", exact: true }).getByRole("button", { name: "New template" }).click();
    await dialog(page).getByLabel("Name", { exact: true }).fill("Corner tills");
    await dialog(page).getByLabel("Software").fill("till");
    await dialog(page).getByLabel("Version").fill("2.1");
    await dialog(page).getByLabel("Claims that each client must send").fill("store_number\nDevice name");
    await press(page, "Make it");
    await says(page, "Enter one word per line, such as store_number");
    await dialog(page).getByLabel("Claims that each client must send").fill("store_number\ndevice_name");
    await dialog(page).getByRole("checkbox", { name: /^Asks for decisions/ }).check();
    await press(page, "Make it");
    await page.getByText("till 2.1 · Each client says: Store number, Device name.").waitFor();
    assert.equal((await register("Corner till", "corner")).status, "Pending");
    expected(page, 400, 412);
  }));

  test("finds out which till is ours among those that wait, and lets it in", () => asOperator("", async (page) => {
    const [ours] = [await register("Front till"), await register("Unknown")];
    await tab(page, "Waiting");
    await pick(page.getByLabel("Tenant", { exact: true }), "Acme Markets (acme)");
    const row = page.getByRole("listitem").filter({ has: page.getByRole("heading", { name: "Front till" }) });
    await row.getByText("0042").waitFor();
    await row.getByText(/^till 2\.1 · Registered .* ago \(.*\) from 127\.0\.0\.1$/).waitFor();
    assert.equal(await signsIn(ours), 401);
    await act(page, "Let in", "Front till");
    await says(page, "It says about itself: Device name: Front till, Store number: 0042. It can sign in from now on. What it may do: Asks for decisions.");
    await press(page, "Let in");
    await notice(page, "Front till was let in.");
    await hasCount(row, 0);
    assert.equal(await signsIn(ours), 200);

    await act(page, "Refuse", "Unknown");
    await says(page, "It cannot sign in. This cannot be undone");
    await press(page, "Refuse");
    await hasCount(page.getByRole("heading", { name: "Unknown" }), 0);
  }));

  test("lets a till in with the keyboard alone", async () => {
    const ours = await register("Keyboard till");
    await asOperator("#/platform/waiting/acme", async (page) => {
      await page.getByRole("heading", { name: "Keyboard till" }).waitFor();
      await tabTo(page, "Let in: Keyboard till");
      await page.keyboard.press("Enter");
      await says(page, "It can sign in from now on.");
      await tabTo(page, "Let in");
      await page.keyboard.press("Enter");
      await notice(page, "Keyboard till was let in.");
    });
    assert.equal(await signsIn(ours), 200);
  });

  test("revokes and deletes clients after a question that says what stops working", () => asOperator("#/platform/clients/acme", async (page) => {
    const [kept, lost] = [await till("Revoked till"), await till("Deleted till")];
    await page.getByRole("heading", { name: "Deleted till" }).waitFor();
    await page.getByRole("heading", { name: "Revoked till" }).waitFor();
    assert.deepEqual(await names(page, /^(Revoked|Deleted) till$/), ["Deleted till", "Revoked till"], "they are sorted by name");
    await act(page, "Revoke", "Revoked till");
    await says(page, "The tills that use this client are refused from now on.");
    await press(page, "Cancel");
    assert.equal(await signsIn(kept), 200);
    await act(page, "Revoke", "Revoked till");
    await press(page, "Revoke");
    await notice(page, "Revoked till was revoked.");
    assert.equal(await signsIn(kept), 401);
    await hasCount(page.getByRole("button", { name: "New secret: Revoked till" }), 0);

    await act(page, "Delete", "Deleted till");
    await says(page, "The tills that use this client are refused from now on. It can register again and then gets another secret.");
    await ok("PUT", `${pathOf(lost)}/roles`, { roles: [] });
    await press(page, "Delete");
    await notice(page, "It was not deleted, because tillgate-operator 1 has just changed it. Check it again.");
    await act(page, "Delete", "Deleted till");
    await press(page, "Delete");
    await notice(page, "Deleted till was deleted.");
    await hasCount(page.getByRole("heading", { name: "Deleted till" }), 0);
    expected(page, 412);
  }));

  test("finds the row of a client where it was a moment ago", () => asOperator("#/platform/clients/acme", async (page) => {
    await till("Steady till");
    const button = await page.getByRole("button", { name: "Revoke: Steady till", exact: true }).elementHandle();
    // Some seconds later the list is redrawn.
    await page.evaluate(() => {
      const now = Date.now;
      Date.now = () => now() + 7_000;
      dispatchEvent(new Event("resize"));
      return new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)));
    });
    assert.ok(await button.evaluate((element) => element.isConnected));
  }));

  test("gives a client a new secret, which is shown once", () => asOperator("#/platform/clients/acme", async (page) => {
    const old = await till("Secret till");
    await act(page, "New secret", "Secret till");
    await dialog(page).getByRole("radio", { name: "Not at all" }).check();
    await says(page, "The tills that use the old secret are refused from now on, until they have the new one.");
    await press(page, "New secret");
    await says(page, "It is shown only now. The old secret is refused from now on.");
    const clientSecret = await dialog(page).getByLabel("Secret", { exact: true }).inputValue();
    await page.keyboard.press("Escape");
    await press(page, "Copy the secret");
    await notice(page, "Secret was copied.");
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), clientSecret);
    await press(page, "Done");
    await hasCount(dialog(page), 0);
    assert.ok(!(await page.content()).includes(clientSecret));
    assert.deepEqual([await signsIn({ ...old, clientSecret }), await signsIn(old)], [200, 401]);
  }));

  test("changes the roles of a client, and sees those that another user has given it", () => asOperator("#/platform/clients/acme", async (page) => {
    const client = await till("Roles till");
    const ids = async () => (await stored(client)).roles.map(({ roleId }) => roleId);
    await act(page, "Roles", "Roles till");
    await dialog(page).getByRole("checkbox", { name: /^Sees rates.*may see rates$/ }).check();
    await ok("PUT", `${pathOf(client)}/roles`, { roles: [{ roleId: "exe.publisher" }] });
    await press(page, "Save");
    const both = dialog(page).getByRole("region", { name: "Two versions" });
    await dialog(page).getByText("tillgate-operator 1 changed this while you were editing").waitFor();
    await both.getByText("Sends events", { exact: true }).waitFor();
    await both.getByText("Asks for decisions, Sees rates", { exact: true }).waitFor();
    await press(page, "Save mine instead");
    await notice(page, "Saved. Its new roles are in force.");
    assert.deepEqual(await ids(), ["ecs.evaluator", "exr.viewer"]);
    expected(page, 412);
  }));

  test("is told what another user did meanwhile, and what became of an answer that was lost", () => asOperator("#/platform/waiting/acme", async (page) => {
    const [refused] = [await register("Refused till"), await register("Lost till")];
    await act(page, "Let in", "Refused till");
    await says(page, "It can sign in from now on.");
    await ok("PUT", `${pathOf(refused)}/revoke`);
    await press(page, "Let in");
    await notice(page, "Refused till was not let in. It was revoked in the meantime. Delete it, and it can register again.");
    // The list is read again: the next button to press stays in place.
    await page.getByRole("button", { name: "Let in: Refused till", exact: true }).waitFor({ state: "detached" });
    await loseAnswers(page, "**/authorize");
    await act(page, "Let in", "Lost till");
    await press(page, "Let in");
    await notice(page, `Lost till was let in. ${LOOKED}`);
    await tab(page, "Clients");
    await loseAnswers(page, "**/secret?*");
    await act(page, "New secret", "Lost till");
    await press(page, "New secret");
    await dialog(page).getByRole("heading", { name: "It is not known whether Lost till got a new secret" }).waitFor();
    await says(page, "If it did, the secret was lost with the answer. Choose “New secret” again.");
    expected(page, 409);
  }));

  test("makes a statement, whose text is shown once and lets a till in, and withdraws it", () => asOperator("#/platform/templates/acme", async (page) => {
    await act(page, "New statement", "Tills of our shops");
    await dialog(page).getByLabel("What it says about each client").fill("store_number: 0042\ndevice_name: Stated till");
    await dialog(page).getByRole("switch", { name: "Let them in at once" }).check();
    await press(page, "Make it");
    await says(page, "Give it to those who install the tills. It is shown only now.");
    const softwareStatement = await dialog(page).getByLabel("Statement", { exact: true }).inputValue();
    await press(page, "Done");
    const registered = await ok("POST", "/v1/registration", { ...TILL, usingGlobalTemplate: false, tenantId: "acme", claims: { store_number: "0042", device_name: "Stated till" }, softwareStatement });
    assert.equal(registered.status, "Authorized");
    await page.getByText("Device name: Stated till, Store number: 0042.").waitFor();
    await act(page, "Withdraw", "till 2.1");
    await says(page, "From now on no client can register with it. Those that have registered keep working.");
    await press(page, "Withdraw");
    await page.getByText("No statement is valid").waitFor();
    await act(page, "Delete", "Tills of our shops");
    await says(page, "From now on no client can register as till 2.1. Those that have registered keep working.");
    await press(page, "Cancel");
  }));

  test("makes a role, changes and deletes it, and reads first what those who have it may no longer do", () => asOperator("#/platform/roles", async (page) => {
    const permits = async (roleId) => (await ok("GET", `/v1/roles/${roleId}`)).permissions;
    const box = (name) => dialog(page).getByRole("checkbox", { name, exact: true });
    await page.getByRole("button", { name: "New role" }).click();
    for (const [id, fault] of [["", "Enter 1 to 64 letters"], ["two words", "Enter 1 to 64 letters"], ["ecs.viewer", "A role with this id exists already."], ["desk", "A role with this id exists already."]]) {
      await dialog(page).getByLabel("Id", { exact: true }).fill(id);
      await press(page, "Make it");
      await says(page, fault);
    }
    await dialog(page).getByLabel("Id", { exact: true }).fill("shop-desk");
    for (const name of ["See rates", "Change rates"]) await box(name).check();
    await press(page, "Make it");
    await notice(page, "The role was made. Clients and templates can have it now.");
    assert.deepEqual(await permits("shop-desk"), ["exr.rate.read", "exr.rate.write"]);

    await act(page, "Change", "shop-desk");
    await box("See conditions").check();
    await press(page, "Review");
    await dialog(page).getByText("added: see conditions").waitFor();
    // Another user changes it meanwhile, so the difference changes.
    await ok("PUT", "/v1/roles/shop-desk", { permissions: ["exr.rate.read", "exr.rate.write", "pos.drawer.open"] });
    await press(page, "Save");
    await dialog(page).getByText("tillgate-operator 1 changed this while you were editing").waitFor();
    await dialog(page).getByRole("region", { name: "Two versions" }).getByText("see rates; change rates; pos.drawer.open (has no effect here).").waitFor();
    await press(page, "Keep theirs");
    await act(page, "Change", "shop-desk");
    await dialog(page).getByRole("group", { name: "No effect here" }).getByRole("checkbox", { name: "pos.drawer.open", checked: true }).waitFor();
    await box("Change rates").uncheck();
    await press(page, "Review");
    await dialog(page).getByText("removed: change rates").waitFor();
    await press(page, "Save");
    await says(page, "Clients and people that have it may no longer: change rates. That holds at once, unless another role of theirs permits it.");
    await press(page, "Take it away");
    await notice(page, "Saved. It is in force for all who have the role.");
    assert.deepEqual(await permits("shop-desk"), ["exr.rate.read", "pos.drawer.open"]);

    // The list may be older than the role.
    await alterAnswers(page, "**/v1/roles", (roles) => roles.find(({ roleId }) => roleId === "shop-desk").permissions.push("exr.rate.write"));
    await page.getByRole("listitem").filter({ hasText: "shop-desk" }).getByText("change rates").waitFor();
    await act(page, "Delete", "shop-desk");
    await says(page, "Clients and people that have it may no longer: see rates. That holds at once");
    await page.unroute("**/v1/roles");
    await press(page, "Delete");
    await notice(page, "shop-desk was deleted.");
    await hasCount(page.getByRole("heading", { name: "shop-desk" }), 0);
    await hasCount(page.getByRole("button", { name: /: ecs\.viewer$/ }), 0, "what comes with the service stays");
    expected(page, 400, 409, 412);
  }));

  test("reads what roles permit, and replaces a signing key", () => asOperator("#/platform/roles", async (page) => {
    await ok("PUT", "/v1/roles/till-desk", { permissions: ["exr.rate.write", "pos.drawer.open"] });
    await page.getByLabel("Filter roles").fill("till-desk");
    await page.getByText("change rates", { exact: true }).waitFor();
    await page.getByText("pos.drawer.open (has no effect here)").waitFor();

    await tab(page, "Signing keys");
    await page.getByText(/old: it has signed since/).first().waitFor();
    await act(page, "Replace the key", "Token keys");
    await says(page, "Tokens signed with the old key are accepted until they expire");
    await press(page, "Replace");
    await page.getByRole("heading", { name: "The next key" }).waitFor();
    await act(page, "Replace the key", "Token keys");
    await press(page, "Replace");
    await notice(page, "A new key is already published but does not sign yet.");
    expected(page, 409);
  }));

  test("reads how much is used, and chooses which decisions are recorded", () => asOperator("#/platform/usage", async (page) => {
    await alterAnswers(page, "**/other/usage", (usage) => (usage.templates = { used: 9, quota: 10 }));
    await pick(page.getByLabel("Tenant", { exact: true }), "Other Shops (other)");
    await page.getByText("9 of 10 · nearly used up").waitFor();
    await page.getByRole("meter", { name: "Conditions", exact: true }).waitFor();
    await page.getByText("0 of 10,000", { exact: true }).first().waitFor();
    await page.getByRole("radio", { name: "Only refusals" }).check();
    await page.getByText("Each decision that refuses an item is recorded").waitFor();
    await ok("PUT", "/v1/tenants/other/decision-log", { decisionLog: "all" });
    await pressButton(page, "Save");
    await notice(page, "tillgate-operator 1 has just chosen something else for other. Choose again.");
    await page.getByText("Each decision is recorded, with the item").waitFor();
    await page.getByRole("radio", { name: "Only refusals" }).check();
    await pressButton(page, "Save");
    await notice(page, "Saved for other. It is in force from now on.");
    assert.equal((await ok("GET", "/v1/tenants/other/decision-log")).decisionLog, "denials");
    expected(page, 412);
  }));

  test("has jobs that failed tried again, or drops them", () => asOperator("#/platform/usage", async (page) => {
    let jobs = [job(1), job(2)];
    const asked = [];
    await page.route("**/v1/jobs/dead-letters?*", (route) => route.fulfill({ json: { items: jobs } }));
    await page.route("**/v1/jobs/dead-letters/**", (route) => {
      const path = new URL(route.request().url()).pathname;
      asked.push(`${route.request().method()} ${path}`);
      jobs = jobs.filter(({ id }) => !path.includes(id));
      return route.fulfill(path.endsWith("/retry") ? { status: 202, json: job(1) } : { status: 204 });
    });
    await tab(page, "Failed jobs");
    await page.getByText(HOSTILE).first().waitFor();
    await act(page, "Retry", "Passing an event on to the webhooks (1)");
    await notice(page, "“Passing an event on to the webhooks” is tried again.");
    await act(page, "Drop", "Passing an event on to the webhooks (2)");
    await says(page, "Its work will not be done, and it cannot be brought back.");
    await press(page, "Drop");
    await page.getByText("No job has failed").waitFor();
    assert.deepEqual(asked, ["POST /v1/jobs/dead-letters/id-1/retry", "DELETE /v1/jobs/dead-letters/id-2"]);
  }));

  test("finds a client that is not on the first page", () => asOperator("#/platform/usage/acme", async (page) => {
    await Promise.all([till("Paged one"), till("Paged two")]);
    await page.route("**/acme/clients?*", async (route) => {
      const isFirst = !new URL(route.request().url()).searchParams.has("cursor");
      const response = await route.fetch();
      const { items } = await response.json();
      const ours = items.filter(({ claims }) => claims.device_name.startsWith("Paged"));
      return route.fulfill({ json: isFirst ? { items: ours.slice(0, 1), next: ours[0].clientId } : { items: ours.slice(-1) } });
    });
    await tab(page, "Clients");
    await page.getByRole("button", { name: "Show more" }).waitFor();
    await hasCount(page.getByRole("heading", { level: 3 }), 1);
    const first = await page.getByRole("heading", { level: 3 }).textContent();
    const other = first === "Paged one" ? "Paged two" : "Paged one";
    await page.getByLabel("Filter clients").fill(`device name: ${other}`);
    await page.getByText("1 of 2 clients").waitFor();
    await page.getByRole("heading", { name: other }).waitFor();
  }));
});

describe("who sees it", () => {
  test("a tenant’s administrator sees the same of that tenant alone", async () => {
    await register("Admin’s till");
    const admin = await clientWith(host, ["iam.admin"], "acme", { store_number: "0001", device_name: "Office" });
    await visit({ ...on, host: admin }, "", async (page) => {
      await page.getByRole("heading", { name: "Admin’s till" }).waitFor();
      const tabs = page.getByRole("navigation", { name: "About the platform" }).getByRole("link");
      assert.deepEqual(await tabs.allTextContents(), ["Waiting", "Clients", "Templates", "Roles", "Usage"]);
      await hasCount(page.getByLabel("Tenant", { exact: true }), 0);
      await page.getByText("Tenant acme", { exact: true }).waitFor();
      await act(page, "Let in", "Admin’s till");
      await press(page, "Let in");
      await notice(page, "Admin’s till was let in.");
      await page.evaluate(() => (location.hash = "#/platform/clients/other"));
      await page.getByText("You may see and change your own tenant only.").waitFor();
      await hasCount(page.getByRole("heading", { level: 3 }).and(page.getByText("Office")), 0);
      expected(page, 403);
    });
  });

  test("one who may only look is offered nothing else", async () => {
    await ok("PUT", "/v1/roles/looker", { permissions: ["iam.clients.read"] });
    await till("Looked at");
    const looker = await clientWith(host, ["looker"], "acme", { store_number: "0002", device_name: "Looker" });
    await visit({ ...on, host: looker }, "#/platform/clients", async (page) => {
      await page.getByRole("heading", { name: "Looked at" }).waitFor();
      await hasCount(page.getByRole("button", { name: /^(Let in|Refuse|Roles|New secret|Revoke|Delete):/ }), 0);
      await tab(page, "Roles");
      await page.getByRole("heading", { name: "looker" }).waitFor();
      await hasCount(page.getByRole("button", { name: /^(New role|Change: |Delete: )/ }), 0);
      await tab(page, "Usage");
      await page.getByRole("radio", { name: "All", exact: true, disabled: true }).waitFor();
    });
  });

  test("someone without its permissions sees none of it, and loads none of it", async () => {
    const viewer = await clientWith(host, ["ecs.viewer"], "other");
    const loaded = [];
    on.context.on("request", (request) => loaded.push(request.url()));
    await visit({ ...on, host: viewer }, "#/platform", async (page) => {
      await page.getByRole("link", { name: "Preview" }).waitFor();
      await hasCount(page.getByRole("link", { name: "Platform" }), 0);
    });
    assert.deepEqual(loaded.filter((url) => url.includes("/www/platform/")), []);
    const page = await signedIn(on.context, host);
    await page.getByRole("link", { name: "Platform" }).waitFor();
    assert.deepEqual(loaded.filter((url) => url.includes("/www/platform/")), [], "it is loaded when it is opened");
    await page.getByRole("link", { name: "Platform" }).click();
    await page.getByRole("heading", { name: "Tenants" }).waitFor();
    await page.close();
  });
});

test("looks right, and axe finds nothing, also with hostile claims, which are text", () => asOperator("#/platform/waiting/acme", async (page) => {
  await register(HOSTILE);
  await register("متجر الشمال");
  await page.getByRole("heading", { name: HOSTILE }).waitFor();
  await hasCount(page.locator("main img"), 0);
  await still(page);
  await looksRight(page, "platform-waiting");
  await act(page, "Let in", HOSTILE);
  await says(page, `Device name: ${HOSTILE}`);
  await looksRight(page, "platform-let-in");
  await press(page, "Cancel");
  await page.route("**/v1/jobs/dead-letters?*", (route) => route.fulfill({ json: { items: [job(1), { ...job(2), error: `${HOSTILE} `.repeat(40) }] } }));
  for (const [name, heading] of [["Tenants", "Acme Markets"], ["Clients", HOSTILE], ["Templates", "Tills of our shops"], ["Usage", "Decision log"], ["Signing keys", "The key that signs"], ["Roles", "desk"], ["Failed jobs", /Passing an event on/]]) {
    await tab(page, name);
    await page.getByRole("heading", { name: heading }).first().waitFor();
    await looksRight(page, `platform-${name}`);
  }
  await tab(page, "Roles");
  await act(page, "Change", "desk");
  await dialog(page).getByRole("checkbox", { name: "Define roles", checked: true }).waitFor();
  await looksRight(page, "platform-role");
}));

test("pages that are empty are followed by others, and what was read is read again", async () => {
  const pages = { undefined: { items: [], next: "a" }, a: { items: ["one"], next: "b" }, b: { items: [], next: "c" }, c: { items: ["two"] } };
  const list = new Pages(async (cursor) => pages[cursor], (entry) => entry);
  await list.renew();
  assert.deepEqual([list.all, list.hasMore], [["one"], true]);
  await list.more();
  assert.deepEqual([list.all, list.hasMore], [["one", "two"], false]);
  pages.c = { items: ["three"] };
  await list.renew();
  assert.deepEqual(list.all, ["one", "three"]);
});
