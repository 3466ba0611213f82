// The history of rules: who changed what and when, and restoring it, by the words and labels that a rule owner sees.
//
//     cargo build && node --test tests/page/history.test.mjs     TESTS_LONG=1 keeps screenshots in tests/output/

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { looksRight, still } from "../support/looks.mjs";
import { PROJECT, alterAnswers, dialog, downloaded, expected, go, hasCount, hasFocus, hasValue, onDemo, onHost, pressButton, tabTo, visit } from "../support/page.mjs";
import { clientWith, emptyHost } from "../support/program.mjs";
import { eventually } from "../support/wait.mjs";

const on = onDemo();
const operated = onHost(() => emptyHost());

const age = (minimum) => ({ rule: "AGE_RESTRICTION", condition_value: { minimum_age: minimum } });
const own = (id) => `/api/v1/entity-conditions/${id}`;
const stored = async (path) => (await on.host.api("GET", path)).json();

/** A colleague, by name. */
const colleague = (name) => clientWith(on.host, ["ecs.editor"], "demo", { name });

const moments = (page) => dialog(page).getByRole("listitem").filter({ has: page.getByRole("heading", { level: 3, name: /(created|changed|deleted) it$/ }) });
const heading = (page, name) => dialog(page).getByRole("heading", { name, exact: true });
const restore = (page, name) => dialog(page).getByRole("button", { name: `Restore this: ${name}` });

test("“Who changed the alcohol rule last week? Put it back.”", async () => {
  await on.host.api("PUT", own("alcohol-evening"), age(18));
  await (await colleague("Anna Meier")).api("PUT", own("alcohol-evening"), age(16));
  await visit(on, "", async (page) => {
    await page.getByRole("link", { name: "Conditions" }).click();
    await page.getByRole("link", { name: "History of alcohol-evening" }).click();
    await heading(page, "History of alcohol-evening").waitFor();
    await heading(page, "Anna Meier changed it").waitFor();
    await dialog(page).getByText("removed: 18").waitFor();
    await dialog(page).getByText("added: 16").waitFor();
    await dialog(page).getByText("As it is now", { exact: true }).waitFor();
    await heading(page, "tillgate-demo 1 created it").waitFor();
    await restore(page, "Customers must be 18 or older").click();
    await heading(page, "Edit alcohol-evening").waitFor();
    await dialog(page).getByText("This is an earlier version, of ").waitFor();
    await dialog(page).getByText("removed: 16").waitFor();
    await dialog(page).getByText("added: 18").waitFor();
    assert.deepEqual((await stored(own("alcohol-evening"))).condition_value, { minimum_age: 16 }, "nothing is saved unseen");
    await pressButton(dialog(page), "Save");
    await page.getByText("Saved. The change is in force.").waitFor();
    assert.deepEqual((await stored(own("alcohol-evening"))).condition_value, { minimum_age: 18 });
    await page.getByRole("link", { name: "History of alcohol-evening" }).click();
    await heading(page, "tillgate-demo 1 changed it").waitFor();
    await hasCount(moments(page), 3);
    assert.equal(await dialog(page).getByText("The same as now", { exact: true }).count(), 1, "what it was at first is not offered again");
  });
  await on.host.api("DELETE", own("alcohol-evening"));
});

describe("a rule that is deleted", () => {
  test("is found in the message that says so, and restoring it creates it again", async () => {
    await on.host.api("PUT", own("wine"), age(16));
    await visit(on, "#/conditions", async (page) => {
      await page.getByRole("button", { name: "Delete wine" }).click();
      await dialog(page).getByRole("button", { name: "Delete" }).click();
      await page.getByText("wine was deleted.").waitFor();
      await page.getByRole("link", { name: "See its history" }).click();
      await dialog(page).getByText("It is deleted. Restoring a version creates it again.").waitFor();
      await dialog(page).getByText("It was: Customers must be 16 or older.").waitFor();
      await restore(page, "Customers must be 16 or older").click();
      await heading(page, "New condition").waitFor();
      await heading(page, "A new condition: wine").waitFor();
      await pressButton(dialog(page), "Save");
      await page.getByText("Saved. The change is in force.").waitFor();
    });
    assert.equal((await stored(own("wine"))).condition_value.minimum_age, 16);
    await on.host.api("DELETE", own("wine"));
  });

  test("is found by its address, a project by its name", async () => {
    const path = "/api/v1/projects/5b0e3f8a-94d2-4c57-8a16-d3c1f0b7e924";
    await on.host.api("PUT", path, { name: "Warehouse", restrictions: [{ type: "BLACKLISTEDITEMS", itemIds: ["foam"] }] });
    await on.host.api("DELETE", path);
    await visit(on, "#/projects/history/5b0e3f8a-94d2-4c57-8a16-d3c1f0b7e924", async (page) => {
      await heading(page, "History of Warehouse").waitFor();
      await restore(page, "Warehouse: never foam").click();
      await dialog(page).getByText("added: Warehouse").waitFor();
      await dialog(page).getByText("added: foam").waitFor();
      await pressButton(dialog(page), "Save");
      await page.getByRole("link", { name: "History of Warehouse" }).waitFor();
    });
    assert.equal((await stored(path)).name, "Warehouse", "it has its id again");
    await on.host.api("DELETE", path);
  });

  test("is in the list of deleted ones, with who and when, until it is there again", async () => {
    await on.host.api("PUT", own("cider"), age(16));
    const anna = await colleague("Anna Meier");
    await anna.api("DELETE", own("cider"));
    const path = "/api/v1/projects/5b0e3f8a-94d2-4c57-8a16-d3c1f0b7e926";
    await on.host.api("PUT", path, { name: "Harbour \u05d0", restrictions: [] });
    await on.host.api("DELETE", path);
    await visit(on, "#/conditions", async (page) => {
      const deleted = (name) => dialog(page).getByRole("listitem").filter({ has: page.getByRole("heading", { name, exact: true }) });
      await page.getByLabel("Filter conditions").fill("alcohol");
      await page.getByRole("link", { name: "Deleted", exact: true }).click();
      await heading(page, "Deleted conditions").waitFor();
      await deleted("cider").getByText("Deleted by Anna Meier, ").waitFor();
      await dialog(page).getByRole("button", { name: "Close" }).click();
      await page.waitForURL(/#\/conditions\?filter=alcohol$/);
      await page.getByRole("link", { name: "Deleted", exact: true }).click();
      await dialog(page).getByRole("link", { name: "History of cider" }).click();
      await restore(page, "Customers must be 16 or older").click();
      await pressButton(dialog(page), "Save");
      await page.getByText("Saved. The change is in force.").waitFor();
      await page.getByRole("link", { name: "Deleted", exact: true }).click();
      await heading(page, "Deleted conditions").waitFor();
      await dialog(page).getByRole("region", { name: "Your own" }).getByText(/^(Nothing was deleted\.|\d+ conditions?)$/).waitFor();
      await hasCount(deleted("cider"), 0);
      await go(page, "#/projects/deleted");
      await deleted("Harbour \u05d0").getByRole("link", { name: "History of Harbour" }).click();
      await heading(page, "History of \u2068Harbour \u05d0\u2069").waitFor();
      await restore(page, "Harbour \u05d0: everything may be bought").waitFor();
    });
    assert.equal((await stored(own("cider"))).condition_value.minimum_age, 16);
    await on.host.api("DELETE", own("cider"));
  });

  test("is listed page by page", async () => {
    for (let number = 0; number < 52; number += 1) {
      await on.host.api("PUT", own(`gone-${number}`), age(16));
      await on.host.api("DELETE", own(`gone-${number}`));
    }
    await visit(on, "#/conditions/deleted", async (page) => {
      const names = dialog(page).getByRole("heading", { level: 4, name: /^gone-/ });
      await hasCount(names, 50);
      assert.equal(await names.first().textContent(), "gone-51", "the latest comes first");
      await dialog(page).getByRole("button", { name: "Show earlier ones" }).click();
      await hasCount(names, 52);
    });
  });

  test("that never was has no history, which is said", () => visit(on, "#/conditions/history/none", async (page) => {
    expected(page, 404);
    await dialog(page).getByText("There is no condition with this id, and no history for it.").waitFor();
    await dialog(page).getByRole("button", { name: "Close" }).click();
    await eventually(async () => assert.match(page.url(), /#\/conditions$/));
  }));
});

test("a project tells its changes in words, and a version fills the form that is open", async () => {
  const path = `/api/v1/projects/${PROJECT}`;
  const before = await stored(path);
  const [whitelist, ...rest] = before.restrictions;
  const changed = [{ ...whitelist, allowedValues: ["timber", "glass"] }, ...rest];
  await (await colleague("Anna Meier")).api("PUT", path, { name: before.name, restrictions: changed });
  await visit(on, "#/projects", async (page) => {
    await page.getByRole("button", { name: "Edit School, new building" }).click();
    await dialog(page).getByRole("button", { name: "History", exact: true }).click();
    await heading(page, "Anna Meier changed it").waitFor();
    await dialog(page).getByText("productGroup must be one of").first().waitFor();
    await dialog(page).getByText("removed: insulation").waitFor();
    await dialog(page).getByText("added: glass").waitFor();
    await restore(page, "School, new building: productGroup must be timber or fasteners or insulation").click();
    await hasValue(dialog(page).getByLabel("Values, one per line").first(), "timber\nfasteners\ninsulation");
    await pressButton(dialog(page), "Review");
    await dialog(page).getByText("removed: glass").waitFor();
    await pressButton(dialog(page), "Save");
    await page.getByText("Saved. The change is in force.").waitFor();
  });
  assert.deepEqual((await stored(path)).restrictions, before.restrictions);
});

test("a long history is read page by page, and what was read is a file", async () => {
  for (let minimum = 0; minimum < 25; minimum += 1) await on.host.api("PUT", own("often"), age(minimum));
  await visit(on, "#/conditions/history/often", async (page) => {
    await hasCount(moments(page), 20);
    await dialog(page).getByRole("button", { name: "Show earlier changes" }).click();
    await hasCount(moments(page), 25);
    await heading(page, "tillgate-demo 1 created it").waitFor();
    assert.equal(await dialog(page).getByRole("button", { name: "Show earlier changes" }).count(), 0);
    const { name, text } = await downloaded(page, () => dialog(page).getByRole("button", { name: "Download as CSV" }).click());
    assert.equal(name, "History of often.csv");
    const lines = text.trim().split("\r\n");
    assert.equal(lines.length, 26);
    assert.match(lines[0], /Time,Who,Id,Change,Details,Tests that failed,Reason$/);
    assert.match(lines[1], /^20[^,]+Z,tillgate-demo 1,[^,]+,changed,Minimum age: removed 23 added 24,,$/);
    assert.match(lines[25], /,created,No minimum age,,$/);
    await page.goBack();
    await dialog(page).waitFor({ state: "detached" });
  });
  await on.host.api("DELETE", own("often"));
});

test("the keyboard alone opens it, chooses a version, and comes back to where it was", async () => {
  await on.host.api("PUT", own("keys"), age(16));
  await on.host.api("PUT", own("keys"), age(18));
  await on.host.api("PUT", own("keys-gone"), age(16));
  await on.host.api("DELETE", own("keys-gone"));
  await visit(on, "#/conditions", async (page) => {
    await tabTo(page, "Deleted");
    await page.keyboard.press("Enter");
    await heading(page, "keys-gone").waitFor();
    await tabTo(page, "History of keys-gone");
    await page.keyboard.press("Enter");
    await heading(page, "History of keys-gone").waitFor();
    await page.keyboard.press("Escape");
    await page.waitForURL(/#\/conditions$/);
    await tabTo(page, "History of keys");
    await page.keyboard.press("Enter");
    await restore(page, "Customers must be 16 or older").waitFor();
    await page.keyboard.press("Escape");
    await dialog(page).waitFor({ state: "detached" });
    await hasFocus(page, "History of keys");
    // The address is the list's again a moment after the dialog has closed.
    await page.waitForURL(/#\/conditions$/);
    await page.keyboard.press("Enter");
    await restore(page, "Customers must be 16 or older").focus();
    await page.keyboard.press("Enter");
    await dialog(page).getByText("added: 16").waitFor();
    await dialog(page).getByRole("button", { name: "Back" }).click();
    await hasValue(dialog(page).getByLabel("Minimum age"), "16");
    await dialog(page).getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("button", { name: "Discard" }).click();
    await dialog(page).first().waitFor({ state: "detached" });
  });
  assert.equal((await stored(own("keys"))).condition_value.minimum_age, 18);
  await on.host.api("DELETE", own("keys"));
});

test("a save, a deletion and going back may each say why, and the history shows it beside who and when", async () => {
  await on.host.api("PUT", own("reasons"), age(16));
  await visit(on, "#/conditions", async (page) => {
    const reason = dialog(page).last().getByLabel("Reason (optional)");
    await page.getByRole("button", { name: "Edit reasons" }).click();
    await dialog(page).getByLabel("Minimum age").fill("18");
    await pressButton(dialog(page), "Review");
    await reason.fill("The law of 2026 \u05d0\u05d1 <b>");
    await still(page);
    await looksRight(page, "reason");
    await reason.press("Enter");
    await page.getByText("Saved. The change is in force.").waitFor();
    await page.getByRole("button", { name: "Delete reasons" }).click();
    await reason.fill("Nobody sells it");
    await looksRight(page, "reason-deletion");
    await dialog(page).getByRole("button", { name: "Delete" }).click();
    await page.getByRole("link", { name: "See its history" }).click();
    await dialog(page).getByText("Nobody sells it", { exact: true }).waitFor();
    await dialog(page).getByText("The law of 2026 \u05d0\u05d1 <b>", { exact: true }).waitFor();
    for (const time of await dialog(page).locator("time").allTextContents()) assert.match(time, /^\d{1,2} \w+ \d{4}, \d\d:\d\d:\d\d$/);
    await restore(page, "Customers must be 16 or older").click();
    await reason.fill("We sell it again");
    await pressButton(dialog(page), "Save");
    await page.getByRole("link", { name: "History of reasons" }).click();
    await hasCount(moments(page), 4);
    await dialog(page).getByText("We sell it again", { exact: true }).waitFor();
    await hasCount(dialog(page).locator(".reason"), 3);
    await looksRight(page, "history-reasons");
  });
  const { items } = await stored(`${own("reasons")}/history`);
  assert.deepEqual(items.map(({ note }) => note), ["We sell it again", "Nobody sells it", "The law of 2026 \u05d0\u05d1 <b>", undefined]);
  await on.host.api("DELETE", own("reasons"));
});

test("a project’s save says why too", async () => {
  const path = "/api/v1/projects/5b0e3f8a-94d2-4c57-8a16-d3c1f0b7e926";
  await on.host.api("PUT", path, { name: "Why", restrictions: [{ type: "WHITELISTEDITEMS", itemIds: ["door"] }] });
  await visit(on, "#/projects", async (page) => {
    await page.getByRole("button", { name: "Edit Why" }).click();
    await dialog(page).getByLabel("Item ids, one per line").fill("door\nlock");
    await pressButton(dialog(page), "Review");
    await dialog(page).getByLabel("Reason (optional)").fill("Doors need locks");
    await pressButton(dialog(page), "Save");
    await page.getByText("Saved. The change is in force.").waitFor();
    await page.getByRole("button", { name: "Delete Why" }).click();
    await dialog(page).getByLabel("Reason (optional)").fill("It is built");
    await dialog(page).getByRole("button", { name: "Delete" }).click();
    await page.getByRole("link", { name: "See its history" }).waitFor();
  });
  const { items } = await stored(`${path}/history`);
  assert.deepEqual(items.slice(0, 3).map(({ note }) => note), ["It is built", "Doors need locks", undefined]);
});

test("people of the same name are told apart, and a conflict says who", async () => {
  await on.host.api("PUT", own("namesakes"), age(16));
  const anna = await colleague("Anna Meier");
  await visit(on, "#/conditions", async (page) => {
    await page.getByRole("button", { name: "Edit namesakes" }).click();
    await dialog(page).getByLabel("Minimum age").fill("20");
    await anna.api("PUT", own("namesakes"), age(18));
    await dialog(page).getByText("Anna Meier has just saved this. What you entered is still here.").waitFor();
    await pressButton(dialog(page), "See the difference");
    await dialog(page).getByRole("heading", { name: "Anna Meier changed this while you were editing" }).waitFor();
    await pressButton(dialog(page), "Keep theirs");
    await page.getByRole("button", { name: "Delete namesakes" }).click();
    await heading(page, "Delete namesakes?").waitFor();
    await anna.api("PUT", own("namesakes"), age(19));
    await dialog(page).getByRole("button", { name: "Delete" }).click();
    await page.getByText("It was not deleted, because Anna Meier has just changed it. Check it again.").waitFor();
    expected(page, 412);
    const person = "https://login.example|00u1anna";
    await alterAnswers(page, "**/history?*", ({ items }) => (items[1].by = { clientId: person, name: "Anna Meier" }));
    await page.getByRole("link", { name: "History of namesakes" }).click();
    await hasCount(moments(page), 3);
    await moments(page).nth(0).getByText(`client ${anna.clientId}`, { exact: true }).waitFor();
    await moments(page).nth(1).getByText("00u1anna at login.example", { exact: true }).waitFor();
    await hasCount(dialog(page).locator(".who-id").filter({ visible: true }), 2, "who has a name of their own is not marked");
    await still(page);
    await looksRight(page, "history-namesakes");
  });
  await on.host.api("DELETE", own("namesakes"));
});

test("names are shown as texts, whatever is in them", async () => {
  const name = "=1+1 <img src=x onerror=alert(1)> \u05d0\u05d1";
  await (await colleague(name)).api("PUT", own("hostile"), age(18));
  await visit(on, "#/conditions/history/hostile", async (page) => {
    await heading(page, `${name} created it`).waitFor();
    assert.equal(await dialog(page).locator("img").count(), 0);
    const { text } = await downloaded(page, () => dialog(page).getByRole("button", { name: "Download as CSV" }).click());
    assert.ok(text.includes(`,"'${name}",`), "no spreadsheet takes it for a formula");
  });
  await on.host.api("DELETE", own("hostile"));
});

test("who may only read sees who changed what, and cannot restore it", async () => {
  await on.host.api("PUT", own("read"), age(16));
  await on.host.api("PUT", own("read"), age(18));
  const viewer = await clientWith(on.host, ["ecs.viewer"]);
  await visit({ context: on.context, host: viewer }, "#/conditions/history/read", async (page) => {
    await heading(page, "tillgate-demo 1 changed it").waitFor();
    await hasCount(moments(page), 2);
    assert.equal(await dialog(page).getByRole("button", { name: "Restore this" }).count(), 0);
    await dialog(page).getByRole("button", { name: "Close" }).click();
  });
  await on.host.api("DELETE", own("read"));
});

test("what is beyond the quota, and tests that failed, are said", async () => {
  await on.host.api("PUT", own("quota"), age(16));
  await visit(on, "#/conditions", async (page) => {
    const by = { clientId: "till" };
    const document = await stored(own("quota"));
    const items = [
      { at: "2026-11-21T10:00:00.000Z", by, action: "REPLACED", before: null, after: document, documentsKept: false, failingTests: 2 },
      { at: "2026-11-20T10:00:00.000Z", by, action: "REPLACED", before: { ...document, enabled: false }, after: null, documentsKept: false },
      { at: "2026-11-19T10:00:00.000Z", by, action: "REPLACED", before: { ...document, condition_value: { minimum_age: 21 } }, after: { ...document, enabled: false } },
    ];
    await page.route("**/history?*", (route) => route.fulfill({ json: { items } }));
    await go(page, "#/preview");
    await go(page, "#/conditions/history/quota");
    await dialog(page).getByText("It became: Customers must be 16 or older.").waitFor();
    await dialog(page).getByText("The earlier version is not kept: there was no room for it.").waitFor();
    await dialog(page).getByText("It was: Customers must be 16 or older, but it is switched off.").waitFor();
    await dialog(page).getByText("The later version is not kept: there was no room for it.").waitFor();
    await dialog(page).getByText("Saved although 2 tests failed.").waitFor();
    await heading(page, "till changed it").first().waitFor();
    await heading(page, "Before that").waitFor();
    await restore(page, "Customers must be 21 or older").waitFor();
    await still(page);
    await looksRight(page, "history-not-kept");
  });
  await on.host.api("DELETE", own("quota"));
});

test("while the host cannot be reached it says so, and can be tried again", async () => {
  await on.host.api("PUT", own("away"), age(16));
  await visit(on, "#/conditions", async (page) => {
    expected(page, 503);
    await page.route("**/history?*", (route) => route.fulfill({ status: 503, json: { statusCode: 503, message: "the store is unavailable" } }));
    await page.getByRole("link", { name: "History of away" }).click();
    await dialog(page).getByText("The host cannot be reached right now.").waitFor();
    await page.unroute("**/history?*");
    await dialog(page).getByRole("button", { name: "Try again" }).click();
    await hasCount(moments(page), 1);
  });
  await on.host.api("DELETE", own("away"));
});

test("a global rule: its tenants see when it changed and what, and an operator sees who, and restores it", async () => {
  const path = "/api/v1/global-entity-conditions/alcohol";
  for (const minimum of [18, 20]) await operated.host.api("PUT", path, age(minimum));
  const shop = await clientWith(operated.host, ["ecs.editor"], "shop");
  await visit({ ...operated, host: shop }, "#/conditions", async (page) => {
    await page.getByRole("link", { name: "History of alcohol" }).click();
    await heading(page, "The platform changed it").waitFor();
    await heading(page, "The platform created it").waitFor();
    await dialog(page).getByText("removed: 18").waitFor();
    await dialog(page).getByText("added: 20").waitFor();
    assert.equal(await dialog(page).getByText("tillgate-operator").count(), 0);
    assert.equal(await dialog(page).getByRole("button", { name: "Restore this" }).count(), 0);
  });
  await visit(operated, "#/conditions", async (page) => {
    await page.getByRole("link", { name: "History of alcohol" }).click();
    await heading(page, "tillgate-operator 1 changed it").waitFor();
    await restore(page, "Customers must be 18 or older").click();
    await dialog(page).getByText("It is global: it is in force for all tenants.").filter({ visible: true }).waitFor();
    await pressButton(dialog(page), "Save");
    await pressButton(dialog(page), "Save for all");
    await page.getByText("Saved. The change is in force.").waitFor();
    const { condition_value } = await (await operated.host.api("GET", own("alcohol"))).json();
    assert.deepEqual(condition_value, { minimum_age: 18 });
    await page.getByRole("button", { name: "Delete alcohol" }).click();
    await dialog(page).getByRole("button", { name: "Delete" }).click();
    await page.getByRole("link", { name: "Deleted", exact: true }).click();
    await dialog(page).getByRole("list", { name: "Global" }).getByText("Deleted by tillgate-operator 1, ").waitFor();
    await dialog(page).getByRole("region", { name: "Of this tenant" }).getByText("Nothing was deleted.").waitFor();
    await dialog(page).getByRole("link", { name: "History of alcohol" }).click();
    await restore(page, "Customers must be 18 or older").first().click();
    await heading(page, "A new global condition: alcohol").waitFor();
    await dialog(page).getByRole("button", { name: "Back" }).click();
    assert.ok(await dialog(page).getByLabel("All tenants").isChecked(), "it is global again");
  });
  await visit({ ...operated, host: shop }, "#/conditions/deleted", async (page) => {
    await dialog(page).getByRole("list", { name: "Global" }).getByText("Deleted by The platform, ").waitFor();
    await dialog(page).getByRole("region", { name: "Your own" }).getByText("Nothing was deleted.").waitFor();
    await dialog(page).getByRole("link", { name: "History of alcohol" }).click();
    await heading(page, "The platform deleted it").waitFor();
    await dialog(page).getByText("It is deleted.", { exact: true }).waitFor();
  });
});

test("it fits every width, in both themes", async () => {
  await on.host.api("PUT", own("looks-with-a-long-id-that-has-no-place-to-break-at-all"), age(16));
  await (await colleague("Anna Katharina Meier-Oberhauser of the northern stores")).api("PUT", own("looks-with-a-long-id-that-has-no-place-to-break-at-all"), age(18));
  await visit(on, "#/conditions/history/looks-with-a-long-id-that-has-no-place-to-break-at-all", async (page) => {
    await hasCount(moments(page), 2);
    await still(page);
    await looksRight(page, "history");
    await restore(page, "Customers must be 16 or older").click();
    await dialog(page).getByText("added: 16").waitFor();
    await looksRight(page, "history-restore");
  });
  await on.host.api("DELETE", own("looks-with-a-long-id-that-has-no-place-to-break-at-all"));
});

test("a project's changes and a rule that is deleted fit too", async () => {
  const path = "/api/v1/projects/5b0e3f8a-94d2-4c57-8a16-d3c1f0b7e925";
  const groups = (allowedValues) => [{ type: "WHITELIST", propertyName: "productGroup", allowedValues }, { type: "BOOLEAN", propertyName: "fragile", value: false }];
  await on.host.api("PUT", path, { name: "Site", restrictions: groups(["timber", "fasteners", "insulation"]) });
  await (await colleague("Anna Meier")).api("PUT", path, { name: "Site by the river", restrictions: groups(["timber", "glass"]) });
  await visit(on, "#/projects/history/5b0e3f8a-94d2-4c57-8a16-d3c1f0b7e925", async (page) => {
    await hasCount(moments(page), 2);
    await still(page);
    await looksRight(page, "history-project");
  });
  await on.host.api("DELETE", path);
  await visit(on, "#/projects/history/5b0e3f8a-94d2-4c57-8a16-d3c1f0b7e925", async (page) => {
    await hasCount(moments(page), 3);
    await still(page);
    await looksRight(page, "history-deleted");
    await go(page, "#/preview");
    await go(page, "#/projects/deleted");
    await heading(page, "Site by the river").waitFor();
    await still(page);
    await looksRight(page, "deleted");
  });
});
