// The installed package in services bundled into one file, in runtimes other than Node, and in Web Workers.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { after, before, describe, test } from "node:test";

import { browser } from "../support/browser.mjs";
import { TOOLS, block, install, run } from "../support/packed.mjs";
import { serve } from "../support/serve.mjs";
import { BUILD_DEADLINE_MS } from "../support/wait.mjs";

/** Uses every entry of the package. */
const SERVICE = `
  import { Catalog, init, sha256 } from "tillgate";
  import { CatalogClient } from "tillgate/client";
  import { RatesClient } from "tillgate/rates";
  import { WebhookVerifier } from "tillgate/webhook";

  const catalog = new Catalog({ global: [], tenant: [{ id: "beer", rule: "AGE_RESTRICTION", condition_value: { minimum_age: 18 } }] });
  const { results } = catalog.evaluateCondition("beer", { item: { id: "a" }, context: { customer: { customer_age: 17 } } });
  const options = { url: "http://127.0.0.1:1", token: "t" };
  for (const client of [new CatalogClient(options), new RatesClient({ ...options, businessUnitId: "se-001" })]) client.close();
  const verifier = new WebhookVerifier({ scheme: "BASIC", username: "u", password: "p", sharedKey: "a key for the test" });
  const body = JSON.stringify({ id: "e", time: "2026-01-01T00:00:00.000Z", type: "x.events.v1", datacontenttype: "application/json", data: "e30=", dataencoding: "base64", specversion: "1.0" });
  const headers = { authorization: "Basic dTpw", "x-service-signature": "HS256=" + "0".repeat(64) };
  const refused = verifier.verify({ headers, body }).catch(({ code }) => code);
  Promise.all([init(), refused]).then(([, code]) => console.log(results[0].reason, code, sha256.length));
`;
const ANSWER = "age_restriction.underage signature_mismatch 64\n";

let home;
let packed;
let end;
let context;

before(async () => {
  ({ home, packed, end } = install());
  context = await browser();
});

after(async () => {
  await context?.close();
  end();
});

/** A folder with a program, where the package is installed. */
function project(name, files) {
  const folder = join(home, name);
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(join(folder, file, ".."), { recursive: true });
    writeFileSync(join(folder, file), text);
  }
  return folder;
}

/** Runs a bundle where nothing is installed. */
function runAlone(file, command = "node", args = []) {
  const folder = mkdtempSync(join(tmpdir(), "tillgate-alone-"));
  try {
    cpSync(file, join(folder, basename(file)));
    return run(command, [...args, basename(file)], folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

describe("a service in one file", () => {
  for (const [format, file] of [["cjs", "service.cjs"], ["esm", "service.mjs"]]) {
    test(`by esbuild for Node, as ${format}, without configuration`, () => {
      const folder = project(`esbuild-${format}`, { "service.js": SERVICE });
      const built = spawnSync(`${TOOLS}esbuild`, ["service.js", "--bundle", "--platform=node", `--format=${format}`, `--outfile=${file}`, "--log-level=info"], { cwd: folder, encoding: "utf8", timeout: BUILD_DEADLINE_MS });
      assert.equal(built.status, 0, built.stderr);
      assert.doesNotMatch(built.stderr, /warning/i);
      assert.equal(runAlone(join(folder, file)), ANSWER);
    });
  }

  test("by Vite for a server, with everything in it", () => {
    const config = "export default { ssr: { noExternal: true } };";
    const folder = project("vite-ssr", { "package.json": '{"type":"module"}', "vite.config.js": config, "service.js": SERVICE });
    run("node", [`${TOOLS}vite`, "build", "--ssr", "service.js", "--logLevel", "warn"], folder);
    assert.deepEqual(readdirSync(join(folder, "dist")), ["service.js"]);
    cpSync(join(folder, "dist/service.js"), join(folder, "dist/service.mjs"));
    assert.equal(runAlone(join(folder, "dist/service.mjs")), ANSWER);
  });

  test("by Bun for Node", { skip: !existsSync(`${TOOLS}bun`) && "bun is not installed" }, () => {
    const folder = project("bun-build", { "service.js": SERVICE });
    run(`${TOOLS}bun`, ["build", "service.js", "--target=node", "--outfile=service.mjs"], folder);
    assert.equal(runAlone(join(folder, "service.mjs")), ANSWER);
  });
});

describe("other runtimes", () => {
  for (const [name, args] of [["deno", ["run", "--node-modules-dir=manual", "--no-config"]], ["bun", []]]) {
    test(`${name} decides on import`, { skip: !existsSync(`${TOOLS}${name}`) && `${name} is not installed` }, () => {
      const folder = project(name, { "service.mjs": SERVICE });
      assert.equal(run(`${TOOLS}${name}`, [...args, "service.mjs"], folder), ANSWER);
    });
  }
});

test("tests in Jest, in Node and in simulated pages, as the README says", { skip: !existsSync(`${TOOLS}jest`) && "jest is not installed" }, () => {
  const DECIDES = `
    const { Catalog, init } = require("tillgate");
    const { CatalogClient } = require("tillgate/client");
    const { RatesClient } = require("tillgate/rates");
    const { WebhookVerifier } = require("tillgate/webhook");
    test("decides", async () => {
      await init();
      const catalog = new Catalog({ global: [], tenant: [{ id: "beer", rule: "AGE_RESTRICTION", condition_value: { minimum_age: 18 } }] });
      const { results } = catalog.evaluateCondition("beer", { item: { id: "öl" }, context: { customer: { customer_age: 17 } } });
      expect(results[0].reason).toBe("age_restriction.underage");
      new WebhookVerifier({ scheme: "BASIC", username: "u", password: "p" });
    });
  `;
  const folder = project("jest", {
    "jest.config.js": block("js", "transformIgnorePatterns"),
    "page.cjs": block("js", "TestEnvironment"),
    "node.test.js": DECIDES,
    "page.test.js": `/** @jest-environment ./page.cjs */${DECIDES}`,
    // Missing features of a page matter on use, not before.
    "bare.test.js": `/** @jest-environment jsdom */
      test("imports", () => {
        expect(typeof TextEncoder).toBe("undefined");
        for (const entry of ["tillgate", "tillgate/client", "tillgate/rates"]) require(entry);
      });
    `,
  });
  const tools = join(TOOLS, "..");
  mkdirSync(join(folder, "node_modules"));
  for (const name of ["@babel", "babel-jest", "jest-environment-jsdom"]) symlinkSync(join(tools, name), join(folder, "node_modules", name));
  const ran = spawnSync("node", [`${TOOLS}jest`, "--watchman=false", "--cacheDirectory", join(folder, "cache")], { cwd: folder, encoding: "utf8", timeout: BUILD_DEADLINE_MS });
  assert.equal(ran.status, 0, ran.stderr);
  assert.match(ran.stderr, /Tests: +3 passed, 3 total/);
});

describe("a Web Worker", () => {
  const PAGE = '<!doctype html><script type="module" src="page.js"></script>';

  test("without a bundler, as the README says, under the policy", async () => {
    const folder = project("worker-plain", { "index.html": PAGE, "page.js": block("js", "new Worker"), "worker.js": block("js", "postMessage(catalog") });
    cpSync(packed, join(folder, "node_modules/tillgate"), { recursive: true });
    await decides(folder);
  });

  test("in an app that Vite builds, with the name of the package", async () => {
    const worker = block("js", "postMessage(catalog").replace(/"\S+\/browser\.js"/, '"tillgate"');
    assert.match(worker, /from "tillgate"/);
    const folder = project("worker-vite", { "index.html": PAGE, "page.js": block("js", "new Worker"), "worker.js": worker });
    run("node", [`${TOOLS}vite`, "build", "--logLevel", "warn"], folder);
    await decides(join(folder, "dist"));
  });

  /** The page of a folder prints the worker's decision. */
  async function decides(folder) {
    const site = await serve(folder);
    const page = await context.newPage();
    const message = page.waitForEvent("console");
    await page.goto(`${site.url}/`);
    assert.equal((await message).text(), "HARD_DENY");
    await page.close();
    site.end();
  }
});
