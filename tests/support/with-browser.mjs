// Runs a command with a browser that all tests of the command share:
//     node tests/support/with-browser.mjs node --test tests/page*.test.mjs

import { spawn } from "node:child_process";

import { chromium } from "playwright-core";

import { LAUNCH } from "./browser.mjs";

const [command, ...args] = process.argv.slice(2);
const server = await chromium.launchServer(LAUNCH);
const child = spawn(command, args, { stdio: "inherit", env: { ...process.env, TESTS_BROWSER: server.wsEndpoint() } });
child.once("close", async (code) => {
  await server.close();
  process.exit(code ?? 1);
});
