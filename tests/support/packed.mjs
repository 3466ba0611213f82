// The package as its users get it: packed and installed by the first commands of its README, in a folder beside a copy of the
// repository.

import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { BUILD_DEADLINE_MS } from "./wait.mjs";

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));
export const TOOLS = fileURLToPath(new URL("../node_modules/.bin/", import.meta.url));
export const README = readFileSync(`${ROOT}/js/README.md`, "utf8");

/** A block of the README: the first of its language, or the first that contains a text. */
export const block = (language, text = "") =>
  README.split("```" + language + "\n").slice(1).map((rest) => rest.split("```")[0]).find((block) => block.includes(text));

/** Runs a command and returns what it prints. */
export const run = (command, args, cwd) => execFileSync(command, args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"], timeout: BUILD_DEADLINE_MS });

/** Packs and installs: `{ place, home, packed, end }`. `home` is where it is installed, `packed` the installed package. */
export function install() {
  const place = mkdtempSync(join(tmpdir(), "tillgate-package-"));
  cpSync(`${ROOT}/js`, join(place, "js"), { recursive: true });
  cpSync(`${ROOT}/LICENSE`, join(place, "LICENSE"));
  const home = join(place, "my-till");
  mkdirSync(home);
  run("bash", ["-euc", block("sh")], join(place, "js"));
  const packed = join(home, "node_modules/tillgate");
  return { place, home, packed, end: () => rmSync(place, { recursive: true, force: true }) };
}
