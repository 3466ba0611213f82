// What the page offers each user, and what it says if the host does not answer or refuses.
//
//     cargo build && node --test tests/page/permissions.test.mjs

import assert from "node:assert/strict";
import { after, describe, test } from "node:test";

import { browser, signedIn } from "../support/browser.mjs";
import { UNREACHABLE, agrees, alterAnswers, decision, dialog, expected, go, hasValue, onDemo, onHost, pressButton, saveForAll, shown, visit } from "../support/page.mjs";
import { clientWith, emptyHost } from "../support/program.mjs";
import { eventually } from "../support/wait.mjs";

const on = onDemo();

describe("buttons know what the user may do", () => {
  test("a viewer is offered nothing that would be refused", async () => {
    const viewer = await clientWith(on.host, ["ecs.viewer"]);
    const page = await signedIn(on.context, viewer, "#/preview/condition/alcohol");
    let asked = 0;
    page.on("request", (request) => request.method() === "POST" && request.url().includes("/api/") && (asked += 1));
    await page.getByText("Try a change", { exact: true }).click();
    await page.getByLabel("Minimum age").fill("16");
    await page.getByText("If you saved this:").waitFor();
    assert.equal(await page.getByRole("button", { name: /Save|Copy as/ }).count(), 0);
    await page.getByRole("button", { name: "Discard" }).click();
    await page.getByText("Not checked with the host: it needs the permission ecs.condition.evaluate").waitFor();
    for (const [view, permission] of [["Conditions", "ecs.condition.write"], ["Projects", "crs.project.write"]]) {
      await page.getByRole("link", { name: view }).click();
      await page.getByText(`That needs the permission ${permission}.`).waitFor();
      assert.equal(await page.getByRole("button", { name: /^(New|Edit|Delete|Copy)/ }).count(), 0, view);
    }
    assert.equal(asked, 0);
    assert.deepEqual(page.faults, []);
    await page.close();
  });

  test("an editor who may not delete has no button for it", async () => {
    const caller = { tenantId: "demo", permissions: ["ecs.condition.read", "crs.project.read", "ecs.condition.write"] };
    const context = await browser();
    await context.route("**/api/v1/caller", (route) => route.fulfill({ json: caller }));
    const page = await signedIn(context, on.host, "#/conditions");
    await page.getByRole("button", { name: "Edit pesticide" }).waitFor();
    assert.equal(await page.getByRole("button", { name: "Delete pesticide" }).count(), 0);
    await context.close();
  });
});

describe("global rules", () => {
  const platform = onHost(emptyHost);
  const path = (id) => `/api/v1/entity-conditions/${id}`;
  const age = (years) => ({ rule: "AGE_RESTRICTION", condition_value: { minimum_age: years } });

  test("are created, changed and deleted by an operator, and are in force for every tenant", async () => {
    const shop = await clientWith(platform.host, ["ecs.editor"], "shop");
    const stored = async () => (await shop.api("GET", path("fireworks"))).json();
    await visit(platform, "#/conditions", async (page) => {
      await alterAnswers(page, "**/v1/tenants", (all) => all.splice(0, all.length, {}, {}, {}));
      await page.getByRole("button", { name: "New condition" }).click();
      await dialog(page).getByLabel("Id", { exact: true }).fill("fireworks");
      await dialog(page).getByRole("radio", { name: "All tenants" }).check();
      await pressButton(dialog(page), "Review");
      await dialog(page).getByText("A new global condition: fireworks").waitFor();
      await dialog(page).getByText("It is global: it is in force for all tenants.").last().waitFor();
      await pressButton(dialog(page), "Save");
      await dialog(page).getByRole("heading", { name: "Save fireworks for all 3 tenants?" }).waitFor();
      await dialog(page).getByText("It is in force for them as soon as it is saved. None of their own tests would fail.").waitFor();
      assert.equal((await shop.api("GET", path("fireworks"))).status, 404, "it is asked before anything is saved");
      await pressButton(dialog(page), "Save for all");
      await page.getByRole("button", { name: "Edit fireworks" }).waitFor();
      assert.deepEqual(await stored(), { id: "fireworks", scope: "GLOBAL", enabled: true, ...age(18) });

      await page.getByRole("button", { name: "Edit fireworks" }).click();
      await dialog(page).getByLabel("Minimum age").fill("21");
      await saveForAll(page);
      await page.getByText("Customers must be 21 or older", { exact: true }).waitFor();
      assert.deepEqual((await stored()).condition_value, { minimum_age: 21 });

      await go(page, "#/preview/condition/fireworks");
      await page.getByText("A change that you save is in force for all of them.").waitFor();
      await page.getByText("Try a change", { exact: true }).click();
      await page.getByLabel("Minimum age").fill("16");
      await pressButton(page, "Save this rule…");
      await saveForAll(page);
      await eventually(async () => assert.deepEqual((await stored()).condition_value, { minimum_age: 16 }));

      await go(page, "#/conditions");
      // The previous preview may still ask the host about it.
      page.expected.push("404 (Not Found)");
      await page.getByRole("button", { name: "Delete fireworks" }).click();
      await dialog(page).getByText(/^It is in force for all \d+ tenants\. None of their own tests would fail\. Tills that ask for it get an error/).waitFor();
      await dialog(page).getByRole("button", { name: "Delete", exact: true }).click();
      await page.getByText("fireworks was deleted.").waitFor();
      assert.equal((await shop.api("GET", path("fireworks"))).status, 404);
    });
  });

  test("are only read by others, who are told when their own rule of the same id decides", async () => {
    const shop = await clientWith(platform.host, ["ecs.editor", "ecs.evaluator"], "shop");
    assert.equal((await shop.api("PUT", path("beer"), age(16))).status, 201);
    assert.equal((await platform.host.api("PUT", "/api/v1/global-entity-conditions/beer", age(18))).status, 201);
    await visit({ ...platform, host: shop }, "#/conditions", async (page) => {
      await page.getByText("Yours decides", { exact: true }).waitFor();
      assert.equal(await page.getByRole("button", { name: /^(Edit|Delete) beer/ }).count(), 0);
      await page.getByRole("button", { name: "New condition" }).click();
      assert.equal(await dialog(page).getByRole("radio", { name: "All tenants" }).isVisible(), false);
      await dialog(page).getByRole("button", { name: "Cancel" }).click();
      await page.getByRole("button", { name: "Copy beer as my own rule" }).click();
      await hasValue(dialog(page).getByLabel("Id", { exact: true }), "own-beer");
      await dialog(page).getByText("Where they ask for “beer”, your other rule still decides").waitFor();
      await dialog(page).getByRole("button", { name: "Cancel" }).click();
      await dialog(page).getByRole("button", { name: "Discard" }).click();
      await go(page, "#/preview/condition/beer");
      await page.getByText("Here your own rule with this id, which is older, decides: Customers must be 16 or older.").waitFor();
      await page.getByLabel("Customer’s age", { exact: true }).fill("17");
      await shown(decision(page), "May be sold");
      await agrees(page);
    });
    await platform.host.api("DELETE", "/api/v1/global-entity-conditions/beer");
  });
});

test("after a refusal the badge says what is missing", () => visit(on, "", async (page) => {
  await agrees(page);
  const refusal = { statusCode: 403, code: "permission_missing", error: "Forbidden", message: "the permission ecs.condition.evaluate is required" };
  await page.route("**/evaluate", (route) => route.fulfill({ status: 403, json: refusal }));
  await page.getByLabel("Customer’s age", { exact: true }).fill("30");
  await page.getByText("Not checked with the host: it needs the permission ecs.condition.evaluate").waitFor();
  await shown(decision(page), "May be sold");
  expected(page, 403);
}));

test("the badge recovers when the host does, without a keystroke", () => visit(on, "", async (page) => {
  await agrees(page);
  await page.route("**/evaluate", (route) => route.abort());
  await page.getByLabel("Customer’s age", { exact: true }).fill("30");
  await page.getByText("The host cannot be reached. Decided in this page only").waitFor();
  await page.unroute("**/evaluate");
  await agrees(page);
  expected(page, UNREACHABLE);
}));

test("a condition that is switched off is called that", async () => {
  const path = "/api/v1/entity-conditions/paused";
  await on.host.api("PUT", path, { rule: "AGE_RESTRICTION", enabled: false, condition_value: { minimum_age: 18 } });
  await visit(on, "#/preview/condition/paused", async (page) => {
    await shown(decision(page), "Switched off");
    await page.getByText("Tills that ask for this condition get an error, as if it did not exist.").waitFor();
    await agrees(page);
    expected(page, 404);
  });
  await on.host.api("DELETE", path);
});

test("the filter of projects finds an item inside their lists, and says where", async () => {
  const path = "/api/v1/projects/5f0f1a2b-0000-4000-8000-000000000004";
  const itemIds = Array.from({ length: 1000 }, (_, at) => `sku-${String(at).padStart(4, "0")}`);
  await on.host.api("PUT", path, { name: "Long list", restrictions: [{ type: "BLACKLISTEDITEMS", itemIds }] });
  await visit(on, "#/projects", async (page) => {
    await page.getByLabel("Filter projects").fill("SKU-0777");
    await page.getByText("1 of 2 projects").waitFor();
    await page.getByText("Found in “Never these items”: sku-0777").waitFor();
  });
  await on.host.api("DELETE", path);
});
