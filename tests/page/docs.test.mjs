// The page of the API's documents as developers use it: a real Chromium against the real program.
//
//     cargo build && node --test tests/page/docs.test.mjs     TESTS_LONG=1 keeps screenshots in tests/output/

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { promisify } from "node:util";

import { fillIn, open, signIn } from "../support/browser.mjs";
import { looksRight, still } from "../support/looks.mjs";
import { UNREACHABLE, downloaded, expected, hasCount, hasFocus, hasValue, onHost, shown, tabTo } from "../support/page.mjs";
import { clientWith, demo } from "../support/program.mjs";
import { eventually, until } from "../support/wait.mjs";

/** Documents with every possible construct; the paths of conditions are the host's. */
const SAMPLES = new Map(["openapi.json", "asyncapi.json"].map((name) => [name, readFileSync(new URL(name, import.meta.url), "utf8")]));

const on = onHost(demo, { permissions: ["clipboard-read", "clipboard-write"] });

/** Answers requests for a document in place of the host. */
const answering = (context, name, answer) => context.route(`**/${name}`, (route) => answer(route));

const sample = (name) => (route) => route.fulfill({ contentType: "application/json", body: SAMPLES.get(name) });

/** Runs a test on the page, at an operation, and fails if the page logged an error. */
async function visit(hash, work) {
  const page = await open(on.context, `${on.host.url}/docs${hash}`);
  try {
    await page.getByRole("heading", { level: 1 }).waitFor();
    await work(page);
    assert.deepEqual(page.faults, []);
  } finally {
    await page.close();
  }
}

/** Signs in on the page that asks for it. */
async function enter(page, client = on.host) {
  await fillIn(page, client);
  await page.getByRole("dialog", { name: "Sign in" }).getByRole("button", { name: "Sign in" }).click();
}

/** Signs in as soon as the page is there. */
async function entered(page, client) {
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await enter(page, client);
  await hasCount(page.getByRole("dialog"), 0);
}

const title = (page) => page.getByRole("heading", { level: 1 });
const list = (page) => page.getByRole("navigation", { name: "Operations and events" });
const search = (page) => page.getByLabel("Search operations and events");
const tryIt = (page) => page.getByRole("region", { name: "Try it" });
const answer = (page) => page.getByRole("region", { name: "Answer", exact: true });
const send = (page) => tryIt(page).getByRole("button", { name: "Send", exact: true }).click();
const command = (page) => page.getByLabel("The curl command", { exact: true });
const body = (page) => answer(page).getByLabel("The body", { exact: true });

/** A row of a tree, by the name of its subject. */
const row = (within, name) => within.locator("li").filter({ has: within.page().locator("> .member > .name").getByText(name, { exact: true }) }).last();
const section = (page, name) => page.getByRole("region", { name, exact: true });

/** The words of a row, without those of its content. */
const words = (locator) => locator.evaluate((element) => [...element.children].filter(({ id }) => !id.startsWith("inside")).map(({ innerText }) => innerText).join(" ").replace(/\s+/g, " ").trim());

const says = (locator, text) => eventually(async () => assert.equal(await words(locator), text));

describe("with documents that have every construct", () => {
  before(async () => {
    for (const name of SAMPLES.keys()) await answering(on.context, name, sample(name));
  });
  after(async () => {
    for (const name of SAMPLES.keys()) await on.context.unroute(`**/${name}`);
  });

  describe("what there is", () => {
    test("is listed by tag, and a search finds words, parts of paths and permissions", () => visit("", async (page) => {
      await shown(title(page), "A sample of an API");
      const links = list(page).getByRole("link").and(page.locator(":visible"));
      await hasCount(links, 0, "groups are closed at first");
      await list(page).getByText("conditions", { exact: true }).click();
      await hasCount(links, 6);
      const finds = async (text, ...titles) => {
        await search(page).fill(text);
        await eventually(async () => assert.deepEqual(await list(page).locator("a:visible .entry-title").allInnerTexts(), titles, text));
      };
      await finds("entity-conditions put", "Create or replace a condition");
      await finds("ecs.condition.DELETE", "Create or replace a condition", "Delete a condition");
      await finds("rates changed", "Rates of a shop have changed");
      await finds("no tag", "Has no tag and no name");
      await page.getByText("1 found").waitFor();
      await finds("nothing like it");
      await page.getByText("Nothing found.").waitFor();
      await finds("condition evaluate", "Decide about an item by a condition");
      await search(page).press("Enter");
      await shown(title(page), "Decide about an item by a condition");
    }));

    test("a search also finds descriptions, parameters, and fields of bodies and answers; what has the words in its name comes first", () => visit("", async (page) => {
      const finds = async (text, ...titles) => {
        await search(page).fill(text);
        await eventually(async () => assert.deepEqual(await list(page).locator("a:visible .entry-title").allInnerTexts(), titles, text));
      };
      await finds("global 409", "Create or replace a condition");
      await finds("failingTests", "Create or replace a condition");
      await finds("aVeryLongName", "Take every shape");
      await finds("minimum_age", "List the conditions", "Read a condition", "Create or replace a condition");
      await finds("statusCode");
      await finds("rateValue", "Rates of a shop have changed");
      await finds("condition", "List the conditions", "Read a condition", "Create or replace a condition", "Delete a condition", "Decide about an item by a condition", "Follow the changes of the catalog");
      await finds("tenant condition", "Create or replace a condition");
      await search(page).press("Enter");
      await shown(title(page), "Create or replace a condition");
    }));

    test("and the address of each survives a reload and going back", () => visit("", async (page) => {
      await list(page).getByText("conditions", { exact: true }).click();
      await list(page).getByRole("link", { name: /Read a condition/ }).click();
      await shown(title(page), "Read a condition");
      await hasFocus(page, "Read a condition");
      assert.match(page.url(), /\/docs#getCondition$/);
      await list(page).getByRole("link", { name: /Delete a condition/ }).click();
      await shown(title(page), "Delete a condition");
      assert.equal(await page.title(), "Delete a condition · API · Tillgate");
      await page.goBack();
      await shown(title(page), "Read a condition");
      await page.reload();
      await shown(title(page), "Read a condition");
      assert.equal(await list(page).locator("[aria-current=page] .entry-title").innerText(), "Read a condition");
      await page.goBack();
      await shown(title(page), "A sample of an API");
    }));

    test("an address that names nothing says so", () => visit("#getNothing", async (page) => {
      await shown(title(page), "There is no such operation");
      await page.getByText("nothing named “getNothing”").waitFor();
      await page.evaluate(() => (location.hash = "#%E0%A4%A"));
      await page.getByText("nothing named “%E0%A4%A”").waitFor();
    }));

    test("descriptions are texts, whatever is in them", () => visit("", async (page) => {
      await page.getByText("A text in <b>angle brackets</b> stays a text.").waitFor();
      assert.equal(await page.getByRole("link", { name: "link", exact: true }).getAttribute("href"), "https://openapis.example/");
      assert.equal(await page.locator("article b").first().innerText(), "global");
    }));

  });

  describe("an operation", () => {
    test("says who may ask, its limits, and each parameter with its rules in words", () => visit("#putCondition", async (page) => {
      await page.getByText("The id of a global condition is a 409.").waitFor();
      const fact = (name) => page.locator("dt").getByText(name, { exact: true }).locator("+ dd");
      await shown(fact("Permission"), "ecs.condition.write or ecs.condition.read and ecs.condition.delete");
      await shown(fact("Limit"), "A body of at most 64 KiB");
      const parameters = section(page, "Parameters");
      await says(row(parameters, "conditionId"), 'conditionId string path required The id of the condition 1 to 64 characters · matches ^[A-Za-z0-9._:-]+$ · for example "alcohol"');
      await says(row(parameters, "failingTests"), 'failingTests string query Stores one whose tests fail one of "accept"');
      await hasCount(parameters.getByText("Authorization"), 0, "the token is no parameter");
    }));

    test("shows its body and every answer with what it means", () => visit("#putCondition", async (page) => {
      const taken = section(page, "Body");
      await taken.getByText("The condition without its id.").waitFor();
      await taken.getByText("NewCondition · no other members").waitFor();
      await says(row(taken, "enabled"), "enabled boolean Whether it is in force default true");
      await taken.getByRole("button", { name: "rule" }).click();
      await says(taken.locator("li").filter({ hasText: "By the customer's age" }).last(), '"AGE_RESTRICTION" By the customer\'s age');
      const answers = section(page, "Answers");
      const titles = await answers.locator("summary").filter({ hasText: /^\d/ }).allInnerTexts();
      assert.deepEqual(titles.map((text) => text.replace("\n", " ")), ["200 It was replaced", "201 It was created", "409 The id is that of a global condition"]);
      await answers.getByText("The id is that of a global condition").click();
      await answers.getByText("application/problem+json").waitFor();
      await says(row(answers, "message").and(page.locator(":visible")), "message one of 2 forms required One sentence, or several");
    }));

    test("an answer without a body says so, and an example is copied as it is sent", () => visit("#deleteCondition", async (page) => {
      await page.getByText("It has no body.").waitFor();
      await page.evaluate(() => (location.hash = "#getCondition"));
      await shown(title(page), "Read a condition");
      await page.getByText("Example", { exact: true }).first().click();
      await page.getByRole("button", { name: "Copy: Example of the answer 200" }).click();
      await page.getByText("Example of the answer 200 was copied.").waitFor();
      assert.deepEqual(JSON.parse(await page.evaluate(() => navigator.clipboard.readText())).condition_value, { minimum_age: 18 });
      await says(row(section(page, "Answers"), "ETag"), 'ETag string The version matches ^".*"$');
    }));
  });

  describe("a schema", () => {
    /** The text of the row of each of these members. */
    const MEMBERS = {
      loop: "loop any value",
      missing: "missing any value",
      nullable: "nullable string (date-time) or null",
      exactly: 'exactly "1.0"',
      code: 'code string exactly 3 characters · matches ^[A-Z]{3}$ · for example "SEK"',
      rate: "rate number more than 0 · at most 1,000,000,000 · a multiple of 0.000001",
      below: "below number less than 0.5",
      many: 'many string or number or null one of "A", "B", "C", "D", "E", "F", "G", "H", "I", "J", "K", "L" and 4 more',
      grid: "grid array of array of integer 1 to 3 entries · each entry: no duplicate entries · each entry: each entry: at least 0",
      table: "table array of array of object",
      labels: "labels object at most 1,000 members · each name: matches ^[a-z]+$",
      choice: "choice one of 4 forms",
      file: "file string encoded as base64 · holds text/xml",
      secret: "secret string deprecated in requests only",
      held: "held string encoded as base64 · holds application/json",
      card: "card object if number is present, also until",
      either: 'either object at least one of one, other',
      nothing: "nothing nothing",
      anything: "anything any value",
      not: 'not string not "", "-"',
    };

    test("says the type and the rules of each member in words", () => visit("#takeShapes", async (page) => {
      const taken = section(page, "Body (optional)");
      await taken.getByText("Shapes · at least 1 member").waitFor();
      for (const [name, text] of Object.entries(MEMBERS)) await says(row(taken, name), text);
      await row(taken, "many").getByRole("button", { name: "and 4 more" }).click();
      await says(row(taken, "many"), 'many string or number or null one of "A", "B", "C", "D", "E", "F", "G", "H", "I", "J", "K", "L", "M", "N", 15, null');
    }));

    test("is drawn when it is opened, and ends where it contains itself", () => visit("#takeShapes", async (page) => {
      const taken = section(page, "Body (optional)");
      const inside = (name) => row(taken, name).locator(":scope > div[id]");
      assert.equal(await inside("tree").innerHTML(), "");
      await taken.getByRole("button", { name: "tree", exact: true }).click();
      await says(row(inside("tree"), "children"), "children array of Tree as above");
      await says(row(inside("tree"), "parent"), "parent Tree or null as above A tree, which has itself in it");
      await hasCount(inside("tree").getByRole("button"), 0);
      for (const name of ["deep", "er", "still"]) await taken.getByRole("button", { name, exact: true }).click();
      await says(row(taken, "there"), "there string At the end of the way");
      await taken.getByRole("button", { name: "deep", exact: true }).click();
      await hasCount(taken.getByText("At the end of the way").and(page.locator(":visible")), 0);
    }));

    test("shows choices, maps, tuples and arrays of arrays by what is in them", () => visit("#takeShapes", async (page) => {
      const taken = section(page, "Body (optional)");
      for (const name of ["choice", "open", "pair", "table", "labels", "refined", "held"]) await taken.getByRole("button", { name, exact: true }).click();
      const rowsOf = (name) => row(taken, name).locator(":scope > div > ul > li > .member").allInnerTexts().then((texts) => texts.map((text) => text.replace(/\s+/g, " ")));
      assert.deepEqual(await rowsOf("choice"), ["A whitelist object", 'type "BOOLEAN" object', "Tree", "string"]);
      assert.deepEqual(await rowsOf("refined"), ["kind string required", "amount number", 'where kind "A" or "B" object', 'where kind "C" object']);
      assert.deepEqual(await rowsOf("open"), ["known string", "each name that matches ^x- any value", "each other name integer"]);
      assert.deepEqual(await rowsOf("pair"), ["entry 1 string", "entry 2 number"]);
      assert.deepEqual(await rowsOf("table"), ["cell string"]);
      assert.deepEqual(await rowsOf("labels"), ["each name string"]);
      assert.deepEqual(await rowsOf("held"), ["what it holds object"]);
    }));
  });

  describe("the curl command", () => {
    const run = promisify(execFile);

    test("can be pasted into a shell, whatever is in the request", () => visit("#evaluateCondition", async (page) => {
      await tryIt(page).getByLabel("Body").fill('{"item":{"id":"it\'s $HOME [1-2] {a,b} `x` @file \\\\ é"},"context":{"customer":{"customer_age":19}}}');
      const text = await command(page).innerText();
      assert.match(text, /^curl --globoff --request POST 'http:\/\/127\.0\.0\.1:\d+\/api\/v1\/conditions\/alcohol\/evaluate' \\\n {2}--header "Authorization: Bearer \$TOKEN" \\\n/);
      const { stdout } = await run("bash", ["-c", `${text} --silent`], { env: { ...process.env, TOKEN: await on.host.token() } });
      assert.equal(JSON.parse(stdout).id, "it's $HOME [1-2] {a,b} `x` @file \\ é");
      await page.getByRole("button", { name: "Copy: The curl command" }).click();
      await page.getByText("The curl command was copied.").waitFor();
      assert.equal(await page.evaluate(() => navigator.clipboard.readText()), text);
    }));

    test("has what was filled in, and leaves in braces what was not", () => visit("#takeShapes", async (page) => {
      const url = () => command(page).innerText().then((text) => / '([^']*)'/.exec(text)[1].slice(on.host.url.length));
      assert.equal(await url(), "/shapes/100", "the default is filled in");
      await tryIt(page).getByLabel("deep").fill("");
      assert.equal(await url(), "/shapes/{deep}");
      await tryIt(page).getByLabel("deep").fill("a/b?c");
      await tryIt(page).getByText("4 more parameters").click();
      await tryIt(page).getByLabel("types").fill("SALES,PURCHASE");
      await tryIt(page).getByLabel("ids").fill("1,2");
      await tryIt(page).getByLabel("isDry").selectOption("true");
      assert.equal(await url(), "/shapes/a%2Fb%3Fc?types=SALES&types=PURCHASE&ids=1%2C2&isDry=true");
      await tryIt(page).getByLabel("Media type").selectOption("text/csv");
      assert.match(await command(page).innerText(), /--header 'Content-Type: text\/csv' \\\n {2}--data-raw 'a;b\n1;2\n'$/);
    }));

    test("of a form, of a form with a file, of a client's credentials, and of events", () => visit("#issueToken", async (page) => {
      await hasValue(tryIt(page).getByLabel("grant_type"), "client_credentials");
      const text = await command(page).innerText();
      assert.match(text, /--user "\$CLIENT_ID:\$CLIENT_SECRET"/);
      assert.match(text, /--data-raw 'grant_type=client_credentials&audience=https%3A%2F%2Fapi\.example%2Fa\+b%26c'$/);
      await hasCount(tryIt(page).getByRole("button", { name: "Send" }), 0);
      await page.evaluate(() => (location.hash = "#takeFile"));
      await shown(title(page), "Take a file");
      assert.match(await command(page).innerText(), /--form 'file=@"FILE"' \\\n {2}--form-string 'note=what it'\\''s for'$/);
      await page.evaluate(() => (location.hash = "#followCatalog"));
      await shown(title(page), "Follow the changes of the catalog");
      assert.match(await command(page).innerText(), / \\\n {2}--no-buffer \\\n/);
    }));

    test("that gets a token gets one", () => visit("", async (page) => {
      const text = await page.getByLabel("The command that gets a token", { exact: true }).innerText();
      const env = { ...process.env, CLIENT_ID: on.host.clientId, CLIENT_SECRET: on.host.clientSecret };
      const { stdout } = await run("bash", ["-c", `${text}; curl --silent --header "Authorization: Bearer $TOKEN" '${on.host.url}/api/v1/caller'`], { env });
      assert.equal(JSON.parse(stdout).tenantId, "demo");
    }));
  });

  describe("trying it", () => {
    test("reads with the token of who signs in, and shows status, time, headers and body as they came", () => visit("#getCondition", async (page) => {
      await tryIt(page).getByRole("button", { name: "Sign in to send" }).click();
      await enter(page);
      await page.getByText("You have it.").waitFor();
      await hasFocus(page, "Send");
      await send(page);
      await answer(page).getByText(/^200 OK in \d+ ms, \d+ bytes/).waitFor();
      await answer(page).getByText("The condition", { exact: true }).waitFor();
      assert.deepEqual(JSON.parse(await body(page).innerText()), await (await on.host.api("GET", "/api/v1/entity-conditions/alcohol")).json());
      assert.match(await body(page).innerText(), /^\{\n {2}"id": "alcohol",\n/);
      await answer(page).getByText("Headers", { exact: true }).click();
      assert.match(await answer(page).getByLabel("Headers of the answer").innerText(), /^etag: /m);
      await tryIt(page).getByLabel("conditionId").fill("nothing-like-it");
      await send(page);
      await answer(page).getByText(/^404 Not Found/).waitFor();
      await answer(page).getByText("What is wrong").waitFor();
      expected(page, 404);
    }));

    test("a required parameter that is empty is not sent", () => visit("#getCondition", async (page) => {
      await entered(page);
      await tryIt(page).getByLabel("conditionId").fill("");
      await send(page);
      await tryIt(page).getByText("Enter conditionId.").waitFor();
      await hasFocus(page, "conditionId");
      await hasCount(answer(page), 0);
    }));

    test("a write asks first, and says what it does to whose data", () => visit("#putCondition", async (page) => {
      await entered(page);
      await tryIt(page).getByLabel("conditionId").fill("docs");
      await send(page);
      const dialog = page.getByRole("dialog", { name: "Create or replace a condition?" });
      await dialog.getByText(`PUT /api/v1/entity-conditions/docs is sent to ${new URL(on.host.url).host} for real. It changes data of the tenant “demo” at once.`).waitFor();
      await hasFocus(page, "Cancel", "what is safe has the focus");
      await page.keyboard.press("Enter");
      await hasCount(page.getByRole("dialog"), 0);
      assert.equal((await on.host.api("GET", "/api/v1/entity-conditions/docs")).status, 404);
      await tryIt(page).getByLabel("Example").selectOption("By license");
      await send(page);
      await dialog.getByRole("button", { name: "Send PUT" }).click();
      await answer(page).getByText(/^201 Created/).waitFor();
      assert.equal((await (await on.host.api("GET", "/api/v1/entity-conditions/docs")).json()).rule, "LICENSE_REQUIREMENT");
      await page.evaluate(() => (location.hash = "#deleteCondition"));
      await shown(title(page), "Delete a condition");
      await tryIt(page).getByLabel("conditionId").fill("docs");
      await send(page);
      await page.getByRole("dialog").getByText(/deletes data of the tenant “demo” at once/).waitFor();
      await page.getByRole("dialog").getByRole("button", { name: "Send DELETE" }).click();
      await answer(page).getByText(/^204 No Content in \d+ ms, without a body/).waitFor();
      await answer(page).getByText("It is gone").waitFor();
    }));

    test("what changes nothing does not ask, though it is a POST", () => visit("#evaluateCondition", async (page) => {
      await entered(page);
      await send(page);
      await answer(page).getByText(/^200 OK/).waitFor();
      assert.match(await body(page).innerText(), /"decision": "SOFT_DENY"/);
    }));

    test("numbers stand as the host has sent them", () => visit("#getCondition", async (page) => {
      await entered(page);
      await page.route("**/api/v1/entity-conditions/alcohol", (route) => route.fulfill({ contentType: "application/json", body: '{"amount":1105.00,"big":12345678901234567890,"none":{ },"list":[1,[],"a\\"}"]}' }));
      await send(page);
      await shown(body(page), '{\n  "amount": 1105.00,\n  "big": 12345678901234567890,\n  "none": {},\n  "list": [\n    1,\n    [],\n    "a\\"}"\n  ]\n}');
    }));

    test("events are shown as they come, until they are stopped", () => visit("#followCatalog", async (page) => {
      await entered(page);
      await send(page);
      const events = answer(page).getByLabel("The events", { exact: true });
      await answer(page).getByText(/events arrive as they happen, until you stop/).waitFor();
      const count = async () => (await events.innerText()).match(/^data:/gm)?.length ?? 0;
      await until(async () => (await count()) >= 1, "the first event");
      const known = await count();
      await on.host.api("PUT", "/api/v1/entity-conditions/docs-events", { rule: "LICENSE_REQUIREMENT", condition_value: {} });
      await until(async () => (await count()) > known, "an event of the change");
      await tryIt(page).getByRole("button", { name: "Stop" }).click();
      await answer(page).getByText(/, stopped/).waitFor();
      await hasFocus(page, "Send", "not the button that is gone");
      await hasCount(tryIt(page).getByRole("button", { name: "Stop" }), 0);
      await on.host.api("DELETE", "/api/v1/entity-conditions/docs-events");
    }));

    test("a stream ends when its operation is left", () => visit("#followCatalog", async (page) => {
      await entered(page);
      const ended = page.waitForEvent("requestfailed", (request) => request.url().endsWith("/api/v1/catalog/changes"));
      await send(page);
      await answer(page).getByText(/events arrive as they happen/).waitFor();
      await page.evaluate(() => (location.hash = "#getCondition"));
      await ended;
    }));

    test("says what to do when there is no answer", () => visit("#getCondition", async (page) => {
      await entered(page);
      await page.route("**/api/v1/entity-conditions/alcohol", (route) => route.abort());
      await send(page);
      await answer(page).getByText("There was no answer: the host cannot be reached, or the connection has ended. Send it again once the host answers.").waitFor();
      expected(page, UNREACHABLE);
    }));

    test("who lacks the permission is told before", async () => {
      const viewer = await clientWith(on.host, ["ecs.viewer"]);
      await visit("#deleteCondition", async (page) => {
        await entered(page, viewer);
        await page.getByText("You do not have it.").waitFor();
        await tryIt(page).getByText("You do not have the permission, so expect 403.").waitFor();
        await send(page);
        await page.getByRole("dialog").getByRole("button", { name: "Send DELETE" }).click();
        await answer(page).getByText(/^403 Forbidden/).waitFor();
        expected(page, 403);
      });
    });

    test("a stream ends when who asked signs out", () => visit("#followCatalog", async (page) => {
      await entered(page);
      const ended = page.waitForEvent("requestfailed", (request) => request.url().endsWith("/api/v1/catalog/changes"));
      await send(page);
      await answer(page).getByText(/events arrive as they happen/).waitFor();
      await page.getByRole("button", { name: "Sign out" }).click();
      await ended;
      await answer(page).getByText(/, stopped/).waitFor();
      await hasCount(tryIt(page).getByRole("button", { name: "Stop" }), 0);
    }));

    test("a draft and the place where it was left are there when one comes back", () => visit("#putCondition", async (page) => {
      await page.setViewportSize({ width: 800, height: 500 });
      await tryIt(page).getByLabel("conditionId").fill("cider");
      await tryIt(page).getByLabel("Example").selectOption("By license");
      await page.evaluate(() => new Promise((resolve) => (addEventListener("scroll", resolve, { once: true }), scrollTo(0, 300))));
      const goes = async (hash, name) => {
        await page.evaluate((to) => (location.hash = to), hash);
        await shown(title(page), name);
      };
      await goes("#getCondition", "Read a condition");
      assert.equal(await page.evaluate(() => scrollY), 0);
      await page.goBack();
      await shown(title(page), "Create or replace a condition");
      await hasValue(tryIt(page).getByLabel("conditionId"), "cider");
      assert.match(await tryIt(page).getByLabel("Body").inputValue(), /LICENSE_REQUIREMENT/);
      await eventually(async () => assert.equal(await page.evaluate(() => scrollY), 300));
      // Not by a pointer, which would scroll the page to the link.
      await page.getByRole("link", { name: "All operations" }).evaluate((link) => link.click());
      await shown(title(page), "A sample of an API");
      await goes("#putCondition", "Create or replace a condition");
      await hasValue(tryIt(page).getByLabel("conditionId"), "cider");
      await eventually(async () => assert.equal(await page.evaluate(() => scrollY), 300));
      // The user who signs in meanwhile sends it.
      await goes("#getCondition", "Read a condition");
      await entered(page);
      await goes("#putCondition", "Create or replace a condition");
      await tryIt(page).getByRole("button", { name: "Send", exact: true }).waitFor();
    }));

    test("the token goes to this host only, is not stored, and is gone after signing out", () => visit("#getCondition", async (page) => {
      const bearers = [];
      page.on("request", (request) => request.headers().authorization?.startsWith("Bearer") && bearers.push(new URL(request.url()).origin));
      await page.getByRole("button", { name: "Sign in", exact: true }).click();
      await page.getByRole("radio", { name: "Token" }).check();
      await page.getByLabel("Access token").fill(await on.host.token());
      await page.getByRole("dialog").getByRole("button", { name: "Sign in" }).click();
      await hasCount(page.getByRole("dialog"), 0);
      await send(page);
      await answer(page).getByText(/^200 OK/).waitFor();
      assert.deepEqual([...new Set(bearers)], [new URL(on.host.url).origin]);
      // A redirecting answer is not followed.
      await page.route("**/api/v1/entity-conditions/alcohol", (route) => route.fulfill({ status: 307, headers: { Location: "http://127.0.0.1:9/stolen" } }));
      await send(page);
      await answer(page).getByText("There was no answer:").waitFor();
      assert.deepEqual([...new Set(bearers)], [new URL(on.host.url).origin]);
      const kept = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie]));
      assert.doesNotMatch(kept, /ey[A-Za-z0-9_-]{10}/);
      await page.getByRole("button", { name: "Sign out" }).click();
      await tryIt(page).getByRole("button", { name: "Sign in to send" }).waitFor();
      expected(page, UNREACHABLE, "Content Security Policy", "9/stolen", "URL scheme");
    }));

    test("a wrong secret is refused with a sentence, and what was filled in stays", () => visit("#getCondition", async (page) => {
      await tryIt(page).getByLabel("conditionId").fill("tobacco");
      await tryIt(page).getByRole("button", { name: "Sign in to send" }).click();
      await enter(page, { ...on.host, clientSecret: "wrong" });
      await page.getByRole("alert").getByText("The client id or the secret is wrong").waitFor();
      await page.getByRole("button", { name: "Cancel" }).click();
      await hasValue(tryIt(page).getByLabel("conditionId"), "tobacco");
      await entered(page);
      await hasValue(tryIt(page).getByLabel("conditionId"), "tobacco");
      expected(page, 401);
    }));
  });

  test("a channel shows who sends what, with its schema and examples", () => visit("#events/ratesChanged", async (page) => {
    await shown(title(page), "Rates of a shop have changed");
    await shown(page.locator(".kicker"), "messages");
    await page.getByText("The host sends this. When a rate that the shop uses changes.").waitFor();
    const message = section(page, "The change");
    await message.getByRole("button", { name: "updatedRates" }).click();
    await says(row(message, "rateValue"), "rateValue number Up to six decimals");
    await says(row(message, "replaces"), "replaces Rate or null as above");
    await message.getByText("Headers", { exact: true }).click();
    await says(row(message, "Tenant-Id"), "Tenant-Id string");
    await message.getByText("One rate").click();
    assert.equal(JSON.parse(await message.getByLabel("Example of The change", { exact: true }).innerText()).updatedRates[0].rateValue, 11.05);
    await page.evaluate(() => (location.hash = "#events/deliveries"));
    await page.getByText("The host receives this.").waitFor();
    await says(row(section(page, "An event"), "id"), "id string required");
  }));

  test("everything is reached with the keyboard", () => visit("", async (page) => {
    await search(page).focus();
    await page.keyboard.type("create or replace");
    await page.keyboard.press("Enter");
    await hasFocus(page, "Create or replace a condition");
    await tabTo(page, "condition_value");
    await page.keyboard.press("Enter");
    await row(section(page, "Body"), "minimum_age").waitFor();
    await tabTo(page, "Sign in to send");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog", { name: "Sign in" }).waitFor();
    await hasFocus(page, "Client id");
    await page.keyboard.type(on.host.clientId);
    await page.keyboard.press("Tab");
    await page.keyboard.insertText(on.host.clientSecret);
    await page.keyboard.press("Enter");
    await hasFocus(page, "Send");
    await page.keyboard.press("Enter");
    await hasFocus(page, "Cancel");
    await page.keyboard.press("Escape");
    await hasFocus(page, "Send");
  }));

  describe("looks right, and axe finds nothing", () => {
    const STATES = [
      ["overview", "", (page) => list(page).getByText("conditions", { exact: true }).click()],
      ["operation", "#putCondition", async (page) => {
        await section(page, "Body").getByRole("button", { name: "condition_value" }).click();
        await section(page, "Body").getByText("By age").click();
        await section(page, "Answers").getByText("The id is that of a global condition").click();
      }],
      ["shapes", "#takeShapes", async (page) => {
        for (const name of ["tree", "choice", "pair", "deep", "er", "still"]) await section(page, "Body (optional)").getByRole("button", { name, exact: true }).click();
        await tryIt(page).getByText("4 more parameters").click();
      }],
      ["form", "#issueToken", async () => {}],
      ["signin", "#getCondition", (page) => tryIt(page).getByRole("button", { name: "Sign in to send" }).click()],
      ["question", "#deleteCondition", async (page) => {
        await entered(page);
        await send(page);
        await page.getByRole("dialog").waitFor();
      }],
      ["answer", "#getCondition", async (page) => {
        await entered(page);
        await send(page);
        await body(page).waitFor();
      }],
      ["events", "#followCatalog", async (page) => {
        await entered(page);
        await send(page);
        await answer(page).getByText(/data:/).waitFor();
      }],
      ["refused", "#getCondition", async (page) => {
        await entered(page);
        await tryIt(page).getByLabel("conditionId").fill("nothing like it");
        await send(page);
        await answer(page).getByText(/^4/).waitFor();
        expected(page, 400, 404);
      }],
      ["channel", "#events/ratesChanged", (page) => page.getByRole("button", { name: "updatedRates" }).click()],
      ["unknown", "#getNothing", async () => {}],
      ["found-none", "", (page) => search(page).fill("nothing like it")],
    ];
    for (const [name, hash, prepare] of STATES) {
      test(name, () => visit(hash, async (page) => {
        await page.setViewportSize({ width: 1440, height: 900 });
        await prepare(page);
        await still(page);
        await looksRight(page, `docs-${name}`);
      }));
    }

    test("nothing that has the focus is hidden, at 200 % and at 360 px", () => visit("#putCondition", async (page) => {
      for (const [width, height] of [[640, 400], [360, 640]]) {
        await page.setViewportSize({ width, height });
        await page.evaluate(() => scrollTo(0, 0));
        const hidden = [];
        for (let press = 0; press < 40; press += 1) {
          await page.keyboard.press("Tab");
          const isSeen = () => page.evaluate(() => {
            const { activeElement: focused } = document;
            const { left, top, width, height } = focused.getBoundingClientRect();
            const hit = document.elementFromPoint(left + Math.min(width / 2, 20), top + Math.min(height / 2, 12));
            return focused === document.body || (hit !== null && (focused.contains(hit) || hit.contains(focused)));
          });
          await until(isSeen, "the focus is seen").catch(async () => hidden.push(await page.evaluate(() => document.activeElement.outerHTML.slice(0, 80))));
        }
        assert.deepEqual(hidden, []);
      }
    }));
  });
});

describe("documents that cannot be loaded", () => {
  const BROKEN = {
    "cannot be reached": [(route) => route.abort(), /openapi\.json cannot be reached\. Try again once the host answers\./],
    "are not there": [(route) => route.fulfill({ status: 404, body: "" }), /openapi\.json returned 404, although every host has this document\. Is something in front of the host/],
    "are no JSON": [(route) => route.fulfill({ contentType: "text/html", body: "<h1>Welcome</h1>" }), /openapi\.json did not return JSON, so the answer is not from a host\./],
  };
  for (const [name, [handle, text]] of Object.entries(BROKEN)) {
    test(`because they ${name}: the page says so, and loads them again`, async () => {
      await answering(on.context, "openapi.json", handle);
      await answering(on.context, "asyncapi.json", sample("asyncapi.json"));
      await visit("#getCondition", async (page) => {
        await shown(title(page), "The documents of the API cannot be loaded");
        await page.getByText(text).waitFor();
        await still(page);
        await looksRight(page, `docs-failed-${name.split(" ").at(-1)}`);
        await on.context.unroute("**/openapi.json");
        await answering(on.context, "openapi.json", sample("openapi.json"));
        await page.getByRole("button", { name: "Load again" }).click();
        await shown(title(page), "Read a condition");
        expected(page, UNREACHABLE);
      });
      await on.context.unroute("**/openapi.json");
      await on.context.unroute("**/asyncapi.json");
    });
  }

  test("only the events: operations are there all the same", async () => {
    await answering(on.context, "openapi.json", sample("openapi.json"));
    await answering(on.context, "asyncapi.json", (route) => route.fulfill({ status: 502, body: "" }));
    await visit("#getCondition", async (page) => {
      await page.setViewportSize({ width: 1280, height: 800 });
      await shown(title(page), "Read a condition");
      await page.getByText(/asyncapi\.json returned 502/).waitFor();
      await on.context.unroute("**/asyncapi.json");
      await answering(on.context, "asyncapi.json", sample("asyncapi.json"));
      await page.getByRole("button", { name: "Load again" }).click();
      await list(page).getByText("messages", { exact: true }).waitFor();
      expected(page, UNREACHABLE);
    });
    await on.context.unroute("**/openapi.json");
    await on.context.unroute("**/asyncapi.json");
  });
});

describe("with the documents of this host", () => {
  const read = async (name) => (await fetch(`${on.host.url}/${name}`)).json();

  test("every operation and every channel is listed and can be opened, and no schema is missing", () => visit("", async (page) => {
    const [api, events] = [await read("openapi.json"), await read("asyncapi.json")];
    const operations = Object.values(api.paths).flatMap((item) => Object.values(item));
    assert.ok(operations.length > 60, `${operations.length}`);
    const ids = [...operations.map(({ operationId }) => operationId), ...Object.keys(events.channels).map((name) => `events/${name}`)];
    const listed = await list(page).getByRole("link", { includeHidden: true }).evaluateAll((links) => links.map((link) => decodeURIComponent(link.hash.slice(1))));
    assert.deepEqual(listed.sort(), ids.sort());
    for (const id of ids) {
      await page.evaluate((hash) => (location.hash = hash), encodeURIComponent(id));
      const known = operations.find(({ operationId }) => operationId === id)?.summary ?? events.channels[id.slice("events/".length)].title;
      await shown(title(page), known);
      assert.equal(await page.locator("main").getByText(/undefined|\[object|NaN/).count(), 0, id);
    }
  }));

  test("“ECB” finds the import of reference rates, and who may call it is told by roles", () => visit("", async (page) => {
    await search(page).fill("ECB");
    await search(page).press("Enter");
    await shown(title(page), "Import a document of reference rates");
    const facts = page.locator(".facts");
    await shown(facts.locator("dt", { hasText: "Roles that have it" }).locator("+ dd"), "exr.editor, platform.operator");
    await search(page).fill("ecs.evaluator basket");
    await search(page).press("Enter");
    await shown(title(page), "Evaluate a basket");
    await page.evaluate(() => (location.hash = "putGlobalCondition"));
    await shown(facts.locator("dt", { hasText: "Role that has it" }).locator("+ dd"), "platform.operator");
  }));

  test("the search stays in place while the list is scrolled, and covers nothing that has the focus", () => visit("", async (page) => {
    for (const [width, height] of [[360, 640], [800, 640], [1440, 640]]) {
      await page.setViewportSize({ width, height });
      await list(page).locator("details").evaluateAll((groups) => groups.forEach((group) => (group.open = true)));
      const links = list(page).getByRole("link");
      await links.last().focus();
      const field = await search(page).boundingBox();
      assert.ok(field.y >= 0 && field.y < 200, `at ${width} px the search is at ${field.y}`);
      for (let press = 0; press < 40; press += 1) {
        await page.keyboard.press("Shift+Tab");
        const isSeen = () => page.evaluate(() => {
          const { left, top } = document.activeElement.getBoundingClientRect();
          return document.activeElement.contains(document.elementFromPoint(left + 12, top + 6));
        });
        await until(isSeen, `at ${width} px the focus is seen`);
      }
    }
  }));

  test("the id of the tenant is that of who is signed in, unless another was entered", () => visit("#listTemplates", async (page) => {
    const tenant = tryIt(page).getByLabel("tenantId");
    await hasValue(tenant, "acme");
    await entered(page);
    await hasValue(tenant, "demo");
    assert.match(await command(page).innerText(), /\/v1\/tenants\/demo\/templates'/);
    await page.evaluate(() => (location.hash = "#listClients"));
    await shown(title(page), "List the clients of a tenant");
    await hasValue(tenant, "demo");
    await tenant.fill("other");
    await page.getByRole("button", { name: "Sign out" }).click();
    await hasValue(tenant, "other");
    await page.evaluate(() => (location.hash = "#followRates"));
    await tryIt(page).getByText("4 more parameters").click();
    await hasValue(tenant, "", "what need not be there is not filled in");
  }));

  test("“Try it” leads to the first control that is seen", () => visit("#putCondition", async (page) => {
    await page.setViewportSize({ width: 640, height: 800 });
    for (const [id, name] of [["putCondition", "conditionId"], ["listConditions", "1 more parameter"], ["listTenants", "1 more parameter"], ["createWebhook", "Example"], ["getHealth", "Copy: The curl command"]]) {
      await page.evaluate((hash) => (location.hash = hash), id);
      await page.locator("dd").getByText(id, { exact: true }).waitFor();
      await page.getByRole("button", { name: "Try it" }).click();
      await hasFocus(page, name, id);
    }
  }));

  test("both documents can be downloaded", () => visit("", async (page) => {
    for (const name of SAMPLES.keys()) {
      const saved = await downloaded(page, () => page.getByRole("link", { name, exact: true }).click());
      assert.deepEqual([saved.name, JSON.parse(saved.text)], [name, await read(name)]);
    }
  }));

  test("what is filled in of the examples is accepted: a decision, a rate, a page of the list", () => visit("", async (page) => {
    await entered(page);
    for (const [id, status] of [["evaluateCondition", "200 OK"], ["evaluateBasket", "200 OK"], ["listConditions", "200 OK"], ["getCaller", "200 OK"], ["getHealth", "200 OK"]]) {
      await page.evaluate((hash) => (location.hash = hash), id);
      await page.getByText(id, { exact: true }).waitFor();
      await send(page);
      await answer(page).getByText(status).waitFor();
    }
  }));

  test("reference rates are imported as each example has them, with the parameters that a form has as parts", () => visit("#importReferenceRates", async (page) => {
    await entered(page);
    for (const type of ["application/xml", "text/csv"]) {
      await tryIt(page).getByLabel("Media type").selectOption(type);
      await hasValue(tryIt(page).getByLabel("businessUnitId"), "nordic-retail");
      await send(page);
      await page.getByRole("dialog").getByRole("button", { name: "Send POST" }).click();
      await answer(page).getByText(/^200 OK/).waitFor();
      assert.equal(JSON.parse(await body(page).innerText()).date, "2026-11-20", type);
    }
    await tryIt(page).getByLabel("Media type").selectOption("multipart/form-data");
    for (const name of ["businessUnitId", "crosses"]) await hasCount(tryIt(page).getByLabel(name).and(page.locator(":visible")), 1, `${name} is a part`);
    assert.doesNotMatch(await command(page).innerText(), /businessUnitId=nordic-retail&/);
  }));

  test("the data of the service's own events is shown as what it holds", () => visit("#events/deliveries", async (page) => {
    await page.getByText("The host sends this. The receivers of webhooks get these requests.").waitFor();
    await shown(page.getByRole("heading", { level: 2 }).nth(1), "An event");
    const message = section(page, "A condition has changed");
    await message.getByRole("button", { name: "data", exact: true }).click();
    await message.getByRole("button", { name: "what it holds" }).click();
    await says(row(message, "action"), 'action string required one of "CREATED", "REPLACED", "DELETED"');
  }));

  test("a condition is created as the example has it, after a question", () => visit("#putCondition", async (page) => {
    await entered(page);
    await tryIt(page).getByLabel("conditionId").fill("docs-real");
    await send(page);
    await page.getByRole("dialog").getByRole("button", { name: "Send PUT" }).click();
    await answer(page).getByText(/^201 Created/).waitFor();
    assert.equal((await on.host.api("DELETE", "/api/v1/entity-conditions/docs-real")).status, 204);
  }));

  for (const id of ["", "#putProject", "#importReferenceRates", "#createWebhook", "#events/ratesChanged"]) {
    test(`looks right, and axe finds nothing: ${id || "overview"}`, () => visit(id, async (page) => {
      await still(page);
      await looksRight(page, `docs-real-${id.replace(/\W/g, "")}`);
    }));
  }
});

test("the page of the rules leads there, where developers look, and whoever is signed in there is signed in here", async () => {
  const page = await open(on.context, on.host.url);
  await page.getByLabel("Stay signed in when this tab is reloaded").check();
  await signIn(page, on.host);
  await page.getByText("Request and response, for developers").click();
  assert.equal(await page.getByRole("link", { name: "All operations of the API" }).evaluate(({ href }) => href), `${on.host.url}/docs`);
  const opened = async (press) => (await Promise.all([page.waitForEvent("popup"), press()]))[0];
  for (const name of ["API", "All operations of the API"]) {
    const docs = await opened(() => page.getByRole("link", { name, exact: true }).click());
    await docs.getByRole("button", { name: "Sign out" }).waitFor();
    assert.equal(docs.url(), `${on.host.url}/docs`, "the address has no secret");
    assert.deepEqual(await docs.evaluate(() => ({ ...sessionStorage, ...localStorage })), {}, "and nothing is stored, although the browser copies what the page keeps for its tab");
    await docs.close();
  }
  // Each request asks for a token, which the page has until its user signs out.
  const docs = await opened(() => page.getByRole("link", { name: "API", exact: true }).click());
  await docs.getByRole("button", { name: "Sign out" }).waitFor();
  await docs.evaluate(() => (location.hash = "listConditions"));
  await send(docs);
  await answer(docs).getByText(/^200 OK/).waitFor();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("Client id").waitFor();
  await send(docs);
  await answer(docs).getByText("It was not sent: nobody is signed in on the page that has opened this one.").waitFor();
  // The next user is somebody else, also for pages that are open already.
  await signIn(page, await clientWith(on.host, ["ecs.viewer", "ecs.evaluator"]));
  await page.getByRole("heading", { level: 1, name: "Preview" }).waitFor();
  await docs.evaluate(() => (location.hash = "listProjects"));
  await send(docs);
  await answer(docs).getByText("It was not sent: nobody is signed in on the page that has opened this one.").waitFor();
  await docs.close();
  assert.deepEqual(page.faults, []);
  await page.close();
});
