// The effects of a draft, shown before saving: in sentences, by age, and for a list of items or customers, which may be long,
// odd or hostile.
//
//     cargo build && node --test tests/page/what-if.test.mjs     TESTS_LONG=1 keeps screenshots in tests/output/

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { before, describe, test } from "node:test";

import { initSync } from "../../js/src/index.js";
import { looksRight, still } from "../support/looks.mjs";
import { dialog, downloaded, hasCount, hasFocus, hasValue, onDemo, pressButton, tabTo, visit } from "../support/page.mjs";
import { eventually } from "../support/wait.mjs";
import { inSlices } from "../../www/shared/slices.js";
import { parseCsv } from "../../www/shared/csv.js";
import { NONE, checkedBy, columnsOf, rowReader } from "../../www/rules/what-if-columns.js";
import { deciding, writing } from "../../www/rules/what-if-decisions.js";
import { ageChanges, ageText, effectText, pairText } from "../../www/rules/what-if-words.js";

const SHOP = "6a1d2c3b-0000-4000-8000-000000000030";

const on = onDemo(async (host) => {
  const restrictions = [
    { type: "BOOLEAN", propertyName: "fragile", value: false },
    { type: "BLACKLIST", propertyName: "category", deniedValues: ["paint", "true"] },
  ];
  assert.equal((await host.api("PUT", `/api/v1/projects/${SHOP}`, { name: "Kiosk", restrictions })).status, 201);
});

const age = (minimum, rest) => ({ condition: { id: "beer", scope: "TENANT", rule: "AGE_RESTRICTION", enabled: true, condition_value: { minimum_age: minimum }, ...rest } });
const license = { condition: { id: "cigars", scope: "TENANT", rule: "LICENSE_REQUIREMENT", enabled: true, condition_value: {} } };
const project = (...restrictions) => ({ project: { projectId: SHOP, restrictions } });

describe("what the module has found is a sentence", () => {
  const flips = (customer, before, after) => effectText("condition", { same: false, witness: { item: { id: "any" }, context: { customer } }, before, after });
  const item = (given, before, after, ids) => effectText("project", { same: false, witness: { item: { id: "any", ...given } }, before, after }, ids);

  test("about a customer", () => {
    assert.equal(flips({ customer_age: 15 }, "ALLOW", "HARD_DENY"), "A 15-year-old may buy it today, but no longer could.");
    assert.equal(flips({ customer_age: 18 }, "HARD_DENY", "ALLOW"), "An 18-year-old may not buy it today, and could buy it then.");
    assert.equal(flips({ customer_age: 81, licenses: [] }, "ALLOW", "SOFT_DENY"), "An 81-year-old without a license may buy it today, and would have to be asked first.");
    assert.equal(flips({ licenses: ["a", { id: "b" }] }, "SOFT_DENY", "HARD_DENY"), "A customer with the licenses “a” and “b” has to be asked first today, and could not buy it then.");
    assert.equal(flips(null, "ALLOW", "SOFT_DENY"), "A customer who was not asked may buy it today, and would have to be asked first.");
    assert.equal(flips({ customer_age: 11 }, "NOT_FOUND", "ALLOW"), "Tills that ask for it get an error today. Then an 11-year-old could buy it.");
    assert.equal(flips({ customer_age: 30 }, "ALLOW", "NOT_FOUND"), "A 30-year-old may buy it today. Then tills that ask for it would get an error.");
  });

  test("about an item", () => {
    assert.equal(item({ additionalProperties: { category: "paint" } }, "HARD_DENY", "ALLOW"), "An item with category paint is denied today, and would be allowed.");
    assert.equal(item({ additionalProperties: { fragile: true, category: "a" } }, "ALLOW", "HARD_DENY"), "An item with fragile yes and category a is allowed today, and would be denied.");
    assert.equal(item({ id: "foam" }, "ALLOW", "HARD_DENY", ["foam"]), "The item “foam” is allowed today, and would be denied.");
    assert.equal(item({}, "ALLOW", "HARD_DENY"), "An item without properties is allowed today, and would be denied.");
    assert.equal(item({}, "SOFT_DENY", "ALLOW"), "Tills do not know this project today. Then an item without properties would be allowed.");
  });

  test("when no decision changes", () => assert.equal(effectText("project", { same: true }), "This draft changes no decision."));
});

test("the ages whose decision changes are ranges", () => {
  const decisions = (minimum) => Array.from({ length: 101 }, (_, years) => (years < minimum ? "HARD_DENY" : "ALLOW"));
  const texts = (before, after) => ageChanges(decisions(before), decisions(after)).map((range) => ageText(range, 100));
  assert.deepEqual(texts(15, 16), ["15-year-olds: sold today, refused then."]);
  assert.deepEqual(texts(18, 16), ["16- to 17-year-olds: refused today, sold then."]);
  assert.deepEqual(texts(0, 16), ["All up to 15 years: sold today, refused then."]);
  assert.deepEqual(texts(18, 150), ["All from 18 years on: sold today, refused then."]);
  assert.deepEqual(texts(0, 150), ["All ages: sold today, refused then."]);
  assert.deepEqual(texts(16, 16), []);
  assert.equal(pairText("NOT_FOUND", "SOFT_DENY"), "without an answer today, asked first then");
});

describe("a list is read by its columns", () => {
  const rules = project({ type: "WHITELIST", propertyName: "productGroup", allowedValues: ["a", "true"] }, { type: "BOOLEAN", propertyName: "fragile", value: true }, { type: "BLACKLIST", propertyName: "kind", deniedValues: ["x", true] });
  const read = (text, documents, chosen = {}) => {
    const list = parseCsv(text);
    const columns = { ...columnsOf(list, checkedBy(documents)), ...chosen };
    const reader = rowReader(columns, chosen.customer);
    return list.rows.slice(columns.hasHeader ? 1 : 0).map((cells, at) => reader(cells, list.lines[at + (columns.hasHeader ? 1 : 0)]));
  };
  const rowsOf = (...given) => read(...given).map(({ row }) => row);
  const faultsOf = (...given) => read(...given).map(({ fault }) => fault);

  test("that are found by their names, however they are written", () => {
    const { properties, ...columns } = columnsOf(parseCsv("Name;Item-Id;PRODUCT_GROUP;Fragile\nx;1;a;yes"), checkedBy([rules, null]));
    assert.deepEqual(columns, { hasHeader: true, id: 1, age: NONE, licenses: NONE });
    assert.deepEqual(properties, { productGroup: { column: 2, kind: "text" }, fragile: { column: 3, kind: "flag" }, kind: { column: NONE, kind: "mixed" } });
    const ofCustomers = columnsOf(parseCsv("Customer age,Licence\n15,a"), checkedBy([age(18), license]));
    assert.deepEqual(ofCustomers, { hasHeader: true, id: NONE, age: 0, licenses: 1, properties: {} });
  });

  test("and lines are ids", () => {
    assert.deepEqual(rowsOf("a\n\nb", [age(18)]), [{ id: "a" }, { id: "b" }]);
    assert.deepEqual(rowsOf("id\na", [age(18)]), [{ id: "a" }]);
    assert.deepEqual(rowsOf("a", [age(18)], { customer: { age: 15, licenses: [] } }), [{ id: "a", customer_age: 15, licenses: [] }]);
  });

  test("with ages and licenses, and lines without an id", () => {
    assert.deepEqual(rowsOf("age,licenses\n15,\n,a; b", [age(18), license]), [{ id: "line 2", customer_age: 15, licenses: [] }, { id: "line 3", licenses: ["a", "b"] }]);
  });

  test("with yes and no where rules are about these, and with texts elsewhere", () => {
    const text = "id,productGroup,fragile,kind\n1,true,true,true\n2,yes,No,x\n3,,,1";
    assert.deepEqual(rowsOf(text, [rules]), [
      { id: "1", additionalProperties: { productGroup: "true", fragile: true, kind: true } },
      { id: "2", additionalProperties: { productGroup: "yes", fragile: false, kind: "x" } },
      { id: "3", additionalProperties: { kind: "1" } },
    ]);
  });

  test("and what cannot be read is said in words", () => {
    assert.deepEqual(faultsOf("id,age\na,abc\nb,151\nc,-1\nd,15.5\n,15\ne,15", [age(18)]), [
      "The age “abc” is not a whole number from 0 to 150.",
      "The age “151” is not a whole number from 0 to 150.",
      "The age “-1” is not a whole number from 0 to 150.",
      "The age “15.5” is not a whole number from 0 to 150.",
      "There is no id.",
      undefined,
    ]);
    assert.deepEqual(faultsOf("id,fragile\na,maybe", [rules]), ["“maybe” in fragile is neither yes nor no."]);
    assert.deepEqual(faultsOf("x".repeat(1_000_000), [rules]), [`The id “${"x".repeat(40)}…” is longer than 256 characters.`]);
    assert.deepEqual(faultsOf("😀".repeat(256), [rules]), [undefined]);
    assert.match(faultsOf(`id,licenses\na,${"a ".repeat(10_000)}`, [license])[0], /^The licenses “a a .*…” are more than 10,000 characters\.$/);
  });

  test("also when a property has an odd name or a value that no rule can name", () => {
    const odd = project({ type: "WHITELIST", propertyName: "__proto__", allowedValues: ["a"] }, { type: "WHITELIST", propertyName: "!", allowedValues: ["a"] });
    assert.equal(JSON.stringify(rowsOf(`id,__proto__,!,\n1,a,b,c`, [odd])), '[{"id":"1","additionalProperties":{"__proto__":"a","!":"b"}}]');
    assert.equal(rowsOf(`id,kind\n1,${"x".repeat(5000)}`, [rules])[0].additionalProperties.kind.length, 257);
  });
});

describe("rows are decided as they are today, and as the draft would", () => {
  before(() => initSync(readFileSync(new URL("../../js/engine/tillgate_bg.wasm", import.meta.url))));

  const decide = (text, documents, customer) => {
    const list = parseCsv(text);
    const columns = columnsOf(list, checkedBy(documents));
    return inSlices(deciding(list, { first: columns.hasHeader ? 1 : 0, reader: rowReader(columns, customer), before: documents[0], after: documents[1] }));
  };
  const counts = async (...given) => Object.fromEntries((await decide(...given)).counts);

  test("by a condition, also one that is off or not there", async () => {
    const ages = "id,age\na,15\nb,16\nc,";
    assert.deepEqual(await counts(ages, [age(15), age(16)]), { "ALLOW HARD_DENY": 1, "ALLOW ALLOW": 1, "SOFT_DENY SOFT_DENY": 1 });
    assert.deepEqual(await counts(ages, [null, age(15)]), { "NOT_FOUND ALLOW": 2, "NOT_FOUND SOFT_DENY": 1 });
    assert.deepEqual(await counts("a", [age(15), age(15, { enabled: false })], { age: 15 }), { "ALLOW NOT_FOUND": 1 });
    const global = { ...age(18).condition, scope: "GLOBAL" };
    assert.deepEqual(await counts("a", [{ ...age(15), other: global }, { ...age(15, { enabled: false }), other: global }], { age: 15 }), { "ALLOW HARD_DENY": 1 });
    assert.deepEqual(await counts("id,licenses\na,cigars\nb,", [license, { condition: { ...license.condition, enabled: false } }]), { "ALLOW NOT_FOUND": 1, "HARD_DENY NOT_FOUND": 1 });
  });

  test("by a project, also one that is new", async () => {
    const of = (...allowedValues) => project({ type: "WHITELIST", propertyName: "group", allowedValues });
    const items = "id,group\na,timber\nb,glass\nc,";
    assert.deepEqual(await counts(items, [of("timber"), of("glass")]), { "ALLOW HARD_DENY": 1, "HARD_DENY ALLOW": 1, "HARD_DENY HARD_DENY": 1 });
    assert.deepEqual(await counts(items, [null, of("glass")]), { "SOFT_DENY HARD_DENY": 2, "SOFT_DENY ALLOW": 1 });
  });

  test("and a line that cannot be read leaves the others decided", async () => {
    const lines = Array.from({ length: 2500 }, (_, at) => `item-${at},${at === 1700 ? "old" : 15}`);
    const { entries, faults, left } = await decide(`id,age\n${lines.join("\n")}`, [age(15), age(16)]);
    assert.deepEqual([entries.length, left, faults.map(({ line }) => line)], [2499, 1, [1702]]);
    assert.deepEqual(entries.map(({ at }) => at), entries.map((_, at) => at));
  });
});

describe("a file with both decisions", () => {
  test("has the columns of the list, and no formula that runs", async () => {
    const entries = [{ cells: ["=cmd()"], before: "ALLOW", after: "HARD_DENY" }, { cells: ["b", "-1", "more"], before: "NOT_FOUND", after: "SOFT_DENY" }];
    const parts = await inSlices(writing(entries, ["id", "@name"]));
    assert.equal(parts.join(""), "id,\"'@name\",,today,then\r\n\"'=cmd()\",,,sold,refused\r\nb,\"'-1\",more,without an answer,asked first\r\n");
  });
});

describe("long work", () => {
  test("returns what it came to, and ends when it is not wanted any more", async () => {
    const steps = function* (count) {
      for (let step = 0; step < count; step += 1) {
        const until = performance.now() + 2;
        while (performance.now() < until);
        yield;
      }
      return "done";
    };
    assert.equal(await inSlices(steps(20)), "done");
    assert.equal(await inSlices(steps(Infinity), () => false), undefined);
  });
});

const opened = (page) => page.getByText("What would change?", { exact: true }).click();
const list = (page) => page.getByLabel("Paste a list");
const rows = (page) => page.getByRole("group", { name: "Decisions about the list" }).getByRole("listitem");
const choose = (page, name, content) => page.getByLabel("Or drop a file here, or choose one").setInputFiles({ name, mimeType: "text/csv", buffer: Buffer.from(content) });

/** Opens the editor of the demo's rule about energy drinks with another age. */
async function energyDrinksFrom(page, minimum) {
  await page.getByRole("link", { name: "Conditions" }).click();
  await page.getByRole("button", { name: "Edit energy-drink" }).click();
  await page.getByLabel("Minimum age").fill(String(minimum));
}

async function editProject(page, name) {
  await page.getByRole("link", { name: "Projects" }).click();
  await page.getByRole("button", { name: `Edit ${name}` }).click();
}

test("“From tomorrow energy drinks need 16 instead of 15: what changes for the items in this list?”", () => visit(on, "", async (page) => {
  await energyDrinksFrom(page, 16);
  await opened(page);
  await page.getByText("A 15-year-old may buy it today, but no longer could.").waitFor();
  await page.getByText("15-year-olds: sold today, refused then.").waitFor();
  await list(page).fill("red-can\nblue-can\ngreen-can");
  await hasValue(page.getByLabel("For a customer of age"), "15");
  await page.getByText("The decision changes for 3 of 3 lines.").waitFor();
  await page.getByRole("button", { name: "3 sold today, refused then" }).waitFor();
  await page.getByLabel("For a customer of age").fill("16");
  await page.getByText("No decision about these 3 lines changes.").waitFor();
  await page.getByLabel("For a customer of age").fill("15");
  await page.getByText("The decision changes for 3 of 3 lines.").waitFor();
  await pressButton(page, "Review");
  const review = page.getByRole("region", { name: "Which decisions change" });
  await review.getByText("A 15-year-old may buy it today, but no longer could.").waitFor();
  await review.getByText("The decision changes for 3 of 3 lines.").waitFor();
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("button", { name: "Discard" }).click();
  assert.deepEqual((await (await on.host.api("GET", "/api/v1/entity-conditions/energy-drink")).json()).condition_value, { minimum_age: 15 });
}));

test("a list with ages says which customers, is filtered and downloaded, and names the lines that cannot be read", () => visit(on, "", async (page) => {
  await energyDrinksFrom(page, 16);
  await opened(page);
  await list(page).fill("Item id;Age\nred-can;15\nblue-can;14\n=cmd();15\ngreen-can;old\nteal-can;\ngrey-can;40");
  await page.getByText("The decision changes for 2 of 5 lines.").waitFor();
  await page.getByText("1 line could not be read", { exact: true }).click();
  await page.getByText("Line 5: the age “old” is not a whole number from 0 to 150.").waitFor();
  await hasCount(rows(page), 2);
  await page.getByRole("button", { name: "3 as today" }).click();
  await hasCount(rows(page), 3);
  await rows(page).filter({ hasText: "teal-can" }).getByText("age not asked").waitFor();
  await page.getByRole("button", { name: "All 5 lines" }).click();
  await page.getByLabel("Filter the list").fill("can");
  await hasCount(rows(page), 4);
  await page.getByLabel("Filter the list").fill("");
  await page.getByRole("button", { name: "2 sold today, refused then" }).click();
  await hasCount(rows(page), 2);
  const { text } = await downloaded(page, () => page.getByRole("button", { name: "Download as CSV" }).click());
  assert.equal(text, "\ufeffItem id;Age;today;then\r\nred-can;15;sold;refused\r\n\"'=cmd()\";15;sold;refused\r\n");
}));

test("a list whose columns have other names is asked about before anything is said of it", () => visit(on, "", async (page) => {
  await energyDrinksFrom(page, 16);
  await opened(page);
  await list(page).fill("id,years\nred-can,15\nblue-can,40\ngreen-can,old");
  await page.getByText("Which column has the customer’s age? Choose it under “Columns”, or choose “not in the list”.").waitFor();
  await hasCount(page.getByText(/^(The|No) decision/), 0);
  await hasValue(page.getByRole("combobox", { name: "Age", exact: true }), "");
  await page.getByRole("combobox", { name: "Age", exact: true }).selectOption("years");
  await page.getByText("The decision changes for 1 of 2 lines. 1 line could not be read.").waitFor();
  await page.getByRole("combobox", { name: "Age", exact: true }).selectOption("not in the list");
  await page.getByText("The decision changes for 3 of 3 lines. Assumed for every line: age 15.").waitFor();
  await page.keyboard.press("Escape");
  await editProject(page, "Kiosk");
  await page.getByLabel("Must be").first().selectOption("yes");
  await opened(page);
  await page.getByText("Which column has the property fragile? Choose it under “Columns”, or choose “not in the list”.").waitFor();
  await page.getByLabel("Property fragile").selectOption("not in the list");
  await page.getByText("Which column has the property category?").waitFor();
  await page.getByLabel("Property category").selectOption("not in the list");
  await page.getByText("No decision about these 3 lines changes. Assumed for every line: no fragile, no category.").waitFor();
}));

test("a list is kept for the session, and read by the rules that are edited", () => visit(on, "", async (page) => {
  await energyDrinksFrom(page, 16);
  await opened(page);
  await choose(page, "assortment.csv", "id,fragile,category\n1,true,glass\n2,false,wood\n3,false,true");
  await page.getByText("assortment.csv").waitFor();
  await page.getByRole("combobox", { name: "Age", exact: true }).selectOption("not in the list");
  await page.getByText("The decision changes for 3 of 3 lines.").waitFor();
  await page.keyboard.press("Escape");
  await editProject(page, "Kiosk");
  await page.getByLabel("Must be").first().selectOption("yes");
  await opened(page);
  await page.getByText("assortment.csv").waitFor();
  await page.getByText("The decision changes for 2 of 3 lines.").waitFor();
  await page.getByText("fragile: yes · category: glass").waitFor();
  await page.getByRole("button", { name: "1 as today" }).click();
  await page.getByText("fragile: no · category: the text “true”").waitFor();
  await page.getByText("Columns", { exact: true }).click();
  await hasValue(page.getByLabel("fragile is read as"), "flag");
  await hasValue(page.getByLabel("category is read as"), "text");
  await page.getByLabel("fragile is read as").selectOption("text");
  // The text “true” is not yes: no item meets the rule, before or after.
  await page.getByText("No decision about these 3 lines changes.").waitFor();
  await page.getByRole("button", { name: "Use another list" }).click();
  await list(page).waitFor();
}));

test("the review says so when no decision changes", () => visit(on, "", async (page) => {
  await editProject(page, "Kiosk");
  await page.getByLabel("Name", { exact: true }).fill("Kiosk at the station");
  await pressButton(page, "Review");
  await page.getByRole("region", { name: "Which decisions change" }).getByText("This draft changes no decision.").waitFor();
}));

test("switching a rule off is said as what tills get then", () => visit(on, "", async (page) => {
  await page.getByRole("link", { name: "Conditions" }).click();
  await page.getByRole("button", { name: "Edit energy-drink" }).click();
  await page.getByLabel("In force").uncheck();
  await pressButton(page, "Review");
  await page.getByText(/today\. Then tills that ask for it would get an error\.$/).waitFor();
}));

test("a draft that is not complete says so, and what it changes once it is", () => visit(on, "", async (page) => {
  await energyDrinksFrom(page, "");
  await opened(page);
  await page.getByText("The rule is not complete yet. Its effect is unknown.").waitFor();
  await page.getByLabel("Minimum age").fill("15");
  await page.getByText("This draft changes no decision.").waitFor();
}));

describe("a list may be odd", () => {
  const MIB = 1024 * 1024;
  const lists = {
    "of 20,000 lines, of which few are drawn": [["id", ...Array.from({ length: 20_000 }, (_, at) => `item-${at}`)].join("\n"), "The decision changes for 20,000 of 20,000 lines."],
    "in UTF-16": [Buffer.from("\ufeffid\tage\ngröße\t15\n", "utf16le"), "The decision changes for 1 of 1 line."],
    "with 10,000 columns": [`${["id", "age", ...Array.from({ length: 9998 }, (_, at) => `c${at}`)].join(",")}\na,15${",x".repeat(9998)}`, "The decision changes for 1 of 1 line."],
    "one line without end": ["x".repeat(16 * MIB), "There is no line to decide about."],
    "16 MiB of lines": ["item,age\n".repeat(2 * MIB).slice(0, 16 * MIB), "100,000 lines could not be read."],
    "16 MiB of quotation marks": ['"'.repeat(16 * MIB), "There is no line to decide about."],
    "empty": ["\n\n", "There is nothing in this list."],
    "nothing but names": ["id,age\n", "There is no line to decide about."],
  };
  for (const [name, [content, said]] of Object.entries(lists)) {
    test(name, () => visit(on, "", async (page) => {
      await energyDrinksFrom(page, 16);
      await opened(page);
      await choose(page, "odd.csv", content);
      await page.getByText(said).waitFor();
      await eventually(async () => assert.ok((await rows(page).count()) <= 100, "few rows are drawn"));
      await pressButton(page, "Review");
      await page.getByRole("region", { name: "Which decisions change" }).getByText("A 15-year-old may buy it today, but no longer could.").waitFor();
    }));
  }

  test("and a workbook is refused by name, and leaves nothing behind", () => visit(on, "", async (page) => {
    await energyDrinksFrom(page, 16);
    await opened(page);
    await choose(page, "list.xlsx", "PK\x03\x04\x14\0\x06\0\x08\0[Content_Types].xml");
    await page.getByText("This is an Excel workbook. Save it as CSV.").waitFor();
    await page.keyboard.press("Escape");
    await editProject(page, "Kiosk");
    await opened(page);
    await list(page).waitFor();
    await hasCount(page.getByText("list.xlsx"), 0);
  }));

  test("and one that is too large is not read", () => visit(on, "", async (page) => {
    await energyDrinksFrom(page, 16);
    await opened(page);
    await choose(page, "large.csv", "x".repeat(16 * MIB + 1));
    await page.getByText("The file is larger than 16 MiB.").waitFor();
    await list(page).waitFor();
  }));
});

test("by the keyboard alone", () => visit(on, "#/conditions", async (page) => {
  await tabTo(page, "Edit energy-drink");
  await page.keyboard.press("Enter");
  await tabTo(page, "Minimum age");
  await page.keyboard.press("Control+A");
  await page.keyboard.type("16");
  await tabTo(page, "What would change?");
  await page.keyboard.press("Enter");
  await list(page).waitFor();
  await tabTo(page, "Paste a list");
  await page.keyboard.type("red-can");
  await page.getByText("The decision changes for 1 of 1 line.").waitFor();
  await tabTo(page, "For a customer of age");
  await page.keyboard.press("Control+A");
  await page.keyboard.type("20");
  // Enter in a field of the list does not review the draft.
  await page.keyboard.press("Enter");
  await page.getByText("The decision about this line stays as it is.").waitFor();
  await tabTo(page, "Filter the list");
  await tabTo(page, "Decisions about the list");
  await tabTo(page, "Paste a list");
  await page.keyboard.press("Control+A");
  await page.keyboard.insertText("id,years\nred-can,15");
  await page.getByText("Which column has the customer’s age?").waitFor();
  await tabTo(page, "Age");
  await page.keyboard.press("y");
  await page.getByText("The decision changes for 1 of 1 line.").waitFor();
  await hasFocus(page, "Age", "the focus stays at the answer");
}));

describe("what would change looks right", () => {
  const states = {
    "a condition": async (page) => {
      await energyDrinksFrom(page, 16);
      await opened(page);
      await list(page).fill(`id,age\n${"x".repeat(200)},15\nblue-can,14\ngreen-can,old\nteal-can,`);
      await page.getByText("1 line could not be read", { exact: true }).click();
      await page.getByText("Columns", { exact: true }).click();
    },
    "a question": async (page) => {
      await energyDrinksFrom(page, 16);
      await opened(page);
      await list(page).fill("id,years\nred-can,15");
      await page.getByText("Which column has the customer’s age?").waitFor();
    },
    "a project": async (page) => {
      await editProject(page, "Kiosk");
      await page.getByLabel("Must be").first().selectOption("yes");
      await opened(page);
      await choose(page, `${"a-long-name-".repeat(12)}.csv`, `id,fragile,category\n1,true,${"glass".repeat(40)}\n2,false,paint`);
      await page.getByText("Columns", { exact: true }).click();
      await dialog(page).getByLabel("fragile is read as").waitFor();
    },
    "a review": async (page) => {
      await energyDrinksFrom(page, 18);
      await pressButton(page, "Review");
      await page.getByText("15- to 17-year-olds: sold today, refused then.").waitFor();
    },
  };
  for (const [name, prepare] of Object.entries(states)) {
    test(name, () => visit(on, "", async (page) => {
      await prepare(page);
      await still(page);
      await looksRight(page, `what-if-${name.replaceAll(" ", "-")}`);
    }));
  }
});
