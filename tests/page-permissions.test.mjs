// What the page offers to whom, and what it says when the host does not answer or refuses.
//
//     cargo build && node --test tests/page-permissions.test.mjs

import assert from "node:assert/strict";
import { after, describe, test } from "node:test";

import { browser, signedIn } from "./support/browser.mjs";
import { UNREACHABLE, agrees, decision, expected, onDemo, shown, visit } from "./support/page.mjs";
import { clientWith, demo } from "./support/program.mjs";

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

test("after a refusal the badge says what is missing", () => visit(on, "", async (page) => {
  await agrees(page);
  const refusal = { statusCode: 403, error: "Forbidden", message: "the permission ecs.condition.evaluate is required" };
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
