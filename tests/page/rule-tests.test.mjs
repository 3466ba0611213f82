// Tests of a rule: Preview keeps a decision as one, the editors run them during typing, and saving a rule that fails one is
// never silent.
//
//     cargo build && node --test tests/page/rule-tests.test.mjs     TESTS_LONG=1 keeps screenshots in tests/output/

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";

import { signedIn } from "../support/browser.mjs";
import { looksRight, still } from "../support/looks.mjs";
import { PROJECT, agrees, decision, dialog, expected, go, hasCount, hasValue, loseAnswers, onDemo, onHost, pressButton, save, shown, tabTo, visit } from "../support/page.mjs";
import { clientWith, emptyHost } from "../support/program.mjs";
import { eventually } from "../support/wait.mjs";

const SITE = "5f0f1a2b-0000-4000-8000-000000000031";
const ENERGY = "/api/v1/entity-conditions/energy-drink";
const project = (id) => `/api/v1/projects/${id}`;

const on = onDemo();

const stored = async (path) => (await on.host.api("GET", path)).json();

/** Puts a rule in the form that a test needs: with the tests that it names, and no others. */
const put = async (path, body) => {
  const { status } = await on.host.api("PUT", path, { tests: [], ...body });
  assert.ok(status === 200 || status === 201, `${path}: ${status}`);
};

const aged = (name, age, expected) => ({ name, request: { item: { id: "cola" }, context: { customer: { customer_age: age } } }, expect: { decision: expected } });
const fifteen = (tests) => ({ rule: "AGE_RESTRICTION", enabled: true, condition_value: { minimum_age: 15 }, ...(tests && { tests }) });
const TOO_YOUNG = aged("fourteen may not", 14, "HARD_DENY");
const OLD_ENOUGH = aged("fifteen may", 15, "ALLOW");
const grouped = (name, group, expected) => ({ name, request: { item: { id: "any", additionalProperties: { productGroup: group } } }, expect: { decision: expected } });
const site = (groups, tests) => ({ name: "Test site", restrictions: [{ type: "WHITELIST", propertyName: "productGroup", allowedValues: groups, exclusive: false }], ...(tests && { tests }) });

const keep = (page) => page.getByRole("button", { name: "Keep this as a test" });
const edit = (page, name) => page.getByRole("button", { name: `Edit ${name}` }).click();
const tests = (page) => dialog(page).getByRole("region", { name: "Tests", exact: true });
const row = (page, about) => tests(page).getByRole("listitem").filter({ hasText: about });
const failing = (page) => dialog(page).getByRole("region", { name: "Tests that fail" });
const review = (page) => pressButton(dialog(page), "Review");

/** Enters the values of the first rule of a project. */
const fillValues = (page, values) => dialog(page).getByLabel("Values, one per line").first().fill(values.join("\n"));

test("“Nobody may buy insulation on the school project any more, and I want to be told should someone undo that.”", () => visit(on, "#/projects", async (page) => {
  await edit(page, "School, new building");
  await fillValues(page, ["timber", "fasteners"]);
  await save(page);
  await page.getByText("productGroup must be timber or fasteners").waitFor();

  await page.getByRole("link", { name: "Preview School, new building" }).click();
  await page.getByLabel("productGroup", { exact: true }).fill("insulation");
  await shown(decision(page), "Must not be sold");
  await keep(page).click();
  await dialog(page).getByText("Saving a change of “School, new building” that decides this differently will show a warning with the name of this test.").waitFor();
  await hasValue(dialog(page).getByLabel("Name of the test"), "screws-4x40, productGroup insulation: must not be sold");
  await dialog(page).getByLabel("Name of the test").fill("No insulation for the school");
  await pressButton(dialog(page), "Keep the test");
  await page.getByText("The test is kept.").waitFor();
  const kept = await stored(project(PROJECT));
  assert.deepEqual(kept.tests, [
    {
      name: "No insulation for the school",
      request: { item: { id: "screws-4x40", additionalProperties: { productGroup: "insulation" } } },
      expect: { decision: "HARD_DENY" },
    },
  ]);
  assert.deepEqual(kept.restrictions[0].allowedValues, ["timber", "fasteners"]);

  // Another user undoes it.
  await page.getByRole("link", { name: "Projects" }).click();
  await edit(page, "School, new building");
  await tests(page).getByText("The test passes.").waitFor();
  await fillValues(page, ["timber", "fasteners", "insulation"]);
  await tests(page).getByText("1 test fails.").waitFor();
  await row(page, "productGroup insulation").getByText("Expected: Must not be sold. Actual: May be sold.").waitFor();
  await review(page);
  await failing(page).getByRole("heading", { name: "If you save this, 1 test fails" }).waitFor();
  await failing(page).getByText("No insulation for the school").waitFor();
  await dialog(page).getByRole("button", { name: "Save although 1 test fails" }).waitFor();
  await hasCount(dialog(page).getByRole("button", { name: "Save", exact: true }), 0, "nothing saves it silently");
  await dialog(page).getByRole("button", { name: "Cancel" }).click();
  await dialog(page).getByRole("button", { name: "Discard" }).click();
  assert.deepEqual((await stored(project(PROJECT))).restrictions[0].allowedValues, ["timber", "fasteners"]);
}));

describe("keeping a test", () => {
  before(() => put(ENERGY, fifteen()));

  test("of a condition proposes a name, and saving keeps all else as it is", () => visit(on, "#/preview/condition/energy-drink?age=14&item=cola", async (page) => {
    await shown(decision(page), "Must not be sold");
    await keep(page).click();
    await dialog(page).getByText("cola, 14 years old: Must not be sold.").waitFor();
    await hasValue(dialog(page).getByLabel("Name of the test"), "14 years old: must not be sold");
    await dialog(page).getByLabel("Reason (optional)").fill("Asked by the police");
    await dialog(page).getByRole("button", { name: "Keep the test" }).click();
    await page.getByText("The test is kept.").waitFor();
    const { tests: kept, ...rule } = await stored(ENERGY);
    assert.deepEqual(kept, [aged("14 years old: must not be sold", 14, "HARD_DENY")]);
    assert.deepEqual(rule, { id: "energy-drink", scope: "TENANT", ...fifteen() });
    assert.equal((await stored(`${ENERGY}/history`)).items[0].note, "Asked by the police");

    // The same name is taken.
    await keep(page).click();
    await dialog(page).getByRole("button", { name: "Keep the test" }).click();
    await dialog(page).getByText("The rule has a test with this name. Choose another name.").waitFor();
    await dialog(page).getByRole("button", { name: "Cancel" }).click();
    await put(ENERGY, fifteen());
  }));

  test("an age that was not asked is a test too", () => visit(on, "#/preview/condition/energy-drink?age=&item=cola", async (page) => {
    await shown(decision(page), "Ask first");
    await keep(page).click();
    await hasValue(dialog(page).getByLabel("Name of the test"), "customer not asked: ask first");
    await dialog(page).getByRole("button", { name: "Keep the test" }).click();
    await page.getByText("The test is kept.").waitFor();
    assert.deepEqual((await stored(ENERGY)).tests[0].request, { item: { id: "cola" }, context: { customer: {} } });
    await put(ENERGY, fifteen());
  }));

  test("adds to what another user saves at the same time", () => visit(on, "#/preview/condition/energy-drink?age=14&item=cola", async (page) => {
    await keep(page).click();
    let reads = 0;
    await page.route("**/api/v1/entity-conditions/energy-drink", async (route) => {
      const answer = await route.fetch();
      if (route.request().method() === "GET" && (reads += 1) === 1) await put(ENERGY, fifteen([OLD_ENOUGH]));
      await route.fulfill({ response: answer });
    });
    await dialog(page).getByRole("button", { name: "Keep the test" }).click();
    await page.getByText("The test is kept.").waitFor();
    assert.deepEqual((await stored(ENERGY)).tests.map(({ name }) => name), ["fifteen may", "14 years old: must not be sold"]);
    await put(ENERGY, fifteen());
    expected(page, 412);
  }));

  test("is refused when the rule decides otherwise by then", () => visit(on, "#/preview/condition/energy-drink?age=15&item=cola", async (page) => {
    await shown(decision(page), "May be sold");
    await keep(page).click();
    await put(ENERGY, { ...fifteen(), condition_value: { minimum_age: 16 } });
    await dialog(page).getByRole("button", { name: "Keep the test" }).click();
    await dialog(page).getByText("The rule has changed and now decides this differently. Look at the preview again.").waitFor();
    assert.equal((await stored(ENERGY)).tests, undefined);
    await put(ENERGY, fifteen());
    expected(page, 409);
  }));

  test("asks first when other tests of the rule fail already", () => visit(on, "#/preview/condition/energy-drink?age=15&item=cola", async (page) => {
    await put(`${ENERGY}?failingTests=accept`, fifteen([aged("sixteen may not", 16, "HARD_DENY")]));
    await keep(page).click();
    await dialog(page).getByLabel("Reason (optional)").fill("It fails already");
    await dialog(page).getByRole("button", { name: "Keep the test" }).click();
    await page.getByText("Keep it although 1 other test fails?").waitFor();
    await page.getByText("Even without this test, the rule fails “sixteen may not”.").waitFor();
    await dialog(page).last().getByRole("button", { name: "Keep the test" }).click();
    await page.getByText("The test is kept.").waitFor();
    assert.equal((await stored(ENERGY)).tests.length, 2);
    assert.equal((await stored(`${ENERGY}/history`)).items[0].note, "It fails already");
    await put(ENERGY, fifteen());
    expected(page, 409);
  }));

  test("whose answer is lost is looked for", () => visit(on, "#/preview/condition/energy-drink?age=15&item=cola", async (page) => {
    await keep(page).click();
    await loseAnswers(page, "**/api/v1/entity-conditions/energy-drink");
    await dialog(page).getByRole("button", { name: "Keep the test" }).click();
    await page.getByText("It was kept. The host’s answer was lost, so the page checked.").waitFor();
    await page.unroute("**/api/v1/entity-conditions/energy-drink");
    assert.equal((await stored(ENERGY)).tests.length, 1);
    await put(ENERGY, fifteen());
  }));

  test("is not offered for a draft, for what decides nothing, and to users who may not write", async () => {
    await visit(on, "#/preview/condition/energy-drink?age=15", async (page) => {
      await keep(page).waitFor();
      await page.getByText("Try a change", { exact: true }).click();
      await page.getByLabel("Minimum age").fill("16");
      await page.getByText("If you saved this:").waitFor();
      await hasCount(keep(page), 0, "of a draft");
      await page.getByRole("button", { name: "Discard" }).click();
      await keep(page).waitFor();
      await page.getByLabel("Customer’s age", { exact: true }).fill("200");
      await hasCount(keep(page), 0, "of what cannot be decided");
      await go(page, "#/preview/condition/alcohol");
      await agrees(page);
      await hasCount(keep(page), 0, "of a global rule");
      expected(page, 400);
    });
    const page = await signedIn(on.context, await clientWith(on.host, ["ecs.viewer"]), `#/preview/project/${PROJECT}`);
    await shown(decision(page), "Must not be sold");
    assert.equal(await keep(page).count(), 0);
    assert.deepEqual(page.faults, []);
    await page.close();
  });
});

describe("in the editor of a condition", () => {
  before(() => put(ENERGY, fifteen([TOO_YOUNG, OLD_ENOUGH])));
  after(() => put(ENERGY, fifteen()));

  test("tests are green and red while typing, and what fails is named with what was expected", () => visit(on, "#/conditions", async (page) => {
    await edit(page, "energy-drink");
    await tests(page).getByText("All 2 tests pass.").waitFor();
    await row(page, "14 years old").getByText("Passes").waitFor({ state: "attached" });
    await dialog(page).getByLabel("Minimum age").fill("14");
    await tests(page).getByText("1 test fails, 1 passes.").waitFor();
    await row(page, "14 years old").getByText("Fails").waitFor({ state: "attached" });
    await row(page, "14 years old").getByText("Expected: Must not be sold. Actual: May be sold.").waitFor();
    await row(page, "15 years old").getByText("Passes").waitFor({ state: "attached" });
    await dialog(page).getByRole("switch", { name: "In force" }).uncheck();
    await tests(page).getByText("2 tests fail.").waitFor();
    await row(page, "15 years old").getByText("Actual: No decision, because the rule is not in force.").waitFor();
    await dialog(page).getByRole("switch", { name: "In force" }).check();
    await dialog(page).getByLabel("Minimum age").fill("");
    await tests(page).getByText("They run once the rule is complete.").waitFor();
    await dialog(page).getByLabel("Minimum age").fill("15");
    await tests(page).getByText("All 2 tests pass.").waitFor();
  }));

  test("saving another thing keeps the tests", () => visit(on, "#/conditions", async (page) => {
    await put(ENERGY, fifteen([aged("thirteen may not", 13, "HARD_DENY")]));
    await edit(page, "energy-drink");
    await dialog(page).getByLabel("Minimum age").fill("16");
    await save(page);
    await page.getByText("Saved. The change is in force.").waitFor();
    assert.deepEqual((await stored(ENERGY)).tests, [aged("thirteen may not", 13, "HARD_DENY")]);
    await put(ENERGY, fifteen([TOO_YOUNG, OLD_ENOUGH]));
  }));

  test("a rule that fails tests is saved only by the button that says so", () => visit(on, "#/conditions", async (page) => {
    const sent = [];
    page.on("request", (request) => request.method() === "PUT" && sent.push(new URL(request.url()).search));
    await edit(page, "energy-drink");
    await dialog(page).getByLabel("Minimum age").fill("16");
    await review(page);
    await failing(page).getByText("fifteen may").waitFor();
    await failing(page).getByText("Expected: May be sold. Actual: Must not be sold.").waitFor();
    await hasCount(failing(page).getByText("fourteen may not"), 0);
    assert.deepEqual(sent, []);
    await dialog(page).getByRole("button", { name: "Save although 1 test fails" }).click();
    await dialog(page).getByText("The rule fails “fifteen may”.").waitFor();
    assert.deepEqual(sent, [], "it is asked once more");
    await pressButton(dialog(page), "Save anyway");
    await page.getByText("Saved. The change is in force.").waitFor();
    assert.deepEqual(sent, ["?failingTests=accept"]);
    assert.equal((await stored(ENERGY)).tests.length, 2);
    await put(ENERGY, fifteen([TOO_YOUNG, OLD_ENOUGH]));
  }));

  test("what only the host finds to fail is reviewed again, and not saved silently", () => visit(on, "#/conditions", async (page) => {
    const message = ['$.tests[0] "fourteen may not": expected HARD_DENY, is ALLOW'];
    const problem = { statusCode: 409, code: "tests_failed", error: "Conflict", message };
    let asked = 0;
    await page.route("**/api/v1/entity-conditions/energy-drink*", (route) => {
      if (route.request().method() !== "PUT" || (asked += 1) > 1) return route.fallback();
      return route.fulfill({ status: 409, contentType: "application/problem+json", body: JSON.stringify(problem) });
    });
    await edit(page, "energy-drink");
    await dialog(page).getByRole("textbox", { name: "Name of the test" }).first().fill("fourteen may not buy");
    await save(page);
    await failing(page).getByText("fourteen may not buy").waitFor();
    await failing(page).getByText("Expected: Must not be sold. The host decides differently.").waitFor();
    assert.deepEqual((await stored(ENERGY)).tests, [TOO_YOUNG, OLD_ENOUGH]);
    await dialog(page).getByRole("button", { name: "Save although 1 test fails" }).click();
    await pressButton(dialog(page), "Save anyway");
    await page.getByText("Saved. The change is in force.").waitFor();
    assert.equal((await stored(ENERGY)).tests[0].name, "fourteen may not buy");
    await put(ENERGY, fifteen([TOO_YOUNG, OLD_ENOUGH]));
    expected(page, 409);
  }));

  test("tests are renamed and removed, and the review says so in words", () => visit(on, "#/conditions", async (page) => {
    await edit(page, "energy-drink");
    await dialog(page).getByRole("textbox", { name: "Name of the test" }).first().fill("fifteen may");
    await tests(page).getByText("Another test has this name.").waitFor();
    await review(page);
    await hasCount(dialog(page).getByText("What changes", { exact: true }), 0, "two tests with one name are not reviewed");
    await dialog(page).getByRole("textbox", { name: "Name of the test" }).first().fill("Nobody below 15");
    await pressButton(dialog(page), "Remove the test “fifteen may”");
    await tests(page).getByText("The test passes.").waitFor();
    await review(page);
    const changes = dialog(page).getByRole("list", { name: "Changes" });
    await changes.getByRole("heading", { name: "Test renamed" }).waitFor();
    await changes.getByText("added: Nobody below 15").waitFor();
    await changes.getByRole("heading", { name: "Test removed" }).waitFor();
    await changes.getByText("removed: fifteen may", { exact: false }).first().waitFor();
    await pressButton(dialog(page), "Save");
    await page.getByText("Saved. The change is in force.").waitFor();
    assert.deepEqual((await stored(ENERGY)).tests, [{ ...TOO_YOUNG, name: "Nobody below 15" }]);
    await put(ENERGY, fifteen([TOO_YOUNG, OLD_ENOUGH]));
  }));

  test("a test opens in Preview, and what was typed is kept as a draft", () => visit(on, "#/conditions", async (page) => {
    await edit(page, "energy-drink");
    await dialog(page).getByLabel("Minimum age").fill("14");
    await pressButton(dialog(page), "Open the test “fourteen may not” in Preview");
    await dialog(page).waitFor({ state: "detached" });
    await hasValue(page.getByLabel("Customer’s age", { exact: true }), "14");
    await page.getByText("If you saved this:").waitFor();
    await page.getByText("Today: Must not be sold.").waitFor();
    await page.getByRole("button", { name: "Discard" }).click();
  }));

  test("a draft of tests alone survives Preview, and is none once it is saved", () => visit(on, "#/conditions", async (page) => {
    await edit(page, "energy-drink");
    await dialog(page).getByRole("button", { name: "Remove the test “fifteen may”" }).click();
    await page.keyboard.press("Escape");
    await page.getByText("Draft", { exact: true }).waitFor();
    await go(page, "#/preview/condition/energy-drink");
    await agrees(page);
    await go(page, "#/conditions");
    await edit(page, "energy-drink");
    await dialog(page).getByText("This is your unsaved draft").waitFor();
    await tests(page).getByText("The test passes.").waitFor();
    await dialog(page).getByRole("button", { name: "Start over" }).click();
    await tests(page).getByText("All 2 tests pass.").waitFor();
    await dialog(page).getByRole("button", { name: "Remove the test “fifteen may”" }).click();
    await save(page);
    await page.getByText("Saved. The change is in force.").waitFor();
    await hasCount(page.getByText("Draft", { exact: true }), 0, "no rule has changed, and the list is drawn again all the same");
    await put(ENERGY, fifteen([TOO_YOUNG, OLD_ENOUGH]));
  }));

  test("the keyboard alone removes a test, and the focus stays in the list", () => visit(on, "#/conditions", async (page) => {
    await edit(page, "energy-drink");
    await tests(page).getByText("All 2 tests pass.").waitFor();
    await tabTo(page, "Remove the test “fourteen may not”");
    await page.keyboard.press("Enter");
    await eventually(async () => assert.equal(await page.evaluate(() => document.activeElement.value), "fifteen may"));
  }));

  test("two users: what one did to the tests is part of the difference", () => visit(on, "#/conditions", async (page) => {
    await edit(page, "energy-drink");
    await dialog(page).getByLabel("Minimum age").fill("14");
    await put(ENERGY, fifteen([TOO_YOUNG, OLD_ENOUGH, aged("twenty may", 20, "ALLOW")]));
    await review(page);
    await dialog(page).getByRole("button", { name: "Save although 1 test fails" }).click();
    await pressButton(dialog(page), "Save anyway");
    const theirs = dialog(page).locator(".side").filter({ hasText: "Their changes" });
    await theirs.getByRole("heading", { name: "Test added" }).waitFor();
    await theirs.getByText("twenty may").waitFor();
    await dialog(page).getByRole("button", { name: "Keep theirs" }).click();
    await put(ENERGY, fifteen([TOO_YOUNG, OLD_ENOUGH]));
    expected(page, 412);
  }));
});

test("a list marks a rule that changes while its tests are read", () => visit(on, "#/preview", async (page) => {
  let [read, answer] = [];
  const [isRead, isAnswered] = [new Promise((resolve) => (read = resolve)), new Promise((resolve) => (answer = resolve))];
  await page.route("**/api/v1/catalog?tests=true", async (route) => {
    const response = await route.fetch();
    read();
    await isAnswered;
    return route.fulfill({ response });
  });
  await go(page, "#/conditions");
  await isRead;
  await put(`${ENERGY}?failingTests=accept`, { ...fifteen([TOO_YOUNG]), condition_value: { minimum_age: 14 } });
  const energy = page.locator(".row").filter({ has: page.getByRole("heading", { name: "energy-drink", exact: true }) });
  await energy.getByText("14+").waitFor();
  answer();
  await energy.getByText("1 test fails", { exact: true }).waitFor();
  await put(ENERGY, fifteen());
}));

test("the lists mark the rules whose own tests fail, also one that changes while it is listed, and those that are checked separately", () => visit(on, "#/conditions", async (page) => {
  const accepted = (path, body) => put(`${path}?failingTests=accept`, body);
  const listed = (name) => page.locator(".row").filter({ has: page.getByRole("heading", { name, exact: true }) });
  await listed("energy-drink").waitFor();
  await accepted(ENERGY, { ...fifteen([TOO_YOUNG, OLD_ENOUGH]), condition_value: { minimum_age: 14 } });
  const mark = listed("energy-drink").getByText("1 test fails", { exact: true });
  await mark.waitFor();
  assert.equal(await mark.getAttribute("title"), "fourteen may not");
  await put(ENERGY, fifteen([TOO_YOUNG, OLD_ENOUGH]));
  await mark.waitFor({ state: "detached" });

  const { restrictions } = site(["timber"]);
  const more = ["a", "b"].map((id) => ({ type: "BLACKLISTEDITEMS", itemIds: [id], exclusive: false }));
  const apart = { type: "WHITELIST", propertyName: "productGroup", allowedValues: ["timber"], exclusive: true };
  await accepted(project(SITE), { name: "Test site", restrictions: [...restrictions, ...more, apart], tests: [grouped("no timber", "timber", "HARD_DENY"), grouped("glass", "glass", "ALLOW")] });
  await go(page, "#/projects");
  await listed("Test site").getByText("2 tests fail", { exact: true }).waitFor();
  await listed("Test site").getByText("and 1 rule more, checked separately").waitFor();
  await put(project(SITE), site(["timber", "glass"]));
  await listed("Test site").getByText("2 tests fail", { exact: true }).waitFor({ state: "detached" });
  await on.host.api("DELETE", project(SITE));
  await put(ENERGY, fifteen());
}));

describe("a global rule", () => {
  const platform = onHost(emptyHost);

  test("tells the operator who changes it how many tests of tenants would fail, and how many fail since", () => visit(platform, "#/conditions", async (page) => {
    const path = "/api/v1/global-entity-conditions/fireworks";
    const off = { rule: "AGE_RESTRICTION", enabled: false, condition_value: { minimum_age: 18 } };
    // The tenant's own came first, and is off: the global one decides its test.
    const shop = await clientWith(platform.host, ["ecs.editor"], "shop");
    const own = await shop.api("PUT", "/api/v1/entity-conditions/fireworks?failingTests=accept", { ...off, tests: [aged("seventeen may not", 17, "HARD_DENY")] });
    assert.equal(own.status, 201);
    await platform.host.api("PUT", path, { rule: "AGE_RESTRICTION", condition_value: { minimum_age: 18 } });
    await page.getByRole("button", { name: "Edit fireworks" }).click();
    await dialog(page).getByLabel("Minimum age").fill("16");
    await save(page);
    await dialog(page).getByText("It is in force for them as soon as it is saved. 1 of their tests would fail.").waitFor();
    await pressButton(dialog(page), "Save for all");
    await page.getByText("1 test of tenants now fails.").waitFor();
  }));
});

describe("tests look right, and axe finds nothing", () => {
  const long = (at) => aged(`${"A test with a long name ".repeat(6)}${at}`, at, at < 15 ? "HARD_DENY" : "ALLOW");
  before(async () => {
    await put(ENERGY, fifteen([TOO_YOUNG, OLD_ENOUGH, long(12), long(40)]));
    await put(project(SITE), site(["timber", "glass"], [grouped("no paint", "paint", "HARD_DENY"), grouped("glass", "glass", "ALLOW")]));
  });
  after(() => put(ENERGY, fifteen()));
  const states = [
    ["preview", "#/preview/condition/energy-drink?age=14", (page) => keep(page).waitFor()],
    ["preview-project", `#/preview/project/${SITE}?properties={"productGroup":"paint"}`, (page) => keep(page).waitFor()],
    ["keep", "#/preview/condition/energy-drink?age=14", async (page) => {
      await keep(page).click();
      await dialog(page).waitFor();
    }],
    ["editor", "#/conditions", async (page) => {
      await edit(page, "energy-drink");
      await dialog(page).getByLabel("Minimum age").fill("16");
      await tests(page).getByText("1 test fails, 3 pass.").waitFor();
      await tests(page).scrollIntoViewIfNeeded();
    }],
    ["none", "#/conditions", async (page) => {
      await edit(page, "pesticide");
      await tests(page).getByText("To be warned about a change in a decision").waitFor();
    }],
    ["project", "#/projects", async (page) => {
      await edit(page, "Test site");
      await fillValues(page, ["timber"]);
      await tests(page).getByText("1 test fails, 1 passes.").waitFor();
    }],
    ["review", "#/conditions", async (page) => {
      await edit(page, "energy-drink");
      await dialog(page).getByLabel("Minimum age").fill("41");
      await review(page);
      await dialog(page).getByRole("button", { name: "Save although 2 tests fail" }).waitFor();
    }],
  ];
  for (const [name, hash, prepare] of states) {
    test(name, () => visit(on, hash, async (page) => {
      await still(page);
      await prepare(page);
      await looksRight(page, `rule-tests-${name}`);
    }));
  }
});
