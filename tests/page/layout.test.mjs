// The layout of rules: the focus is in view, long names fit, and Arabic runs from right to left.
//
//     cargo build && node --test tests/page/layout.test.mjs     TESTS_LONG=1 keeps screenshots in tests/output/

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";

import { OUTPUT, open } from "../support/browser.mjs";
import { looksRight, still } from "../support/looks.mjs";
import { PROJECT, agrees, dialog, expected, go, loseAnswers, onDemo, pick, pressButton, save, visit } from "../support/page.mjs";
import { clientWith, emptyHost } from "../support/program.mjs";
import { eventually } from "../support/wait.mjs";

const LONG = "5f0f1a2b-0000-4000-8000-000000000005";
const ARABIC = "5f0f1a2b-0000-4000-8000-000000000006";
const MIXED = "5f0f1a2b-0000-4000-8000-000000000008";
/** Names from right to left with numbers and signs, which sentences around them must not break up. */
const NAMES = ["مدرسة 12", "الصنف 3", "خشب 5", "زجاج (2)", "פריט-7", "متجر 9", "خطاف 4"];
const MANY = "5f0f1a2b-0000-4000-8000-000000000007";
const TESTED = "fireworks-with-a-test";
/** Wide letters that do not fit on one line. */
const WIDE = "w".repeat(64);
const SHOP = "W".repeat(100);

const on = onDemo(async (host) => {
  const put = async (path, body) => assert.equal((await host.api("PUT", path, body)).status, 201, path);
  const name = "x".repeat(200);
  await put(`/api/v1/entity-conditions/${"i".repeat(64)}`, { rule: "LICENSE_REQUIREMENT", condition_value: {} });
  await put(`/api/v1/entity-conditions/${WIDE}`, { rule: "LICENSE_REQUIREMENT", condition_value: {} });
  await put(`/api/v1/business-units/${SHOP}`, { type: "STORE", parentId: "nordic-retail" });
  await put(`/api/v1/projects/${LONG}`, { name, restrictions: [{ type: "WHITELIST", propertyName: name, allowedValues: [name, true] }, { type: "BLACKLISTEDITEMS", itemIds: [name] }] });
  await put(`/api/v1/projects/${ARABIC}`, { name: "مدرسة جديدة", restrictions: [{ type: "WHITELIST", propertyName: "الصنف", allowedValues: ["خشب", "زجاج"] }] });
  const [school, group, wood, glass, item, shop, hook] = NAMES;
  const byGroup = (...allowedValues) => ({ name: school, restrictions: [{ type: "WHITELIST", propertyName: group, allowedValues }, { type: "BLACKLISTEDITEMS", itemIds: [item, "x-1"] }] });
  await put(`/api/v1/projects/${MIXED}`, byGroup(wood));
  assert.equal((await host.api("PUT", `/api/v1/projects/${MIXED}`, byGroup(wood, glass, "7"))).status, 200);
  await put("/api/v1/business-units/SE-9", { type: "STORE", parentId: "SE", name: shop });
  const webhook = { name: hook, callbackUrl: "http://127.0.0.1:9/x", authentication: { type: "BASIC", username: "a", password: "bcdefghij" }, eventTypes: ["x.y.v1"] };
  assert.equal((await host.api("POST", "/api/v1/webhooks", webhook)).status, 201);
  const values = Array.from({ length: 300 }, (_, at) => `value-${at}`);
  await put(`/api/v1/projects/${MANY}`, { name: "Many values", restrictions: [{ type: "WHITELIST", propertyName: "category", allowedValues: values }] });
  const request = { item: { id: "rocket" }, context: { customer: { customer_age: 17 } } };
  const test = { name: "nobody under 18", request, expect: { decision: "HARD_DENY" } };
  await put(`/api/v1/entity-conditions/${TESTED}`, { rule: "AGE_RESTRICTION", condition_value: { minimum_age: 18 }, tests: [test] });
});

/** True if something else covers the focused element entirely. */
const covered = (page) =>
  page.evaluate(() => {
    const focused = document.activeElement;
    if (focused === document.body) return undefined;
    // The clicked or drawn element may be the label around a transparent control.
    const shown = focused.closest("label, [role=treeitem]") ?? focused;
    const box = shown.getBoundingClientRect();
    const points = [0.02, 0.25, 0.5, 0.75, 0.98].flatMap((x) => [0.1, 0.5, 0.9].map((y) => [box.left + box.width * x, box.top + box.height * y]));
    const isSeen = points.some(([x, y]) => {
      const hit = document.elementFromPoint(x, y);
      return hit && (shown.contains(hit) || hit.contains(shown));
    });
    return isSeen ? undefined : `${focused.tagName} ${focused.getAttribute("aria-label") ?? focused.labels?.[0]?.textContent ?? focused.textContent}`.trim().slice(0, 60);
  });

/** The same once nothing moves: the browser may scroll after it has moved the focus, and the page after that. */
async function staysCovered(page) {
  let found = await covered(page);
  for (let look = 0; look < 20 && found !== undefined; look += 1) {
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
    found = await covered(page);
  }
  return found;
}

describe("nothing that has the focus is hidden", () => {
  const views = [
    ["Preview of a condition", "#/preview/condition/energy-drink", (page) => page.getByText("Try a change", { exact: true }).click()],
    ["Preview of a project", `#/preview/project/${PROJECT}`, agrees],
    ["Preview of a basket", `#/preview/basket?project=${PROJECT}&age=17`, agrees],
    ["Conditions", "#/conditions", async () => {}],
    ["Projects", "#/projects", async () => {}],
    ["Editing a project", "#/projects", (page) => page.getByRole("button", { name: /Edit School/ }).click()],
    ["What would change", "#/conditions", async (page) => {
      await page.getByRole("button", { name: "Edit energy-drink" }).click();
      await dialog(page).getByLabel("Minimum age").fill("130");
      await dialog(page).getByText("What would change?", { exact: true }).click();
      await dialog(page).getByLabel("Paste a list").fill("id,age\nred-can,15\nblue-can,old");
      await dialog(page).getByText("The decision changes for 1 of 1 line.").waitFor();
    }],
    ["Tests and findings of a rule", "#/conditions", async (page) => {
      await page.getByRole("button", { name: `Edit ${TESTED}` }).click();
      await dialog(page).getByLabel("Minimum age").fill("0");
      await dialog(page).getByText("1 test fails.").waitFor();
    }],
    ["A history", `#/conditions/history/${TESTED}`, (page) => dialog(page).getByText("As it is now").waitFor()],
    ["A list of many values", "#/projects", async (page) => {
      await page.getByRole("button", { name: "Edit Many values" }).click();
      await dialog(page).getByRole("listbox", { name: "Values" }).waitFor();
    }],
    ["Rates", "#/rates", (page) => page.getByRole("treeitem").first().waitFor()],
    ["Webhooks", "#/webhooks", (page) => page.getByRole("button", { name: "New webhook" }).waitFor()],
  ];
  // 1280 × 800 at 200 % is 640 × 400.
  for (const [width, height, name] of [[640, 400, "at 200 %"], [360, 640, "at 360 px"]]) {
    for (const [view, hash, prepare] of views) {
      test(`${view}, ${name}`, () => visit(on, hash, async (page) => {
        await page.setViewportSize({ width, height });
        await page.emulateMedia({ reducedMotion: "reduce" });
        await prepare(page);
        const hidden = [];
        for (const key of ["Tab", "Shift+Tab"]) {
          for (let press = 0; press < 45; press += 1) {
            await page.keyboard.press(key);
            const found = await staysCovered(page);
            if (found !== undefined) hidden.push(`${key}: ${found}`);
          }
        }
        assert.deepEqual(hidden, []);
      }));
    }
  }
});

const width = (page) => page.evaluate(() => document.documentElement.scrollWidth);

test("long ids, names and properties do not push the page wide", () => visit(on, "", async (page) => {
  await page.setViewportSize({ width: 360, height: 740 });
  const views = [
    ["#/conditions", (p) => p.getByRole("heading", { name: "iiii" }).waitFor()],
    ["#/projects", (p) => p.getByRole("heading", { name: "xxxx" }).waitFor()],
    [`#/preview/condition/${"i".repeat(64)}`, (p) => p.getByText("Ask for the license “iii").first().waitFor()],
    [`#/preview/project/${LONG}`, agrees],
    [`#/preview/basket?project=${LONG}&age=17`, agrees],
    [`#/preview/project/${LONG}?item=${"y".repeat(200)}&properties=${encodeURIComponent(JSON.stringify({ ["z".repeat(200)]: "v".repeat(200) }))}`, agrees],
  ];
  for (const [hash, ready] of views) {
    await go(page, hash);
    await ready(page);
    await eventually(async () => assert.ok((await width(page)) <= 360, `${hash.slice(0, 30)} is ${await width(page)} px wide`));
  }
  await page.screenshot({ path: `${OUTPUT}long-360.png`, fullPage: true });
  await page.evaluate(() => (location.hash = "#/projects"));
  await page.getByRole("button", { name: /Edit xxxx/ }).click();
  await dialog(page).getByLabel("Name").fill("short");
  await pressButton(dialog(page), "Review");
  await dialog(page).getByText("added: short").waitFor();
  await eventually(async () => {
    const inside = await dialog(page).evaluate((element) => element.scrollWidth - element.clientWidth);
    assert.ok(inside <= 0, `the dialog is ${inside} px too wide`);
  });
}));

/** The long words that reach beyond the page, or are cut off. */
const cutWords = (page) =>
  page.evaluate(() => {
    const found = [];
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      const { data, parentElement } = texts.currentNode;
      if (!/\S{60}/.test(data) || parentElement.closest("option, textarea, .visually-hidden, details:not([open])")) continue;
      const range = document.createRange();
      range.selectNodeContents(texts.currentNode);
      const right = Math.max(0, ...[...range.getClientRects()].map((box) => box.right));
      let end = document.documentElement.clientWidth;
      for (let around = parentElement; around; around = around.parentElement) {
        if (getComputedStyle(around).overflowX !== "visible") end = Math.min(end, around.getBoundingClientRect().right);
      }
      if (right > end + 1) found.push(`${parentElement.className || parentElement.tagName}: ${right} of ${end}`);
    }
    return found;
  });

describe("long ids are whole at every width", () => {
  const WIDTHS = [360, 768, 1440];

  async function fits(page, name) {
    for (const size of WIDTHS) {
      await page.setViewportSize({ width: size, height: 900 });
      await eventually(async () => assert.ok((await width(page)) <= size, `${name} at ${size} is ${await width(page)} px wide`));
      await eventually(async () => assert.deepEqual(await cutWords(page), [], `${name} at ${size}`));
    }
  }

  test("of a condition, and they leave room for the sentence beside them", () => visit(on, `#/preview/condition/${WIDE}`, async (page) => {
    await agrees(page);
    assert.equal(await page.locator(".result-name").innerText(), WIDE);
    await fits(page, "the preview");
    for (const size of WIDTHS) {
      await page.setViewportSize({ width: size, height: 900 });
      await eventually(async () => assert.ok((await page.locator(".result-why").boundingBox()).width >= 150, `the sentence at ${size}`));
    }
    await page.screenshot({ path: `${OUTPUT}long-preview.png` });
    await go(page, "#/conditions");
    await page.getByRole("heading", { name: WIDE }).waitFor();
    await fits(page, "the list");
    await page.getByRole("button", { name: `Edit ${WIDE}` }).click();
    await dialog(page).waitFor();
    await fits(page, "the form");
  }));

  test("of a shop, on every tab and where there is none", () => visit(on, `#/rates/${SHOP}`, async (page) => {
    const title = (id) => page.locator(".unit-title").getByText(id, { exact: true }).waitFor();
    for (const [tab, ready] of [["", page.getByText("Set a rate").first()], ["/history", page.getByRole("slider")], ["/convert", page.getByText(/^At 1 EUR/)], ["/messages", page.getByText("No messages yet")], ["/details", page.getByText("General markup")]]) {
      await page.setViewportSize({ width: 1440, height: 900 });
      await page.evaluate((hash) => (location.hash = hash), `#/rates/${SHOP}${tab}`);
      await title(SHOP);
      await ready.waitFor();
      await fits(page, `the tab ${tab}`);
    }
    await page.evaluate((hash) => (location.hash = hash), `#/rates/${SHOP.toLowerCase()}`);
    await page.getByText("There is no such business unit").waitFor();
    await fits(page, "an unknown shop");
    expected(page, 404);
  }));
});

test("Arabic runs from right to left, in lists, forms and decisions", () => visit(on, "#/projects", async (page) => {
  const runs = (locator, direction, why) => eventually(async () => assert.equal(await locator.evaluate((element) => getComputedStyle(element).direction), direction, why));
  await runs(page.getByRole("heading", { name: "مدرسة جديدة" }), "rtl");
  await runs(page.getByRole("heading", { name: "School, new building" }), "ltr");
  await page.getByRole("button", { name: "Edit مدرسة جديدة" }).click();
  for (const label of ["Name", "Property", "Values, one per line"]) await runs(dialog(page).getByLabel(label, { exact: true }), "rtl", label);
  await page.keyboard.press("Escape");
  await page.getByRole("link", { name: "Preview مدرسة جديدة" }).click();
  await agrees(page);
  await runs(page.locator(".result-name"), "rtl");
  await runs(page.getByLabel("الصنف", { exact: true }), "ltr", "an empty field has the direction of the page");
  await page.getByLabel("الصنف", { exact: true }).fill("خشب");
  await runs(page.getByLabel("الصنف", { exact: true }), "rtl");
  await page.screenshot({ path: `${OUTPUT}arabic.png` });
}));

/**
 * The texts with a name from right to left that neither has an element with its own direction nor is isolated in a sentence.
 */
const misplaced = (page) =>
  page.evaluate((names) => {
    const plain = (text) => text.replace(/[\u2068\u2069]/g, "").trim();
    const directionOf = (element) => getComputedStyle(element).direction;
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const found = [];
    while (texts.nextNode()) {
      const { data, parentElement: holder } = texts.currentNode;
      if (holder.closest("textarea, pre, .visually-hidden, [hidden]")) continue;
      for (const name of names.filter((each) => data.includes(each))) {
        const isAlone = plain(holder.innerText) === name && directionOf(holder) === "rtl";
        const isIsolated = data.split(name).length === data.split(`\u2068${name}\u2069`).length && directionOf(holder) === "ltr";
        if (!isAlone && !isIsolated) found.push(data);
      }
    }
    const fields = [...document.querySelectorAll("input:not([type]), input[type=search], textarea")];
    return [...found, ...fields.filter((each) => names.some((name) => each.value.startsWith(name)) && directionOf(each) !== "rtl").map(({ value }) => value)];
  }, NAMES);

test("names from right to left keep their order beside English words, ids and numbers", () => visit(on, "#/projects", async (page) => {
  const [school, group, wood, glass, item, , hook] = NAMES;
  const isOrdered = async (where, ready) => {
    await ready.first().waitFor();
    await eventually(async () => assert.deepEqual(await misplaced(page), [], where));
  };
  await isOrdered("the list", page.getByText(`\u2068${group}\u2069 must be \u2068${wood}\u2069 or \u2068${glass}\u2069 or 7`));
  await page.getByRole("button", { name: `Delete ${school}` }).click();
  await isOrdered("the question", dialog(page));
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: `Edit ${school}` }).click();
  await dialog(page).getByLabel("Values, one per line").first().fill(glass);
  await isOrdered("the form", dialog(page));
  await pressButton(dialog(page), "Review");
  await isOrdered("the review", page.getByRole("region", { name: "Which decisions change" }).getByText(wood));
  await page.keyboard.press("Escape");
  const properties = encodeURIComponent(JSON.stringify({ [group]: "glue" }));
  await go(page, `#/preview/project/${MIXED}?item=${encodeURIComponent(item)}&properties=${properties}`);
  await isOrdered("a draft in Preview", page.getByText("If you saved this:"));
  await page.getByText("What would change?").click();
  await page.getByLabel("Paste a list").fill(`id;${group}\n${item};${wood}\nx 5;${wood}`);
  await isOrdered("a list", page.getByText("The decision changes for 1 of 2 lines."));
  await page.getByRole("button", { name: "Discard" }).click();
  await go(page, `#/projects/history/${MIXED}`);
  await isOrdered("the history", dialog(page).getByText(school));
  await page.keyboard.press("Escape");
  await go(page, "#/rates/SE-9");
  await isOrdered("a shop", page.getByRole("tree").getByText(NAMES[5]));
  await go(page, "#/webhooks");
  await page.getByRole("button", { name: `Edit ${hook}` }).click();
  await isOrdered("a webhook", dialog(page));
}));

/** The number of elements while the browser prints, and afterwards. */
const printed = (page, selector) =>
  page.evaluate((rows) => ["beforeprint", "afterprint"].map((type) => (dispatchEvent(new Event(type)), document.querySelectorAll(rows).length)), selector);

test("all rows of what is on screen are printed, in black on white", () => visit(on, "#/projects", async (page) => {
  const colours = (selector) => page.locator(selector).first().evaluate((element) => [getComputedStyle(element).color, getComputedStyle(element).backgroundColor]);
  await page.emulateMedia({ colorScheme: "dark", media: "print" });
  assert.deepEqual(await colours("body"), ["rgb(0, 0, 0)", "rgb(255, 255, 255)"]);
  await page.emulateMedia({ media: null });
  await page.getByRole("button", { name: "Edit Many values" }).click();
  await page.getByText("300 values").first().waitFor();
  await eventually(async () => assert.ok((await page.locator(".value-row").count()) > 0));
  const values = await printed(page, ".value-row");
  assert.ok(values[0] === 300 && values[1] < 100, `the values of a rule: ${values}`);
  await page.getByText("What would change?").click();
  await page.getByLabel("Paste a list").fill(Array.from({ length: 800 }, (_, at) => `item-${at}`).join("\n"));
  await page.getByRole("button", { name: "All 800 lines" }).waitFor();
  const lines = await printed(page, ".what-if-rows > li");
  assert.ok(lines[0] === 800 && lines[1] < 200, `the lines of a list: ${lines}`);
}));

test("wide screens are used, and text stays as narrow as people read", () => visit(on, `#/preview/project/${PROJECT}`, async (page) => {
  await page.setViewportSize({ width: 1920, height: 900 });
  await agrees(page);
  const boxOf = (selector) => page.locator(selector).first().boundingBox();
  const [main, inputs, outputs] = await Promise.all(["main", ".inputs", ".outputs"].map(boxOf));
  assert.ok(main.width > 1800, `the page is ${main.width} px wide`);
  assert.ok(inputs.width > 500 && outputs.x > inputs.x + inputs.width && outputs.width > 1100, "the result stands beside what is tried");
  assert.ok((await boxOf(".decision-why")).width <= 768);
  await go(page, "#/projects");
  const [name, rule] = await Promise.all([boxOf(".row-text h2"), boxOf(".row-text .rules")]);
  assert.ok(rule.x > name.x + 200 && Math.abs(rule.y - name.y) < 20, "the rules stand beside the name");
}));

describe("every state of rules looks right, and axe finds nothing", () => {
  let newcomers;
  before(async () => (newcomers = await emptyHost()));
  after(() => newcomers?.end());
  const editor = () => clientWith(newcomers, ["ecs.editor"], "newcomer");
  const viewer = () => clientWith(on.host, ["ecs.viewer"]);
  const edit = async (page, name) => {
    await page.getByRole("button", { name }).click();
    await dialog(page).waitFor();
  };
  const everywhere = () => newcomers.api("PUT", "/api/v1/global-entity-conditions/everywhere", { rule: "LICENSE_REQUIREMENT", condition_value: {} });
  const review = (page) => pressButton(dialog(page), "Review");

  const states = [
    ["preview", "", agrees],
    ["draft", "#/preview/condition/energy-drink", async (page) => {
      await page.getByText("Try a change", { exact: true }).click();
      await page.getByLabel("Minimum age").fill("18");
      await page.getByText("Request and response of your draft").click();
      await page.getByText("No till gets this response").waitFor();
    }],
    ["new-rule", "#/preview", async (page) => {
      await pick(page.getByLabel("Condition", { exact: true }), "A new condition…");
      await page.getByText("Today: No such condition.").waitFor();
    }],
    ["global", "#/preview/condition/tobacco", agrees],
    ["faults", "#/preview/condition/alcohol?item=&age=200", agrees],
    ["project", `#/preview/project/${PROJECT}?properties={"brand":"acme"}`, agrees],
    ["basket", `#/preview/basket?project=${PROJECT}`, agrees],
    ["basket-empty", "#/preview/basket?lines=[]", (page) => page.getByText("The basket is empty").waitFor()],
    ["conditions", "#/conditions", (page) => page.getByRole("button", { name: "Edit energy-drink" }).waitFor()],
    ["condition", "#/conditions", (page) => edit(page, "Edit energy-drink")],
    ["delete", "#/conditions", (page) => edit(page, "Delete energy-drink")],
    ["off", "#/conditions", async (page) => {
      await edit(page, "Edit energy-drink");
      await dialog(page).getByRole("switch", { name: "In force" }).uncheck();
      await dialog(page).getByText("Switched off, it does not decide.").waitFor();
    }],
    ["off-review", "#/conditions", async (page) => {
      await edit(page, "Edit energy-drink");
      await dialog(page).getByRole("switch", { name: "In force" }).uncheck();
      await review(page);
      await dialog(page).locator(".review").getByText("Tills that ask for it get an error").waitFor();
    }],
    ["lost", "#/conditions", async (page) => {
      await edit(page, "Edit energy-drink");
      await dialog(page).getByLabel("Minimum age").fill("14");
      await loseAnswers(page, "**/api/v1/entity-conditions/energy-drink", { reaches: false, reads: false });
      await save(page);
      await dialog(page).getByRole("button", { name: "Look again" }).waitFor();
    }],
    ["lost-delete", "#/conditions", async (page) => {
      await edit(page, "Delete energy-drink");
      await loseAnswers(page, "**/api/v1/entity-conditions/energy-drink", { reaches: false, reads: false });
      await dialog(page).getByRole("button", { name: "Delete" }).click();
      await dialog(page).getByRole("button", { name: "Look again" }).waitFor();
    }],
    ["kept", "#/conditions", async (page) => {
      await edit(page, "Edit energy-drink");
      await dialog(page).getByLabel("Minimum age").fill("21");
      await page.keyboard.press("Escape");
      await edit(page, "Edit energy-drink");
      await page.getByText("This is your unsaved draft").waitFor();
    }],
    ["discard", "#/conditions", async (page) => {
      await edit(page, "New condition");
      await dialog(page).getByLabel("Minimum age").fill("21");
      await pressButton(dialog(page), "Cancel");
      await page.getByText("Discard what you entered?").waitFor();
    }],
    ["taken", "#/conditions", async (page) => {
      await edit(page, "New condition");
      await dialog(page).getByLabel("Id", { exact: true }).fill("alcohol");
      await review(page);
      await dialog(page).getByText("This id exists").waitFor();
    }],
    ["collision", "#/conditions", async (page) => {
      await on.host.api("PUT", "/api/v1/entity-conditions/collision", { rule: "AGE_RESTRICTION", condition_value: { minimum_age: 15 } });
      await edit(page, "Edit collision");
      await dialog(page).getByLabel("Minimum age").fill("14");
      await on.host.api("PUT", "/api/v1/entity-conditions/collision", { rule: "AGE_RESTRICTION", condition_value: { minimum_age: 13 } });
      await save(page);
      await dialog(page).getByText("Their changes").waitFor();
      // The page may ask about the rule before it learns that it is gone.
      expected(page, 404);
      await on.host.api("DELETE", "/api/v1/entity-conditions/collision");
    }],
    ["projects", "#/projects", (page) => page.getByRole("button", { name: /Edit School/ }).waitFor()],
    ["found", "#/projects", async (page) => {
      await page.getByLabel("Filter projects").fill("foam");
      await page.getByText(/^1 of \d+ projects$/).waitFor();
    }],
    ["found-none", "#/projects", async (page) => {
      await page.getByLabel("Filter projects").fill("nothing like it");
      await page.getByText("No project matches").waitFor();
    }],
    ["edit-project", "#/projects", (page) => edit(page, /Edit School/)],
    ["review", "#/projects", async (page) => {
      await edit(page, /Edit School/);
      await dialog(page).getByLabel("Values, one per line").first().fill("timber\nglass ");
      await review(page);
      await dialog(page).getByText("What changes", { exact: true }).waitFor();
    }],
    ["empty-rule", "#/projects", async (page) => {
      await edit(page, "New project");
      await dialog(page).getByRole("button", { name: "Add a rule" }).click();
      await review(page);
      await dialog(page).getByText("Enter the name of the property.").waitFor();
    }],
    ["guide", "", (page) => page.getByText("There are no rules yet").waitFor(), editor],
    ["guide-projects", "#/projects", (page) => page.getByText("No projects yet").waitFor(), editor],
    ["viewer", "#/conditions", (page) => page.getByText("You may view conditions").waitFor(), viewer],
    ["global-copy", "#/conditions", (page) => edit(page, "Copy tobacco as my own rule")],
    ["operator", "#/conditions", async (page) => {
      await everywhere();
      await page.getByRole("button", { name: "Edit everywhere" }).waitFor();
    }, () => newcomers],
    ["operator-new", "#/conditions", async (page) => {
      await edit(page, "New condition");
      await dialog(page).getByRole("radio", { name: "All tenants" }).check();
    }, () => newcomers],
    ["operator-preview", "#/preview/condition/everywhere", async (page) => {
      await everywhere();
      await page.getByText("A change that you save is in force for all of them.").waitFor();
    }, () => newcomers],
  ];
  for (const [name, hash, prepare, as] of states) {
    test(name, async () => visit({ ...on, host: as ? await as() : on.host }, hash, async (page) => {
      await still(page);
      await prepare(page);
      await looksRight(page, `rules-${name}`);
      expected(page, 400, 412);
    }));
  }

  const unsigned = [
    ["signin", () => {}],
    ["signin-refused", async (page) => {
      await page.getByLabel("Client id").fill(on.host.clientId);
      await page.getByLabel("Secret", { exact: true }).fill("wrong");
      await page.getByRole("button", { name: "Sign in" }).click();
      await page.getByText("The client id or the secret is wrong").waitFor();
    }],
    ["signin-away", async (page) => {
      await page.route("**/oauth2/token", (route) => route.abort());
      await page.getByLabel("Client id").fill(on.host.clientId);
      await page.getByLabel("Secret", { exact: true }).fill("any");
      await page.getByRole("button", { name: "Sign in" }).click();
      await page.getByText("The host cannot be reached.").waitFor();
    }],
  ];
  for (const [name, prepare] of unsigned) {
    test(name, async () => {
      const page = await open(on.context, on.host.url);
      await page.getByLabel("Client id").waitFor();
      await still(page);
      await prepare(page);
      await looksRight(page, name);
      await page.close();
    });
  }
});
