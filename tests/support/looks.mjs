// Checks the look of a page's state: nothing is too wide at each width and at 200 %, and axe finds nothing, in the light theme
// on narrow pages and in the dark one on wide pages. With TESTS_LONG it checks all of that in both themes at each width, and
// keeps screenshots.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

import { OUTPUT } from "./browser.mjs";

const AXE = readFileSync(new URL("../node_modules/axe-core/axe.min.js", import.meta.url), "utf8");
const NARROW = [360, 740];
const WIDE = [1440, 900];
const SIZES = [NARROW, [768, 1024], WIDE];
const THEMES = ["light", "dark"];
const LONG = Boolean(process.env.TESTS_LONG);

/** 1280 × 800 at 200 %. */
const [ZOOMED_WIDTH, ZOOMED_HEIGHT] = [640, 400];

/** Makes a page narrow, where everything has to be within reach, and stops animations, so that colors are final. */
export async function still(page) {
  const [width, height] = NARROW;
  await page.setViewportSize({ width, height });
  await page.emulateMedia({ reducedMotion: "reduce" });
  await page.evaluate(() => {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync("*, ::before, ::after { transition: none !important; animation: none !important; }");
    document.adoptedStyleSheets.push(sheet);
  });
}

/** Asserts that a state looks right once nothing moves. Its screenshots have this name. */
export async function looksRight(page, name) {
  await still(page);
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(AXE);
  for (const theme of THEMES) {
    await page.emulateMedia({ colorScheme: theme });
    for (const size of SIZES) {
      const [width, height] = size;
      const hasChecks = LONG || size === (theme === "light" ? NARROW : WIDE);
      // The dark theme changes only colors, so nothing is wider in it.
      if (hasChecks || theme === "light") await fits(page, width, height, `${name}-${theme}-${width}`);
      if (hasChecks) assert.deepEqual(await violations(page, theme), [], `${name}, ${theme} at ${width} px`);
    }
  }
  await fits(page, ZOOMED_WIDTH, ZOOMED_HEIGHT, `${name}-zoomed`);
}

/** Asserts that nothing is too wide in a window of a size. */
async function fits(page, width, height, name) {
  await page.setViewportSize({ width, height });
  // Content that is drawn after measuring, such as charts, appears in the next frame.
  await page.evaluate(() => scrollTo(0, 0) ?? new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
  if (LONG) {
    const hasDialog = (await page.locator("dialog[open]").count()) > 0;
    await page.screenshot({ path: `${OUTPUT}${name}.png`, fullPage: !hasDialog });
  }
  assert.deepEqual(await tooWide(page), [], name);
}

/** Elements wider than their place: the page, and dialogs. */
const tooWide = (page) =>
  page.evaluate(() => {
    const places = [document.documentElement, ...document.querySelectorAll("dialog[open]")];
    return places.filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth).map(({ tagName, scrollWidth, clientWidth }) => `${tagName}: ${scrollWidth} in ${clientWidth}`);
  });

/**
 * The findings of axe; for a further theme, which differs only in colors, its findings about them. The full result stays in
 * the page, because sending it takes longer than the checks.
 */
async function violations(page, theme) {
  const runOnly = theme === THEMES[0] ? undefined : ["color-contrast", "link-in-text-block"];
  const found = await page.evaluate((options) => window.axe.run(options).then(({ violations }) => violations), { resultTypes: ["violations"], ...(runOnly && { runOnly }) });
  return found.map(({ id, nodes }) => `${id}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`).join(" | ")}`);
}
