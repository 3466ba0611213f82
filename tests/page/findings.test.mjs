// Findings in the editors: the module's findings about a rule appear while it is typed, at the lines that they are about.
//
//     cargo build && node --test tests/page/findings.test.mjs     TESTS_LONG=1 keeps screenshots in tests/output/

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { looksRight, still } from "../support/looks.mjs";
import { dialog, hasCount, hasFocus, onDemo, pressButton, save, tabTo, visit } from "../support/page.mjs";

const CLOSED = "5f0f1a2b-0000-4000-8000-000000000021";
const LARGE = "5f0f1a2b-0000-4000-8000-000000000022";

const list = (type, propertyName, values) => ({ type, propertyName, [type === "WHITELIST" ? "allowedValues" : "deniedValues"]: values, exclusive: false });

const on = onDemo(async (host) => {
  const put = async (path, body) => assert.equal((await host.api("PUT", path, body)).status, 201, path);
  await put(`/api/v1/projects/${CLOSED}`, { name: "Closed site", restrictions: closed });
  const many = Array.from({ length: 12_000 }, (_, at) => `group-${at}`);
  await put(`/api/v1/projects/${LARGE}`, { name: "Large site", restrictions: [list("WHITELIST", "productGroup", many), list("WHITELIST", "brand", [])] });
});

const edit = (page, name) => page.getByRole("button", { name: `Edit ${name}` }).click();
const summary = (page) => dialog(page).getByRole("region", { name: "What to look at" });
const line = (page, at) => dialog(page).getByRole("listitem").filter({ has: page.getByLabel("Type of rule") }).nth(at);
const values = (page) => dialog(page).getByLabel("Values, one per line");

const closed = [list("WHITELIST", "brand", ["acme"]), { type: "BLACKLISTEDITEMS", itemIds: ["foam-0815"], exclusive: false }, list("WHITELIST", "productGroup", [])];

/** Restores the project for which nothing may be bought. */
const close = async () => assert.equal((await on.host.api("PUT", `/api/v1/projects/${CLOSED}`, { name: "Closed site", restrictions: closed })).status, 200);

test("“This rule forbids everything: which line is it?”", () => visit(on, "", async (page) => {
  await page.getByRole("link", { name: "Projects" }).click();
  const site = page.getByRole("listitem").filter({ has: page.getByRole("heading", { name: "Closed site" }) });
  await site.getByText("Nothing can be bought").waitFor();
  await site.getByRole("button", { name: "Edit" }).click();
  await dialog(page).getByRole("heading", { name: "1 thing to look at" }).waitFor();
  await dialog(page).getByText("Nothing can be bought: a list of allowed values of productGroup is empty.").first().waitFor();
  await dialog(page).getByRole("button", { name: "Rule 3: productGroup must be one of" }).click();
  // Typing continues in that line.
  await hasFocus(page, "Type of rule");
  await tabTo(page, "Values, one per line");
  await page.keyboard.type("timber");
  await dialog(page).getByRole("heading", { name: "1 thing to look at" }).waitFor({ state: "hidden" });
  await pressButton(dialog(page), "Review");
  await dialog(page).getByText("An item with brand acme and productGroup timber is denied today, and would be allowed.").waitFor();
  await pressButton(dialog(page), "Save");
  await page.getByText("Saved. The change is in force.").waitFor();
  await site.getByText("productGroup must be timber").waitFor();
  await hasCount(site.getByText("Nothing can be bought"), 0);
  await close();
}));

describe("what forbids everything", () => {
  test("the list says for which project, and the editor at which line", () => visit(on, "#/projects", async (page) => {
    const row = page.locator(".row").filter({ hasText: "Closed site" });
    await row.getByText("Nothing can be bought").waitFor();
    await hasCount(page.locator(".row").filter({ hasText: "School, new building" }).getByText("Nothing can be bought"), 0, "others have no mark");
    await edit(page, "Closed site");
    await summary(page).getByRole("heading", { name: "1 thing to look at" }).waitFor();
    await summary(page).getByText("Nothing can be bought").waitFor();
    await line(page, 2).getByText("Nothing can be bought").waitFor();
    await hasCount(line(page, 0).getByText("Nothing can be bought"), 0, "the lines that are right have no mark");
    await hasCount(line(page, 1).getByText("Nothing can be bought"), 0);
    await summary(page).getByRole("button", { name: "Rule 3: productGroup must be one of" }).click();
    await hasFocus(page, "Type of rule");
    assert.ok(await line(page, 2).evaluate((each) => each.contains(document.activeElement)), "the line has the focus");
    assert.doesNotMatch(await dialog(page).innerText(), /\$\.|restrictions\[/, "no path is shown");
  }));

  test("the keyboard alone leads there, and screen readers read what is wrong with the line", () => visit(on, "#/projects", async (page) => {
    await edit(page, "Closed site");
    await summary(page).getByRole("button").waitFor();
    await tabTo(page, "Rule 3: productGroup must be one of");
    await page.keyboard.press("Enter");
    await hasFocus(page, "Type of rule");
    const described = await page.evaluate(() => document.activeElement.getAttribute("aria-describedby").split(" ").map((id) => document.getElementById(id)?.textContent).join(" "));
    assert.match(described, /Nothing can be bought/);
  }));

  test("it is gone once the line is mended, and the review says it while it is not", () => visit(on, "#/projects", async (page) => {
    await edit(page, "Closed site");
    await summary(page).waitFor();
    await dialog(page).getByLabel("Name", { exact: true }).fill("Closed for good");
    await pressButton(dialog(page), "Review");
    await dialog(page).locator(".review").getByText("Nothing can be bought").waitFor();
    await dialog(page).getByRole("button", { name: "Back" }).click();
    await line(page, 2).getByRole("button", { name: "Remove this rule" }).click();
    await summary(page).waitFor({ state: "hidden" });
    for (const at of [0, 1]) await hasCount(line(page, at).getByText("Nothing can be bought"), 0);
    await dialog(page).getByLabel("Name", { exact: true }).fill("Closed site");
    await save(page);
    await page.locator(".row").filter({ hasText: "Closed site" }).getByText("Nothing can be bought").waitFor({ state: "detached" });
    await close();
  }));
});

describe("while typing", () => {
  test("values that are both allowed and denied are named at both lines", () => visit(on, "#/projects", async (page) => {
    await edit(page, "School, new building");
    await values(page).first().fill("timber\nfasteners\ninsulation");
    await hasCount(summary(page), 0, "nothing is wrong at first");
    await dialog(page).getByRole("button", { name: "Add a rule" }).click();
    // The new line is incomplete: it does not change the findings.
    await hasCount(summary(page), 0);
    await line(page, 2).getByLabel("Type of rule").selectOption("A property must not be one of");
    await line(page, 2).getByLabel("Property", { exact: true }).fill("productGroup");
    await line(page, 2).getByLabel("Values, one per line").fill("insulation");
    await summary(page).getByText("both allowed and denied").waitFor();
    for (const at of [0, 2]) await line(page, at).getByText("both allowed and denied").waitFor();
    await hasCount(line(page, 1).getByText("both allowed and denied"), 0);
    await hasCount(summary(page).getByRole("button"), 2);
    await line(page, 2).getByLabel("Values, one per line").fill("paint");
    await line(page, 0).getByText("both allowed and denied").waitFor({ state: "detached" });
  }));

  test("a condition is looked at too: a minimum age that nobody has, and one that asks for nothing", () => visit(on, "#/conditions", async (page) => {
    await edit(page, "energy-drink");
    await hasCount(summary(page), 0);
    await dialog(page).getByLabel("Minimum age").fill("130");
    await summary(page).getByText("more than people live").waitFor();
    await summary(page).getByRole("button", { name: "Minimum age" }).click();
    await hasFocus(page, "Minimum age");
    await dialog(page).getByLabel("Minimum age").fill("0");
    await summary(page).getByText("A minimum age of 0").waitFor();
    await dialog(page).getByLabel("Minimum age").fill("");
    await summary(page).waitFor({ state: "hidden" });
  }));

  test("a project with very many values is looked at on demand", () => visit(on, "#/projects", async (page) => {
    await edit(page, "Large site");
    await dialog(page).getByText("With this many values, mistakes are not checked while you type.").waitFor();
    await hasCount(summary(page), 0);
    await pressButton(dialog(page), "Look now");
    await summary(page).getByRole("button", { name: "Rule 2: brand must be one of" }).click();
    await hasFocus(page, "Type of rule");
    await dialog(page).getByLabel("Name", { exact: true }).click();
    await summary(page).getByRole("button", { name: "Rule 2: brand must be one of" }).waitFor();
    await dialog(page).getByLabel("Name", { exact: true }).press("x");
    await hasCount(summary(page), 0);
  }));
});

describe("findings look right, and axe finds nothing", () => {
  const states = [
    ["list", "#/projects", (page) => page.getByText("Nothing can be bought").first().waitFor()],
    ["closed", "#/projects", async (page) => {
      await edit(page, "Closed site");
      await summary(page).getByText("Nothing can be bought").waitFor();
    }],
    ["closed-line", "#/projects", async (page) => {
      await edit(page, "Closed site");
      await summary(page).getByRole("button", { name: /^Rule 3/ }).click();
      await hasFocus(page, "Type of rule");
    }],
    ["condition", "#/conditions", async (page) => {
      await edit(page, "energy-drink");
      await dialog(page).getByLabel("Minimum age").fill("130");
      await summary(page).waitFor();
    }],
  ];
  for (const [name, hash, prepare] of states) {
    test(name, () => visit(on, hash, async (page) => {
      await still(page);
      await prepare(page);
      await looksRight(page, `findings-${name}`);
    }));
  }
});
