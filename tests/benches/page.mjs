// Measures how long the page keeps the browser's main thread busy with 5,000 conditions, 2,000 projects and 1,000 webhooks,
// and with lists of 100,000 values and lines: the tasks of 50 ms and more, which the browser counts as long, and the longest
// of them. Also measures the time from signing in to the demo to the first decision. Prints a table for tests/bench.
//
//     cargo build && node tests/benches/page.mjs
//     cargo build --release && PROGRAM=target/release/tillgate node tests/benches/page.mjs

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";

import { OUTPUT, browser, fillIn, open, signedIn } from "../support/browser.mjs";
import { conditionId, hostWithMany, projectId } from "../support/many.mjs";
import { demo } from "../support/program.mjs";

const COUNTS = { conditions: 5000, projects: 2000, webhooks: 1000 };

/** The most values of a project, and the most lines of a list for the effects of a draft. */
const LONG = 100_000;

/** The repetitions of each measurement. */
const TURNS = 5;

/** The repetitions of loading the page and signing in. */
const SIGN_INS = 11;

/** The time for work after its effect is visible, and for the browser to report long tasks. */
const SETTLED_MS = 1000;

const host = await hostWithMany(COUNTS);
const context = await browser();
await context.addInitScript(() => {
  window.longTasks = [];
  new PerformanceObserver((list) => window.longTasks.push(...list.getEntries().map(({ duration }) => duration))).observe({ type: "longtask", buffered: true });
});
const page = await signedIn(context, host, "");

console.log("| with 5,000 conditions, 2,000 projects and 1,000 webhooks | elements | long tasks, each of five times | the longest |");
console.log("|---|---|---|---|");
await measure("signing in, and Preview", async () => {
  await page.reload();
  await page.getByText("The host made the same decision").waitFor();
});
await lists();
await pickers();
await longLists();
await context.close();
await host.end();
await firstDecision();

/** Repeats something and prints a line about it. `act` gets the number of earlier runs. */
async function measure(what, act) {
  await settled();
  const long = [];
  for (let turn = 0; turn < TURNS; turn += 1) {
    await page.evaluate(() => (window.longTasks.length = 0));
    await act(turn);
    await settled();
    long.push(await page.evaluate(() => window.longTasks));
  }
  const elements = await page.evaluate(() => document.querySelectorAll("*").length);
  const longest = Math.max(0, ...long.flat());
  console.log(`| ${what} | ${elements.toLocaleString("en")} | ${long.map((tasks) => tasks.length).join(", ")} | ${longest === 0 ? "none" : `${Math.round(longest)} ms`} |`);
}

async function lists() {
  const put = (path, body) => host.api("PUT", path, body);
  const views = {
    conditions: {
      title: "Conditions",
      change: (age) => put(`/api/v1/entity-conditions/${conditionId(0)}`, { rule: "AGE_RESTRICTION", condition_value: { minimum_age: age } }),
      seen: (age) => `Customers must be ${age} or older`,
    },
    projects: {
      title: "Projects",
      typed: "item-1",
      change: (number) => put(`/api/v1/projects/${projectId(0)}`, { name: `Renamed ${number}`, restrictions: [] }),
      seen: (number) => `Renamed ${number}`,
    },
    webhooks: { title: "Webhooks" },
  };
  for (const [noun, { title, typed = "", change, seen }] of Object.entries(views)) {
    const all = `${COUNTS[noun].toLocaleString("en")} ${noun}`;
    await measure(`opening ${title}`, async () => {
      await show("Preview");
      await page.getByRole("link", { name: title, exact: true }).first().click();
      await page.getByText(all, { exact: true }).waitFor();
    });
    const filter = page.getByLabel(`Filter ${noun}`);
    await filter.fill(typed);
    await measure(`a keystroke in the search of ${title}`, (turn) => filter.press(turn % 2 === 0 ? "9" : "Backspace"));
    await filter.fill("");
    if (change === undefined) continue;
    await measure(`another user's change, in ${title}`, async (turn) => {
      await change(20 + turn);
      await page.getByText(seen(20 + turn)).first().waitFor();
    });
  }
}

async function show(title) {
  await page.getByRole("link", { name: title, exact: true }).first().click();
  await page.getByRole("heading", { name: title, level: 1 }).waitFor();
}

async function pickers() {
  await show("Preview");
  for (const [mode, label] of [["A condition", "Condition"], ["A project", "Project"]]) {
    await page.getByRole("radio", { name: mode }).check();
    const field = page.getByLabel(label, { exact: true });
    await measure(`opening the choice of a ${label.toLowerCase()}`, async () => {
      await field.click();
      await page.getByRole("listbox").waitFor();
      await page.keyboard.press("Escape");
    });
    await field.fill("-");
    await measure(`a keystroke in the choice of a ${label.toLowerCase()}`, (turn) => field.press(turn % 2 === 0 ? "9" : "Backspace"));
    await page.keyboard.press("Escape");
  }
  await measure("another user's change, in Preview", async (turn) => {
    await host.api("PUT", `/api/v1/projects/${projectId(0)}`, { name: `Named ${turn}`, restrictions: [] });
    await page.waitForFunction((name) => document.querySelector("[role=combobox]")?.value === name, `Named ${turn}`);
  });
}

/** A project with the most values, in its form, and a draft against a list of as many lines. */
async function longLists() {
  const name = "A long list";
  const values = Array.from({ length: LONG }, (_, at) => `item-${at}-of-a-long-list`);
  const restrictions = [{ type: "WHITELIST", propertyName: "category", allowedValues: values }];
  assert.equal((await host.api("PUT", `/api/v1/projects/${projectId(COUNTS.projects)}`, { name, restrictions })).status, 201);
  await show("Projects");
  await page.getByLabel("Filter projects").fill(name);
  const dialog = page.getByRole("dialog");
  const act = (button) => dialog.getByRole("button", { name: button, exact: true }).click();
  const counts = (text) => dialog.locator(".value-counts").getByText(text, { exact: true }).waitFor();
  const search = dialog.getByLabel("Search the values");
  const all = `${LONG.toLocaleString("en")} values`;
  await measure(`opening a form with ${all}`, async (turn) => {
    if (turn > 0) await act("Cancel");
    await page.getByRole("button", { name: `Edit ${name}` }).click();
    await counts(all);
  });
  await search.fill("item-1");
  await measure(`a keystroke in the search of ${all}`, (turn) => search.press(turn % 2 === 0 ? "9" : "Backspace"));
  await search.fill("");
  await measure(`removing ${all} and undoing that`, async () => {
    await dialog.getByRole("listbox", { name: "Values" }).press("Control+a");
    await page.keyboard.press("Delete");
    await counts(`0 values · ${LONG.toLocaleString("en")} removed`);
    await act(`Undo: ${all} removed`);
    await counts(all);
  });
  await dialog.getByRole("listbox", { name: "Values" }).press("Control+a");
  await page.keyboard.press("Delete");
  await measure(`adding a file of ${all} and undoing that`, async () => {
    await dialog.getByLabel("CSV file").setInputFiles(file("values.csv", values));
    await counts(all);
    await act(`Undo: ${all} added`);
    await counts(`0 values · ${LONG.toLocaleString("en")} removed`);
  });
  await act(`Undo: ${all} removed`);
  await dialog.getByLabel("Add a value").focus();
  await search.fill("item-99999-");
  await dialog.getByRole("button", { name: "Remove all 1 found" }).click();
  await measure(`reviewing a form with ${all}`, async () => {
    await act("Review");
    await dialog.getByText("removed: item-99999-of-a-long-list").waitFor();
    await act("Back");
  });
  await dialog.getByText("What would change?", { exact: true }).click();
  const listed = file("list.csv", ["id,category", ...values.map((value, at) => `item-${at},${value}`)]);
  await measure(`what would change for a list of ${LONG.toLocaleString("en")} lines`, async (turn) => {
    if (turn > 0) await act("Use another list");
    await dialog.getByLabel("Or drop a file here, or choose one").setInputFiles(listed);
    await dialog.getByText(`The decision changes for 1 of ${LONG.toLocaleString("en")} lines.`).waitFor();
  });
  await act("Cancel");
  await page.getByRole("button", { name: "Discard", exact: true }).click();
}

/**
 * Writes these lines to a file and returns its path. The page reads it itself: bytes passed to it are copied on its main
 * thread.
 */
function file(name, lines) {
  const path = `${OUTPUT}${name}`;
  writeFileSync(path, lines.join("\n"));
  return path;
}

/** Measures from the click on “Sign in” to the frame that shows the decision, in a newly loaded page. */
async function firstDecision() {
  const shop = await demo();
  const own = await browser();
  const times = [];
  for (let turn = 0; turn < SIGN_INS; turn += 1) {
    const signing = await open(own, shop.url);
    await fillIn(signing, shop);
    await settled(signing);
    await signing.evaluate(() => {
      addEventListener("submit", () => (window.begun = performance.now()), true);
      const look = () => document.querySelector(".decision-title")?.textContent && requestAnimationFrame(() => setTimeout(() => (window.decided ??= performance.now())));
      new MutationObserver(look).observe(document, { subtree: true, childList: true });
    });
    await signing.getByRole("button", { name: "Sign in" }).click();
    await signing.waitForFunction(() => window.decided);
    times.push(await signing.evaluate(() => window.decided - window.begun));
    await signing.close();
  }
  await own.close();
  await shop.end();
  const sorted = times.sort((one, other) => one - other).map((time) => `${Math.round(time)} ms`);
  console.log(`signing in, until the first decision is shown: ${sorted[(SIGN_INS - 1) / 2]}, at most ${sorted.at(-1)}`);
}

/** Waits until the work begun is done. */
async function settled(on = page) {
  await on.evaluate((ms) => new Promise((resolve) => setTimeout(resolve, ms)), SETTLED_MS);
}
