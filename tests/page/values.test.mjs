// The values of a rule as a long list: searched, counted, pasted, read from files and written to them, with no loss on the
// way.
//
//     cargo build && node --test tests/page/values.test.mjs     TESTS_LONG=1 keeps screenshots in tests/output/

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { looksRight, still } from "../support/looks.mjs";
import { demo } from "../support/program.mjs";
import { UNREACHABLE, dialog, downloaded, expected, hasCount, hasFocus, onHost, pressButton, save, shown, tabTo, visit } from "../support/page.mjs";

const ODD = [" padded ", "A", "a", "", "two\nlines", "=cmd()", "true", true, "a,b;c", "ä"];
const MANY = 300;

/** The values of the project: the odd ones first, then many, one of them twice. */
const VALUES = [...ODD, ...Array.from({ length: MANY }, (_, at) => `item-${at}`), "item-7"];

let projects = 0;
const idOf = (at) => `5f0f1a2b-0000-4000-8000-0000000010${String(at).padStart(2, "0")}`;

const on = onHost(demo, { permissions: ["clipboard-read", "clipboard-write"], acceptDownloads: true });

/** Runs a test in the form of its own project whose one rule has these values; `stored` then reads the stored values. */
const inForm = (values, work) => async () => {
  const id = idOf((projects += 1));
  const name = `Shop ${projects} ${id.slice(-2)}`;
  const rule = { type: "WHITELIST", propertyName: "category", allowedValues: values, exclusive: false };
  const path = `/api/v1/projects/${id}`;
  assert.equal((await on.host.api("PUT", path, { name, restrictions: [rule] })).status, 201);
  const stored = async () => (await (await on.host.api("GET", path)).json()).restrictions[0].allowedValues;
  await visit(on, "#/projects", async (page) => {
    await page.getByRole("button", { name: `Edit ${name}` }).click();
    await work(page, stored);
  });
  await on.host.api("DELETE", path);
};

const list = (page) => dialog(page).getByRole("listbox", { name: "Values" });
const rows = (page) => list(page).getByRole("option");
const counts = (page) => dialog(page).locator(".value-counts");
const says = (page, text) => dialog(page).getByRole("group", { name: "Values", exact: true }).getByRole("status").getByText(text).waitFor();
const act = (page, name) => pressButton(dialog(page), name);
const search = (page, text) => dialog(page).getByLabel("Search the values").fill(text);

/** Pastes a text as the keyboard does. */
async function paste(page, text, label = "Add a value") {
  await page.evaluate((copied) => navigator.clipboard.writeText(copied), text);
  await dialog(page).getByLabel(label).press("Control+v");
}

const takeFile = (page, name, buffer) => dialog(page).getByLabel("CSV file").setInputFiles({ name, mimeType: "text/csv", buffer: Buffer.from(buffer) });

const saved = (page) => downloaded(page, () => act(page, "Download as CSV"));

describe("a long list", () => {
  test("is searched, what is removed and added is counted, and nothing else changes", inForm(VALUES, async (page, stored) => {
    await shown(counts(page), "311 values · 1 repeated");
    await search(page, "ITEM-29");
    await says(page, "11 of 311 values");
    await hasCount(rows(page), 11);
    await act(page, "Remove all 11 found");
    await shown(counts(page), "300 values · 11 removed · 1 repeated");
    await search(page, "");
    await paste(page, "glass\n Glass\nglass\nA\n");
    await says(page, "2 values were added. 1 value is in the list already. 1 value was repeated. 1 value begins or ends with a space.");
    await shown(counts(page), "302 values · 2 added · 11 removed · 1 repeated");
    await dialog(page).getByLabel("Show", { exact: true }).selectOption("Repeated (1)");
    await hasCount(rows(page), 1);
    await rows(page).getByText("item-7").click();
    await act(page, "Remove 1 selected");
    await shown(counts(page), "301 values · 2 added · 11 removed");
    await save(page);
    await page.getByText("Saved. The change is in force.").waitFor();
    const left = VALUES.slice(0, -1).filter((value) => !/^item-29/.test(value));
    assert.deepEqual(await stored(), [...left, "glass", " Glass"]);
  }));

  test("shows what is not a plain text, and only the rows in sight are drawn", inForm(VALUES, async (page) => {
    for (const text of ["“ padded ”", "“”", "“two↵lines”", "=cmd()"]) await rows(page).getByText(text, { exact: true }).waitFor();
    await rows(page).filter({ hasText: /^true$/ }).waitFor();
    await rows(page).filter({ hasText: "yesyes or no" }).waitFor();
    assert.ok((await rows(page).count()) < 60);
    await dialog(page).getByRole("checkbox", { name: "yes" }).uncheck();
    await shown(counts(page), "310 values · 1 removed · 1 repeated");
    await dialog(page).getByRole("checkbox", { name: "yes" }).check();
    await shown(counts(page), "311 values · 1 repeated");
  }));

  test("a paste is undone, and what was removed comes back to its place", inForm(VALUES, async (page, stored) => {
    await shown(counts(page), "311 values · 1 repeated");
    await paste(page, Array.from({ length: 50 }, (_, at) => `new-${at}`).join("\r\n"));
    await shown(counts(page), "361 values · 50 added · 1 repeated");
    await search(page, "padded");
    await act(page, "Remove all 1 found");
    await act(page, "Undo: 1 value removed");
    await act(page, "Undo: 50 values added");
    await shown(counts(page), "311 values · 1 repeated");
    await pressButton(dialog(page), "Review");
    await dialog(page).getByText("You have not changed anything.").waitFor();
    assert.deepEqual(await stored(), VALUES);
  }));

  test("is worked with by keyboard alone", inForm(VALUES, async (page) => {
    await shown(counts(page), "311 values · 1 repeated");
    await dialog(page).getByLabel("Show", { exact: true }).focus();
    await tabTo(page, "Values");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Shift+ArrowDown");
    await page.keyboard.press("End");
    await page.keyboard.press("Space");
    await rows(page).last().and(page.locator("[aria-selected=true]")).waitFor();
    await dialog(page).getByRole("button", { name: "Remove 3 selected" }).waitFor();
    await page.keyboard.press("Delete");
    await shown(counts(page), "308 values · 2 removed");
    await hasFocus(page, "Values", "the list keeps the focus");
    await page.keyboard.press("Control+a");
    await page.keyboard.press("Delete");
    await shown(counts(page), "0 values · 310 removed");
    await dialog(page).getByText("Nothing can be bought: a list of allowed values of category is empty.").first().waitFor();
    await act(page, "Undo: 308 values removed");
    await shown(counts(page), "308 values · 2 removed");
    await dialog(page).getByLabel("Add a value").fill("typed");
    await page.keyboard.press("Enter");
    await shown(counts(page), "309 values · 1 added · 2 removed");
  }));

  test("what was typed and not saved is counted against what is stored when it is opened again", inForm(VALUES, async (page) => {
    await paste(page, "draft-1\ndraft-2");
    await shown(counts(page), "313 values · 2 added · 1 repeated");
    await page.keyboard.press("Escape");
    await dialog(page).waitFor({ state: "detached" });
    await page.getByRole("button", { name: /^Edit Shop/ }).last().click();
    await shown(counts(page), "313 values · 2 added · 1 repeated");
    await act(page, "Cancel");
    await page.getByRole("button", { name: "Discard" }).click();
  }));
});

describe("few values", () => {
  const FEW = ["timber", "glass", "timber"];

  test("are lines, which name one that is there twice", inForm(FEW, async (page) => {
    await dialog(page).getByText("1 value repeated: timber.").waitFor();
    await hasCount(list(page), 0);
  }));

  test("become a list when a spreadsheet is pasted, of which a column is chosen", inForm(FEW, async (page, stored) => {
    await paste(page, "Item id\tName\nFI-1\tScrews, 40 mm\nFI-2\tNails\n", "Values, one per line");
    await dialog(page).getByText("3 lines with 2 columns. What are the values?").waitFor();
    await hasFocus(page, "The values are in");
    await dialog(page).getByRole("checkbox", { name: "The first line is a heading", checked: true }).waitFor();
    await dialog(page).getByLabel("The values are in").selectOption("Name: Screws, 40 mm, Nails");
    await act(page, "Add these");
    await shown(counts(page), "5 values · 2 added · 1 repeated");
    await save(page);
    await page.getByText("Saved. The change is in force.").waitFor();
    assert.deepEqual(await stored(), [...FEW, "Screws, 40 mm", "Nails"]);
  }));

  test("become a list when many lines are pasted", inForm(FEW, async (page) => {
    await paste(page, Array.from({ length: 1000 }, (_, at) => `line ${at}`).join("\n"), "Values, one per line");
    await shown(counts(page), "1,003 values · 1,000 added · 1 repeated");
  }));
});

describe("files", () => {
  test("in UTF-16 with another delimiter are read", inForm(VALUES, async (page) => {
    await takeFile(page, "größe.csv", Buffer.from("\ufeffGröße;Preis\r\nöl;1,5\r\n\"a;b\";2,5\r\n", "utf16le"));
    await dialog(page).getByLabel("The values are in").selectOption("Größe: öl, a;b");
    await dialog(page).getByRole("checkbox", { name: "The first line is a heading" }).check();
    await act(page, "Add these");
    await says(page, "2 values were added.");
    await search(page, "a;b");
    await hasCount(rows(page), 1);
  }));

  test("that were saved are read as they were, and hold no formula that a spreadsheet runs", inForm(VALUES, async (page, stored) => {
    await shown(counts(page), "311 values · 1 repeated");
    const { name, text } = await saved(page);
    assert.equal(name, "category.csv");
    assert.match(text, /\r\n"'=cmd\(\)",text\r\n/);
    assert.doesNotMatch(text, /(^|[\n,])"?=/);
    await list(page).focus();
    await page.keyboard.press("Control+a");
    await page.keyboard.press("Delete");
    await shown(counts(page), "0 values · 310 removed");
    await takeFile(page, name, text);
    await says(page, "310 values were added. 1 value was repeated.");
    await shown(counts(page), "310 values");
    await save(page);
    await page.getByText("Saved. The change is in force.").waitFor();
    assert.deepEqual(await stored(), VALUES.slice(0, -1));
  }));

  test("that are hostile end in a sentence, and the list stays as it was", inForm(VALUES, async (page) => {
    const columns = Array.from({ length: 10_000 }, (_, at) => `c${at}`).join(",");
    const hostile = [
      ["one line without end", "x".repeat(16 * 1024 * 1024), "1 value was left out as too long: xxxxxxxxxxxxxxxxxxxxxxxx…"],
      ["too many values", Array.from({ length: 100_001 }, (_, at) => `v${at}`).join("\n"), "Nothing was added: a project may have 100,000 values, and with these it would have more."],
      ["a quotation mark that is not closed", 'a-new\n"b\nc-new', "Line 2: A cell starts with a quotation mark but does not end with one."],
      ["nothing", "\n\n\r\n", "There is no value in it."],
      ["a workbook", `PK\x03\x04\x14\0\x06\0\x08\0\0\0!\0${"x".repeat(16)}[Content_Types].xml`, "This is an Excel workbook. Save it as CSV. Nothing was added."],
      ["more than a list can be", Buffer.alloc(33 * 1024 * 1024), "is larger than 32 MiB"],
    ];
    for (const [name, content, sentence] of hostile) {
      await takeFile(page, `${name}.csv`, content);
      await says(page, sentence);
    }
    await takeFile(page, "columns.csv", `${columns}\n${columns}`);
    await dialog(page).getByText("2 lines with 10,000 columns. What are the values?").waitFor();
    await dialog(page).getByText("Only the first 100 columns can be chosen.").waitFor();
    await dialog(page).getByRole("region", { name: "What to add" }).getByRole("button", { name: "Cancel" }).click();
    await shown(counts(page), "314 values · 3 added · 1 repeated");
  }));
});

test("100,000 values are searched, changed and saved", inForm(["first"], async (page, stored) => {
  const values = Array.from({ length: 99_999 }, (_, at) => `item-${at}-of-a-long-list`);
  await paste(page, values.join("\n"), "Values, one per line");
  await shown(counts(page), "100,000 values · 99,999 added");
  assert.ok((await rows(page).count()) < 60);
  await search(page, "item-9999");
  await says(page, "10 of 100,000 values");
  await act(page, "Remove all 10 found");
  await shown(counts(page), "99,990 values · 99,989 added");
  await search(page, "");
  await says(page, "99,990 values");
  await list(page).focus();
  await page.keyboard.press("End");
  await rows(page).getByText("item-99989-of-a-long-list").waitFor();
  await act(page, "Review");
  await dialog(page).getByText(/^An item with category item-\d+-of-a-long-list is denied today, and would be allowed\.$/).waitFor();
  await act(page, "Save");
  await page.getByText("Saved. The change is in force.").waitFor();
  assert.deepEqual(await stored(), ["first", ...values.filter((value) => !value.startsWith("item-9999"))]);
}));

describe("what a draft of very many values would change", () => {
  const many = Array.from({ length: 12_000 }, (_, at) => `item-${at}`);
  const effect = (page, text) => dialog(page).getByRole("status").getByText(text).waitFor();
  const WOULD = /^An item with category item-11999 is allowed today, and would be denied\.$/;
  const withoutTheLast = async (page) => {
    await search(page, "item-11999");
    await act(page, "Remove all 1 found");
  };

  test("is said, whatever was typed meanwhile, and in the review", inForm(many, async (page) => {
    await dialog(page).getByText("What would change?", { exact: true }).click();
    await effect(page, "This draft changes no decision.");
    await withoutTheLast(page);
    await effect(page, WOULD);
    await act(page, "Undo: 1 value removed");
    await dialog(page).getByLabel("Property", { exact: true }).fill("");
    await effect(page, "The rule is not complete yet. Its effect is unknown.");
    await dialog(page).getByLabel("Property", { exact: true }).fill("category");
    await effect(page, "This draft changes no decision.");
    await withoutTheLast(page);
    await act(page, "Review");
    await dialog(page).getByRole("region", { name: "Which decisions change" }).getByText(WOULD).waitFor();
  }));

  test("is said also where the worker cannot be loaded", inForm(many, async (page) => {
    let asked = 0;
    await page.route("**/apart-worker.js", (route) => ((asked += 1), route.abort()));
    await dialog(page).getByText("What would change?", { exact: true }).click();
    await effect(page, "This draft changes no decision.");
    await withoutTheLast(page);
    await effect(page, WOULD);
    await act(page, "Review");
    await dialog(page).getByRole("region", { name: "Which decisions change" }).getByText(WOULD).waitFor();
    assert.ok(asked > 0);
    expected(page, UNREACHABLE);
  }));
});

describe("how it looks", () => {
  const states = [
    ["list", async () => {}],
    ["chosen", async (page) => {
      await search(page, "item-1");
      await rows(page).nth(1).click();
      await rows(page).nth(4).click({ modifiers: ["Shift"] });
      await dialog(page).getByRole("button", { name: "Remove 4 selected" }).scrollIntoViewIfNeeded();
    }],
    ["columns", async (page) => {
      await paste(page, "id\tname\tprice\na1\tScrews\t1,5");
      await dialog(page).getByRole("button", { name: "Add these" }).scrollIntoViewIfNeeded();
    }],
    ["nothing-found", async (page) => {
      await search(page, "no such value");
      await says(page, "No value matches.");
    }],
  ];
  for (const [name, prepare] of states) {
    test(name, inForm(VALUES, async (page) => {
      await shown(counts(page), "311 values · 1 repeated");
      await still(page);
      await prepare(page);
      await looksRight(page, `values-${name}`);
    }));
  }
});
