// The page with thousands of rules and many webhooks: lists draw the rows near the viewport, pickers list the best matches,
// and a change by another user draws one row again.
//
//     cargo build && node --test tests/page/lists.test.mjs

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { looksRight, still } from "../support/looks.mjs";
import { conditionId, hostWithMany, projectId } from "../support/many.mjs";
import { agrees, decision, flashes, hasCount, hasFocus, hasValue, onHost, pick, shown, visit } from "../support/page.mjs";
import { eventually, within } from "../support/wait.mjs";
import { Kept, sameList } from "../../www/shared/kept.js";
import { partOf } from "../../www/shared/part.js";
import { matching } from "../../www/shared/picker.js";
import { Rules } from "../../www/shared/rules.js";

const COUNTS = { conditions: 5000, projects: 2000, webhooks: 300 };

/** The most rows that a list draws, and the most elements of the page. */
const MAX_ROWS = 100;
const MAX_ELEMENTS = 6000;

const condition = (id, age, rest) => ({ id, scope: "TENANT", rule: "AGE_RESTRICTION", enabled: true, condition_value: { minimum_age: age }, ...rest });
const again = (value) => JSON.parse(JSON.stringify(value));

describe("what is drawn of a long column", () => {
  const heights = Array.from({ length: 1000 }, () => 10);
  const part = (from, until, least = 0) => partOf(heights, { from, until, least });

  test("are the rows that reach into the space, and the others are its heights above and below", () => {
    assert.deepEqual(part(95, 130), { begin: 9, end: 13, above: 90, below: 9870 });
    assert.deepEqual(part(-500, 25), { begin: 0, end: 3, above: 0, below: 9970 });
  });

  test("are at least so many rows, also at its end", () => {
    assert.deepEqual(part(0, 10, 60), { begin: 0, end: 60, above: 0, below: 9400 });
    assert.deepEqual(part(9990, 10_000, 60), { begin: 940, end: 1000, above: 9400, below: 0 });
  });

  test("is the last row when the column has become shorter than what was scrolled", () => {
    assert.deepEqual(part(50_000, 51_000), { begin: 999, end: 1000, above: 9990, below: 0 });
    assert.deepEqual(partOf([], { from: 0, until: 100, least: 60 }), { begin: 0, end: 0, above: 0, below: 0 });
  });
});

describe("what has not changed", () => {
  test("is the same object in the next answer", () => {
    const kept = new Kept(({ id }) => id);
    const before = kept.update([condition("a", 18), condition("b", 18)]);
    const after = kept.update([condition("a", 18), condition("b", 21), condition("c", 3)]);
    assert.equal(after[0], before[0]);
    assert.notEqual(after[1], before[1]);
    assert.equal(kept.get("b").condition_value.minimum_age, 21);
    assert.equal(sameList(before, [...before]), before);
    assert.notEqual(sameList(before, after), before);
  });

  test("stays in the rules of a tenant, and what decisions use is the tenant's before the global", () => {
    const rules = new Rules();
    const document = {
      digest: "1",
      global: [condition("alcohol", 18, { scope: "GLOBAL" }), condition("beer", 16, { scope: "GLOBAL" })],
      tenant: [condition("alcohol", 20), condition("beer", 20, { enabled: false }), condition("tobacco", 18, { rule: "LICENSE_REQUIREMENT", condition_value: {} })],
      projects: [{ projectId: "p", restrictions: [] }],
    };
    rules.update(document);
    const { conditions, inForce, licenses, projects } = rules;
    assert.deepEqual(conditions.map(({ id, scope }) => [id, scope]), [["alcohol", "GLOBAL"], ["beer", "GLOBAL"], ["tobacco", "TENANT"]]);
    assert.deepEqual([inForce, licenses], [["alcohol", "beer", "tobacco"], ["tobacco"]]);
    assert.equal(rules.used("alcohol").condition_value.minimum_age, 20);
    assert.equal(rules.used("beer").condition_value.minimum_age, 16, "the tenant's is off");
    rules.update({ ...again(document), digest: "2", global: again(document.global).with(1, condition("beer", 17, { scope: "GLOBAL" })) });
    assert.equal(rules.digest, "2");
    assert.equal(rules.condition("alcohol"), conditions[0]);
    assert.equal(rules.condition("beer").condition_value.minimum_age, 17);
    assert.deepEqual([rules.inForce === inForce, rules.licenses === licenses, rules.projects === projects], [true, true, true]);
  });
});

test("rules are sorted by name, with the numbers in names as numbers", () => {
  const rules = new Rules();
  const projects = [["c", "Shelf 10"], ["b", "shelf 2"], ["e", undefined], ["a", "Äpfel"], ["d", "shelf 2"]].map(([projectId, name]) => ({ projectId, name, restrictions: [] }));
  rules.update({ digest: "1", global: [condition("beer-10", 18, { scope: "GLOBAL" })], tenant: [condition("Cider", 18), condition("beer-9", 18), condition("ale", 18)], projects });
  assert.deepEqual(rules.conditions.map(({ id }) => id), ["ale", "beer-9", "beer-10", "Cider"]);
  assert.deepEqual(rules.inForce, ["ale", "beer-9", "beer-10", "Cider"]);
  assert.deepEqual(rules.projects.map(({ projectId }) => projectId), ["a", "e", "b", "d", "c"]);
});

test("a search lists the best matches: those that begin with it first, and as many as are listed at most", () => {
  const entries = Array.from({ length: 120 }, (_, at) => [at, `id-${at}`]);
  assert.deepEqual(matching(entries, ""), { listed: entries.slice(0, 50), count: 120 });
  assert.deepEqual(matching([[1, "Root beer"], [2, "Beer"], [3, "Wine"]], " bEER "), { listed: [[2, "Beer"], [1, "Root beer"]], count: 2 });
  assert.deepEqual(matching(entries, "none"), { listed: [], count: 0 });
});

describe("with 5,000 conditions, 2,000 projects and 300 webhooks", () => {
  const on = onHost(() => hostWithMany(COUNTS));
  const rows = (page) => page.locator(".rows > li, .webhook-rows > li");

  /** Waits until the list has drawn all its rows, which are few. */
  const isSettled = async (page) => {
    await eventually(async () => assert.ok((await rows(page).count()) >= 60));
    assert.ok((await rows(page).count()) <= MAX_ROWS, `${await rows(page).count()} rows`);
    const elements = await page.evaluate(() => document.querySelectorAll("*").length);
    assert.ok(elements <= MAX_ELEMENTS, `${elements} elements`);
  };

  const toEnd = (page, heading) =>
    eventually(async () => {
      await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight));
      assert.ok(await page.getByRole("heading", { name: heading, exact: true }).isVisible());
    });

  const lists = [
    ["conditions", "#/conditions", COUNTS.conditions, "Customers need the license “condition-4999”", "condition-4999"],
    ["projects", "#/projects", COUNTS.projects, "item-1999-7", "Project-1999"],
  ];
  for (const [noun, hash, count, sought, last] of lists) {
    test(`the list of ${noun} has few rows, finds the last one, and is scrolled to it`, () => visit(on, hash, async (page) => {
      const all = `${count.toLocaleString("en")} ${noun}`;
      await page.getByText(all, { exact: true }).waitFor();
      await isSettled(page);
      const filter = page.getByLabel(`Filter ${noun}`);
      await filter.fill(sought);
      await page.getByText(`1 of ${all}`, { exact: true }).waitFor();
      await page.getByRole("heading", { name: last, exact: true }).waitFor();
      await hasCount(rows(page), 1);
      await filter.fill("");
      await page.getByText(all, { exact: true }).waitFor();
      await toEnd(page, last);
      await isSettled(page);
      const row = rows(page).filter({ has: page.getByRole("heading", { name: last, exact: true }) });
      assert.deepEqual(await row.evaluate((element) => [element.ariaPosInSet, element.ariaSetSize]), [String(count), String(count)]);
      await page.evaluate(() => scrollTo(0, 0));
      await page.getByRole("heading", { name: last.replace(/\d+$/, "0000"), exact: true }).waitFor();
    }));
  }

  test("the list of webhooks too", () => visit(on, "#/webhooks", async (page) => {
    await page.getByText("300 webhooks", { exact: true }).waitFor();
    await isSettled(page);
    await page.getByLabel("Filter webhooks").fill("receiver.example/299");
    await page.getByText("1 of 300 webhooks", { exact: true }).waitFor();
    await page.getByRole("heading", { name: "Webhook-0299" }).waitFor();
    await page.getByLabel("Filter webhooks").fill("");
    await isSettled(page);
  }));

  test("what a filter seeks is in the address, and is there again when one comes back", () => visit(on, "#/conditions", async (page) => {
    for (const [label, text, hash] of [["Filter conditions", conditionId(4992), "#/conditions"], ["Filter projects", "Project-1999", "#/projects"], ["Filter webhooks", "7", "#/webhooks"]]) {
      await page.evaluate((to) => (location.hash = to), hash);
      await page.getByLabel(label).fill(text);
      await page.getByRole("navigation", { name: "Views" }).getByRole("link", { name: "Preview" }).click();
      await page.getByRole("heading", { name: "Preview", level: 1 }).waitFor();
      await page.goBack();
      await hasValue(page.getByLabel(label), text);
      assert.ok(page.url().endsWith(`${hash}?filter=${text}`), page.url());
    }
    await page.getByLabel("Filter webhooks").fill("");
    await page.getByRole("navigation", { name: "About webhooks" }).getByRole("link", { name: "Deliveries" }).click();
    await page.goBack();
    await page.waitForURL(/#\/webhooks$/);
  }));

  test("another user's change shows, and nothing else is drawn again", () => visit(on, "#/conditions", async (page) => {
    await toEnd(page, conditionId(4998));
    await isSettled(page);
    const flashed = await flashes(page);
    await page.evaluate(() => document.querySelectorAll(".row").forEach((row) => (row.isOld = true)));
    const path = `/api/v1/entity-conditions/${conditionId(4998)}`;
    await on.host.api("PUT", path, { rule: "AGE_RESTRICTION", condition_value: { minimum_age: 99 } });
    await page.getByText("Customers must be 99 or older").waitFor();
    await flashed(conditionId(4998));
    assert.equal(await page.evaluate(() => [...document.querySelectorAll(".row")].filter((row) => !row.isOld).length), 1);
    await on.host.api("PUT", path, { rule: "AGE_RESTRICTION", condition_value: { minimum_age: 18 } });
    await page.getByText("Customers must be 99 or older").waitFor({ state: "detached" });
  }));

  test("a row that another user changes while it is pressed keeps the press", () => visit(on, "#/conditions", async (page) => {
    await isSettled(page);
    const path = `/api/v1/entity-conditions/${conditionId(3)}`;
    const button = page.getByRole("button", { name: `Delete ${conditionId(3)}`, exact: true });
    await button.hover();
    await page.mouse.down();
    const reads = () => page.evaluate(() => performance.getEntriesByType("resource").filter(({ name }) => name.endsWith("/api/v1/catalog")).length);
    const readsBefore = await reads();
    await on.host.api("PUT", path, { rule: "AGE_RESTRICTION", condition_value: { minimum_age: 98 } });
    await eventually(async () => assert.ok((await reads()) > readsBefore));
    // The answer is read and shown in separate tasks.
    await within(page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))), "a frame");
    await page.mouse.up();
    await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
    await page.getByText("Customers must be 98 or older").waitFor();
    await on.host.api("PUT", path, { rule: "AGE_RESTRICTION", condition_value: { minimum_age: 18 } });
  }));

  test("the keyboard goes from row to row beyond those that were drawn at first", () => visit(on, "#/conditions", async (page) => {
    await isSettled(page);
    await page.getByRole("link", { name: `Preview ${conditionId(59)}` }).focus();
    for (const name of [`History of ${conditionId(59)}`, `Edit ${conditionId(59)}`, `Delete ${conditionId(59)}`, `Preview ${conditionId(60)}`]) {
      await page.getByRole("link", { name: `Preview ${conditionId(60)}` }).waitFor();
      await page.keyboard.press("Tab");
      await hasFocus(page, name);
    }
  }));

  const condition = (page) => page.getByLabel("Condition", { exact: true });
  const options = (page) => page.getByRole("listbox").getByRole("option");

  test("a condition is picked by a search, with the mouse and with the keyboard alone", () => visit(on, "", async (page) => {
    await hasValue(condition(page), conditionId(0));
    await condition(page).click();
    await hasCount(options(page), 51, "50 conditions, and a new one");
    await page.getByText("50 of 5,000 are listed. Type to find others.").first().waitFor();
    await options(page).first().and(page.locator("[aria-selected=true]")).waitFor();
    await page.keyboard.press("Escape");
    await hasCount(options(page), 0);
    await pick(condition(page), conditionId(4999));
    await shown(decision(page), "Ask first");
    await agrees(page);
    await condition(page).fill("n-499");
    await hasCount(options(page), 11, "ten conditions, and a new one");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await hasValue(condition(page), conditionId(4992));
    await shown(decision(page), "Must not be sold");
    await agrees(page);
    await condition(page).fill("nothing like it");
    await page.getByText("Nothing matches.").first().waitFor();
    await page.keyboard.press("Tab");
    await hasValue(condition(page), conditionId(4992), "what finds nothing chooses nothing");
  }));

  test("a whole id that is typed is chosen when the field is left, and what another user changes does not disturb typing", () => visit(on, "", async (page) => {
    await condition(page).fill(conditionId(1));
    await on.host.api("PUT", `/api/v1/entity-conditions/${conditionId(0)}`, { rule: "AGE_RESTRICTION", condition_value: { minimum_age: 17 } });
    await page.getByText("Customers must be 17 or older.").waitFor();
    assert.equal(await condition(page).inputValue(), conditionId(1));
    await page.keyboard.press("Tab");
    await page.getByText(`Customers need the license “${conditionId(1)}”.`).waitFor();
    await on.host.api("PUT", `/api/v1/entity-conditions/${conditionId(0)}`, { rule: "AGE_RESTRICTION", condition_value: { minimum_age: 18 } });
  }));

  test("a project, the conditions of a basket's line and the licenses of a customer are picked by a search", () => visit(on, "#/preview/basket", async (page) => {
    const line = page.getByRole("listitem").filter({ has: page.getByLabel("Item id") }).first();
    await pick(line.getByLabel("Add a condition"), conditionId(4999));
    await line.getByRole("checkbox", { name: conditionId(4999), checked: true }).waitFor();
    await page.getByText(`Ask for the license “${conditionId(4999)}”.`).first().waitFor();
    await page.getByRole("radio", { name: "Has these" }).check();
    await shown(decision(page), "Remove 3 items");
    await pick(page.getByLabel("Add a license"), conditionId(4999));
    await shown(decision(page), "Remove 2 items");
    await pick(page.getByLabel("Project", { exact: true }), "Project-1999");
    await shown(decision(page), "Remove 3 items");
    await agrees(page);
  }));

  test("a project is picked by a search", () => visit(on, `#/preview/project/${projectId(7)}`, async (page) => {
    const project = page.getByLabel("Project", { exact: true });
    await hasValue(project, "Project-0007");
    await project.click();
    await hasCount(options(page), 50);
    await pick(project, "Project-1998");
    await shown(decision(page), "Must not be sold");
    await agrees(page);
  }));

  test("a list of choices looks right, and axe finds nothing", () => visit(on, "", async (page) => {
    await still(page);
    await condition(page).fill("condition");
    await hasCount(options(page), 51);
    await looksRight(page, "rules-choices");
  }));
});
