// How long the page keeps the browser's main thread busy with 5,000 conditions, 2,000 projects and 1,000 webhooks: the tasks
// of 50 ms and more, which the browser counts as long, and the longest of them. Prints a table for tests/bench.
//
//     cargo build && node tests/bench_page.mjs

import { browser, signIn, signedIn } from "./support/browser.mjs";
import { conditionId, hostWithMany, projectId } from "./support/many.mjs";

const COUNTS = { conditions: 5000, projects: 2000, webhooks: 1000 };

/** So often each is done. */
const TURNS = 5;

/** How long after its effect is seen work may still be under way, and the browser takes to tell of long tasks. */
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
  await signIn(page, host);
  await page.getByText("The host made the same decision").waitFor();
});
await lists();
await pickers();
await context.close();
await host.end();

/** Does something again and again, and prints a line about it. `act` gets how often it was done before. */
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

/** Waits until what was begun is done. */
async function settled() {
  await page.evaluate((ms) => new Promise((resolve) => setTimeout(resolve, ms)), SETTLED_MS);
}
