// The layout of rules: the focus is in view, long names fit, and Arabic runs from right to left.
//
//     cargo build && node --test tests/page-layout.test.mjs     screenshots are kept in tests/output/

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";

import { OUTPUT, browser, signedIn } from "./support/browser.mjs";
import { PROJECT, agrees, dialog, expected, save, visit } from "./support/page.mjs";
import { clientWith, demo, emptyHost } from "./support/program.mjs";

const AXE = new URL("node_modules/axe-core/axe.min.js", import.meta.url).pathname;
const LONG = "5f0f1a2b-0000-4000-8000-000000000005";
const ARABIC = "5f0f1a2b-0000-4000-8000-000000000006";

let on;

before(async () => {
  on = { host: await demo(), context: await browser() };
  const put = async (path, body) => assert.ok((await on.host.api("PUT", path, body)).ok, path);
  const name = "x".repeat(200);
  await put(`/api/v1/entity-conditions/${"i".repeat(64)}`, { rule: "LICENSE_REQUIREMENT", condition_value: {} });
  await put(`/api/v1/projects/${LONG}`, { name, restrictions: [{ type: "WHITELIST", propertyName: name, allowedValues: [name, true] }, { type: "BLACKLISTEDITEMS", itemIds: [name] }] });
  await put(`/api/v1/projects/${ARABIC}`, { name: "مدرسة جديدة", restrictions: [{ type: "WHITELIST", propertyName: "الصنف", allowedValues: ["خشب", "زجاج"] }] });
});

after(async () => {
  await on?.context.close();
  await on?.host.end();
});

/** Whether the element that has the focus is covered, entirely, by something else. */
const covered = (page) =>
  page.evaluate(() => {
    const focused = document.activeElement;
    if (focused === document.body) return undefined;
    // What is clicked or drawn may be the label around a control that is transparent.
    const shown = focused.closest("label, [role=treeitem]") ?? focused;
    const box = shown.getBoundingClientRect();
    const points = [0.02, 0.25, 0.5, 0.75, 0.98].flatMap((x) => [0.1, 0.5, 0.9].map((y) => [box.left + box.width * x, box.top + box.height * y]));
    const isSeen = points.some(([x, y]) => {
      const hit = document.elementFromPoint(x, y);
      return hit && (shown.contains(hit) || hit.contains(shown));
    });
    return isSeen ? undefined : `${focused.tagName} ${focused.getAttribute("aria-label") ?? focused.labels?.[0]?.textContent ?? focused.textContent}`.trim().slice(0, 60);
  });

describe("nothing that has the focus is hidden", () => {
  const views = [
    ["Preview of a condition", "#/preview/condition/energy-drink", (page) => page.getByText("Try a change", { exact: true }).click()],
    ["Preview of a project", `#/preview/project/${PROJECT}`, agrees],
    ["Preview of a basket", `#/preview/basket?project=${PROJECT}&age=17`, agrees],
    ["Conditions", "#/conditions", async () => {}],
    ["Projects", "#/projects", async () => {}],
    ["Editing a project", "#/projects", (page) => page.getByRole("button", { name: /Edit School/ }).click()],
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
            const found = await covered(page);
            if (found !== undefined) hidden.push(`${key}: ${found}`);
          }
        }
        assert.deepEqual(hidden, []);
      }));
    }
  }
});

const width = (page) => page.evaluate(() => document.documentElement.scrollWidth);

test("long ids, names and properties do not push the page wide", () => visit(on, "#/conditions", async (page) => {
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
    await page.evaluate((to) => (location.hash = to), hash);
    await ready(page);
    assert.ok((await width(page)) <= 360, `${hash.slice(0, 30)} is ${await width(page)} px wide`);
  }
  await page.screenshot({ path: `${OUTPUT}long-360.png`, fullPage: true });
  await page.evaluate(() => (location.hash = "#/projects"));
  await page.getByRole("button", { name: /Edit xxxx/ }).click();
  await dialog(page).getByLabel("Name").fill("short");
  await dialog(page).getByRole("button", { name: "Review" }).click();
  await dialog(page).getByText("added: short").waitFor();
  const inside = await dialog(page).evaluate((element) => element.scrollWidth - element.clientWidth);
  assert.ok(inside <= 0, `the dialog is ${inside} px too wide`);
}));

test("Arabic runs from right to left, in lists, forms and decisions", () => visit(on, "#/projects", async (page) => {
  const direction = (locator) => locator.evaluate((element) => getComputedStyle(element).direction);
  assert.equal(await direction(page.getByRole("heading", { name: "مدرسة جديدة" })), "rtl");
  assert.equal(await direction(page.locator(".rules li").filter({ hasText: "الصنف" })), "rtl");
  assert.equal(await direction(page.getByRole("heading", { name: "School, new building" })), "ltr");
  await page.getByRole("button", { name: "Edit مدرسة" }).click();
  for (const label of ["Name", "Property", "Values, one per line"]) assert.equal(await direction(dialog(page).getByLabel(label, { exact: true })), "rtl", label);
  await page.keyboard.press("Escape");
  await page.getByRole("link", { name: "Preview مدرسة" }).click();
  await agrees(page);
  assert.equal(await direction(page.locator(".result-name")), "rtl");
  assert.equal(await direction(page.getByLabel("الصنف", { exact: true })), "ltr", "an empty field has the direction of the page");
  await page.getByLabel("الصنف", { exact: true }).fill("خشب");
  assert.equal(await direction(page.getByLabel("الصنف", { exact: true })), "rtl");
  await page.screenshot({ path: `${OUTPUT}arabic.png` });
}));

describe("axe finds nothing in any state of rules", () => {
  const states = [
    ["draft", "#/preview/condition/energy-drink", async (page) => {
      await page.getByText("Try a change", { exact: true }).click();
      await page.getByLabel("Minimum age").fill("18");
      await page.getByText("Request and response of your draft").click();
    }],
    ["new-rule", "#/preview", (page) => page.getByLabel("Condition", { exact: true }).selectOption("A new condition…")],
    ["global", "#/preview/condition/alcohol", agrees],
    ["faults", "#/preview/condition/alcohol?item=&age=200", agrees],
    ["project", `#/preview/project/${PROJECT}?properties={"brand":"acme"}`, agrees],
    ["basket", `#/preview/basket?project=${PROJECT}`, agrees],
    ["review", "#/projects", async (page) => {
      await page.getByRole("button", { name: /Edit School/ }).click();
      await dialog(page).getByLabel("Values, one per line").first().fill("timber\nglass ");
      await dialog(page).getByRole("button", { name: "Review" }).click();
    }],
    ["taken", "#/conditions", async (page) => {
      await page.getByRole("button", { name: "New condition" }).click();
      await dialog(page).getByLabel("Id", { exact: true }).fill("alcohol");
      await dialog(page).getByRole("button", { name: "Review" }).click();
      await dialog(page).getByText("This id exists").waitFor();
    }],
    ["empty-rule", "#/projects", async (page) => {
      await page.getByRole("button", { name: "New project" }).click();
      await dialog(page).getByRole("button", { name: "Add a rule" }).click();
      await dialog(page).getByRole("button", { name: "Review" }).click();
      await dialog(page).getByText("Enter the name of the property.").waitFor();
    }],
    ["found", "#/projects", (page) => page.getByLabel("Filter projects").fill("foam")],
    ["collision", "#/conditions", async (page) => {
      await on.host.api("PUT", "/api/v1/entity-conditions/collision", { rule: "AGE_RESTRICTION", condition_value: { minimum_age: 15 } });
      await page.getByRole("button", { name: "Edit collision" }).click();
      await dialog(page).getByLabel("Minimum age").fill("14");
      await on.host.api("PUT", "/api/v1/entity-conditions/collision", { rule: "AGE_RESTRICTION", condition_value: { minimum_age: 13 } });
      await save(page);
      await dialog(page).getByText("What they changed").waitFor();
    }],
    ["rates", "#/rates", (page) => page.getByRole("treeitem").first().waitFor()],
    ["webhooks", "#/webhooks", (page) => page.getByRole("button", { name: "New webhook" }).waitFor()],
  ];

  const check = async (page, name, { theme, size }) => {
    await page.screenshot({ path: `${OUTPUT}rules-${name}-${theme}-${size[0]}.png` });
    assert.ok((await width(page)) <= size[0], `${name} is ${await width(page)} px wide`);
    await page.evaluate(readFileSync(AXE, "utf8"));
    const { violations } = await page.evaluate(() => window.axe.run());
    assert.deepEqual(violations.map(({ id, nodes }) => `${name}: ${id}: ${nodes.map(({ html }) => html).join(" | ")}`), []);
  };

  const settings = ["light", "dark"].flatMap((theme) => [[360, 740], [768, 1024], [1440, 900]].map((size) => ({ theme, size })));
  for (const setting of settings) {
    test(`${setting.theme} at ${setting.size[0]} px`, async () => {
      const newcomers = await emptyHost();
      const editor = await clientWith(newcomers, ["ecs.editor"], "newcomer");
      const viewer = await clientWith(on.host, ["ecs.viewer"]);
      const others = [["guide", "", () => {}, editor], ["viewer", "#/conditions", () => {}, viewer]];
      for (const [name, hash, prepare, host = on.host] of [...states, ...others]) {
        const page = await signedIn(on.context, host, hash);
        await page.emulateMedia({ colorScheme: setting.theme, reducedMotion: "reduce" });
        await page.setViewportSize({ width: setting.size[0], height: setting.size[1] });
        // Colours are checked without transitions.
        await page.evaluate(() => {
          const sheet = new CSSStyleSheet();
          sheet.replaceSync("* { transition: none !important; }");
          document.adoptedStyleSheets.push(sheet);
        });
        await prepare(page);
        await check(page, name, setting);
        expected(page, 400, 412);
        assert.deepEqual(page.faults, [], name);
        await page.close();
      }
      await newcomers.end();
    });
  }
});
