// Writes whose answer is lost: the page never claims that nothing was changed, but checks, and says what it finds.
//
//     cargo build && node --test tests/page/lost-answers.test.mjs

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { dialog, hasCount, loseAnswers, onDemo, pressButton, save, visit } from "../support/page.mjs";
import { eventually } from "../support/wait.mjs";

const LOOKED = "The host’s answer was lost, so the page checked.";
const UNREAD = "The host’s answer was lost, and the page cannot check right now.";

const on = onDemo();

const stored = async (path) => (await on.host.api("GET", path)).json();
const put = async (path, body) => assert.equal((await on.host.api("PUT", path, body)).ok, true, path);
const condition = (id) => `/api/v1/entity-conditions/${id}`;
const older = (age) => ({ rule: "AGE_RESTRICTION", condition_value: { minimum_age: age } });
const ageOf = async (id) => (await stored(condition(id))).condition_value.minimum_age;

const press = (page, name) => pressButton(dialog(page).last(), name);
const notice = (page, text) => page.locator("#notices").getByText(text, { exact: true }).waitFor();
const says = (page, text) => dialog(page).last().getByText(text, { exact: true }).waitFor();
const unknown = (page, whether) => dialog(page).last().getByRole("heading", { name: `It is not known whether ${whether}`, exact: true }).waitFor();

/** A condition that a test changes: runs `work` on the list, with its id, and then deletes it. */
const withCondition = (id, work) =>
  visit(on, "#/conditions", async (page) => {
    await put(condition(id), older(18));
    await page.getByRole("button", { name: `Edit ${id}` }).waitFor();
    await work(page);
    await on.host.api("DELETE", condition(id));
  });

/** Shortens a wait of 40 seconds in a page to half a second. */
const makeImpatient = (page) =>
  page.evaluate(() => {
    const { setTimeout } = window;
    window.setTimeout = (run, ms, ...rest) => setTimeout(run, ms === 40_000 ? 500 : ms, ...rest);
  });

/** Changes its minimum age in the form; the change is shown, and not saved. */
async function changeAge(page, id, age) {
  await page.getByRole("button", { name: `Edit ${id}` }).click();
  await dialog(page).getByLabel("Minimum age").fill(String(age));
  await press(page, "Review");
  await dialog(page).getByText(`added: ${age}`).waitFor();
}

describe("a save whose answer is lost was made", () => {
  const ways = {
    "the connection breaks": {},
    "a gateway answers 502": { lose: (route) => route.fulfill({ status: 502, contentType: "text/html", body: "<h1>Bad Gateway</h1>" }) },
    "a gateway answers 504": { lose: (route) => route.fulfill({ status: 504 }) },
    "something else answers": { lose: (route) => route.fulfill({ status: 200, contentType: "text/html", body: "<h1>Sign in</h1>" }) },
    "nothing comes": { lose: () => {} },
  };
  for (const [at, [way, how]] of Object.entries(ways).entries()) {
    test(`where ${way}`, () => withCondition(`made-${at}`, async (page) => {
      await changeAge(page, `made-${at}`, 21);
      if (way === "nothing comes") await makeImpatient(page);
      await loseAnswers(page, `**${condition(`made-${at}`)}`, how);
      await press(page, "Save");
      await notice(page, `It was saved. ${LOOKED}`);
      await hasCount(dialog(page), 0);
      assert.equal(await ageOf(`made-${at}`), 21);
    }));
  }

  test("for a new condition and a new project", () => visit(on, "#/conditions", async (page) => {
    await page.getByRole("button", { name: "New condition" }).click();
    await dialog(page).getByLabel("Id", { exact: true }).fill("lost-new");
    await loseAnswers(page, "**/api/v1/entity-conditions/lost-new");
    await save(page);
    await notice(page, `It was saved. ${LOOKED}`);
    assert.equal(await ageOf("lost-new"), 18);
    await on.host.api("DELETE", condition("lost-new"));

    await page.getByRole("link", { name: "Projects" }).click();
    await page.getByRole("button", { name: "New project" }).click();
    await dialog(page).getByLabel("Name").fill("Lost project");
    await pressButton(dialog(page), "Add a rule");
    await dialog(page).getByLabel("Property").fill("brand");
    await dialog(page).getByLabel("Values, one per line").fill("b\na");
    await loseAnswers(page, "**/api/v1/projects/*");
    await save(page);
    await page.getByRole("heading", { name: "Lost project" }).waitFor();
    await hasCount(dialog(page), 0);
    const { projectId } = (await stored("/api/v1/projects")).find(({ name }) => name === "Lost project");
    await on.host.api("DELETE", `/api/v1/projects/${projectId}`);
  }));
});

describe("a save whose answer is lost", () => {
  test("was not made, and can be made again", () => withCondition("unmade", async (page) => {
    await changeAge(page, "unmade", 21);
    await loseAnswers(page, `**${condition("unmade")}`, { reaches: false });
    await press(page, "Save");
    await says(page, `It was not saved. ${LOOKED} You can save it again.`);
    assert.equal(await ageOf("unmade"), 18);
    await page.unroute(`**${condition("unmade")}`);
    await press(page, "Save");
    await notice(page, "Saved. The change is in force.");
    assert.equal(await ageOf("unmade"), 21);
  }));

  test("stays unknown while it cannot be read, until it is looked at again", () => withCondition("unread", async (page) => {
    await changeAge(page, "unread", 21);
    await loseAnswers(page, `**${condition("unread")}`, { reads: false });
    await press(page, "Save");
    await unknown(page, "it was saved");
    await says(page, UNREAD);
    await hasCount(page.getByText("Nothing was changed"), 0);
    assert.equal(await dialog(page).getByRole("button", { name: "Save", exact: true }).isVisible(), false);
    await page.unroute(`**${condition("unread")}`);
    await press(page, "Look again");
    await notice(page, `It was saved. ${LOOKED}`);
    assert.equal(await ageOf("unread"), 21);
  }));

  test("stays unknown while the host only remembers", () => withCondition("remembered", async (page) => {
    await changeAge(page, "remembered", 21);
    await loseAnswers(page, `**${condition("remembered")}`, { reaches: false });
    await page.route(`**${condition("remembered")}`, async (route) => {
      if (route.request().method() !== "GET") return route.fallback();
      const response = await route.fetch();
      return route.fulfill({ response, headers: { ...response.headers(), "Tillgate-Stale": "3" } });
    });
    await press(page, "Save");
    await unknown(page, "it was saved");
    await press(page, "Close");
  }));

  test("shows both versions when another user has changed the same thing", () => withCondition("both", async (page) => {
    await changeAge(page, "both", 21);
    const lose = async (route) => {
      await put(condition("both"), older(16));
      await route.abort("connectionreset");
    };
    await loseAnswers(page, `**${condition("both")}`, { reaches: false, lose });
    await press(page, "Save");
    await dialog(page).getByText("tillgate-demo 1 changed this while you were editing").waitFor();
    await dialog(page).getByText("added: 16").waitFor();
    await press(page, "Keep theirs");
  }));
});

describe("a deletion whose answer is lost", () => {
  const remove = async (page, id, how) => {
    await page.getByRole("button", { name: `Delete ${id}` }).click();
    await loseAnswers(page, `**${condition(id)}`, how);
    await press(page, "Delete");
  };

  test("was made", () => withCondition("gone", async (page) => {
    await remove(page, "gone");
    await notice(page, `gone was deleted. ${LOOKED}`);
    await page.getByRole("heading", { name: "gone" }).waitFor({ state: "detached" });
  }));

  test("was not made", () => withCondition("there", async (page) => {
    await remove(page, "there", { reaches: false });
    await notice(page, `there was not deleted. ${LOOKED}`);
  }));

  test("stays unknown while it cannot be read", () => withCondition("perhaps", async (page) => {
    await remove(page, "perhaps", { reads: false });
    await unknown(page, "perhaps was deleted");
    await says(page, UNREAD);
    await page.unroute(`**${condition("perhaps")}`);
    await press(page, "Look again");
    await notice(page, `perhaps was deleted. ${LOOKED}`);
  }));
});

describe("rates and business units", () => {
  const unit = "/api/v1/business-units/FI-007";
  const row = (page) => page.getByRole("table", { name: "Sales" }).getByRole("row", { name: "1 EUR = 160 JPY" });
  const enter = async (page) => {
    await page.getByRole("button", { name: "Set a rate" }).click();
    await dialog(page).getByLabel("is worth").fill("160");
    await dialog(page).getByLabel("in", { exact: true }).fill("JPY");
    await press(page, "Review");
    await dialog(page).locator(".effect-values").waitFor();
  };

  test("a rate was set, or was not", () => visit(on, "#/rates/FI-007", async (page) => {
    await enter(page);
    await loseAnswers(page, `**${unit}/exchange-rates`, { reaches: false });
    await press(page, "Save");
    await says(page, `It was not saved. ${LOOKED} You can save it again.`);
    await page.unroute(`**${unit}/exchange-rates`);
    await loseAnswers(page, `**${unit}/exchange-rates`);
    await press(page, "Save");
    await notice(page, `It was saved. ${LOOKED}`);
    await row(page).waitFor();
    await row(page).getByRole("button", { name: "Delete Sales, 1 EUR in JPY" }).click();
    await press(page, "Save");
    await row(page).waitFor({ state: "detached" });
    assert.doesNotMatch(await (await on.host.api("GET", `${unit}/exchange-rates`)).text(), /JPY/);
  }));

  test("a unit was changed, and one was deleted", () => visit(on, "#/rates/FI-007/details", async (page) => {
    const { id, ...before } = await stored(unit);
    await page.getByRole("button", { name: "Edit or move" }).click();
    await dialog(page).getByLabel("Name").fill("Lost and found");
    await dialog(page).getByLabel("General markup in percent").fill("2,50");
    await press(page, "Review");
    await loseAnswers(page, `**${unit}`);
    await press(page, "Save");
    await notice(page, `It was saved. ${LOOKED}`);
    await page.getByText(/^2\.50? %, set here$/).waitFor();
    assert.equal((await stored(unit)).name, "Lost and found");
    await page.getByRole("button", { name: "Delete", exact: true }).click();
    await press(page, "Delete");
    await notice(page, `Lost and found was deleted. ${LOOKED}`);
    assert.equal((await on.host.api("GET", unit)).status, 404);
    await put(unit, before);
  }));
});

describe("webhooks", () => {
  const made = async (name) => {
    const body = { name, callbackUrl: "https://erp.example/hook", eventTypes: [`${name.toLowerCase()}.events.v1`], authentication: { type: "BEARER" }, sharedKey: "0123456789abcdef-shared" };
    const answer = await on.host.api("POST", "/api/v1/webhooks", body);
    assert.equal(answer.status, 201);
    return answer.json();
  };
  const heading = (page, name) => page.getByRole("heading", { name, exact: true });
  const named = async (name) => (await stored("/api/v1/webhooks")).filter((webhook) => webhook.name === name);

  test("a change was made", async () => {
    const { id, name } = await made("Changed");
    await visit(on, "#/webhooks", async (page) => {
      await page.getByRole("button", { name: `Edit ${name}` }).click();
      await dialog(page).getByLabel("Name", { exact: true }).fill("Renamed");
      await dialog(page).getByRole("radio", { name: "Generate a new one" }).check();
      await loseAnswers(page, `**/api/v1/webhooks/${id}`);
      await save(page);
      await heading(page, "The new shared key of Renamed is not known").waitFor();
      await press(page, "Close");
      await heading(page, "Renamed").waitFor();
    });
  });

  test("one that was created is in the list, and the form says that it is not known", () => visit(on, "#/webhooks", async (page) => {
    await page.getByRole("button", { name: "New webhook" }).click();
    await dialog(page).getByLabel("Name", { exact: true }).fill("Created");
    await dialog(page).getByLabel("Address").fill("https://erp.example/created");
    await loseAnswers(page, "**/api/v1/webhooks");
    await save(page);
    await unknown(page, "it was saved");
    await dialog(page).getByText("If it is there, its shared key was lost with the answer: choose “New key”.").waitFor();
    await press(page, "Close");
    await heading(page, "Created").waitFor();
    assert.equal((await named("Created")).length, 1);
  }));

  test("a key was replaced, and it is said that the new one is lost", async () => {
    const { id, name } = await made("Rotated");
    await visit(on, "#/webhooks", async (page) => {
      await page.getByRole("button", { name: `New key for ${name}` }).click();
      await loseAnswers(page, new RegExp(`/webhooks/${id}/shared-key`));
      await press(page, "Replace");
      await notice(page, `Rotated got a new shared key. ${LOOKED}`);
      await heading(page, "The new shared key of Rotated is not known").waitFor();
      await press(page, "Close");
    });
  });

  test("of a ping it is said that it is not known", async () => {
    const { id, name } = await made("Pinged");
    await visit(on, "#/webhooks", async (page) => {
      await loseAnswers(page, `**/api/v1/webhooks/${id}/ping`);
      await page.getByRole("button", { name: `Ping ${name}` }).click();
      await unknown(page, "a ping to Pinged was sent");
      await press(page, "Close");
    });
  });

  test("an event that is sent again is published once", async () => {
    const { id, eventTypes } = await made("Published");
    await visit(on, "#/webhooks/deliveries", async (page) => {
      await pressButton(page, "Send an event");
      await dialog(page).getByLabel("Event type").fill(eventTypes[0]);
      await loseAnswers(page, "**/api/v1/events");
      await press(page, "Send");
      await unknown(page, "it was sent");
      await page.unroute("**/api/v1/events");
      await press(page, "Send again");
      await page.locator("#notices").getByText(/gets? it\.$/).waitFor();
      await eventually(async () => assert.equal((await stored(`/api/v1/deliveries?webhookId=${id}`)).items.length, 1));
    });
  });
});
