/**
 * Runs before and after `npm pack`. In the tarball, `package.json` names the module (`engine.sha256`). In the
 * repository it does not, because each build replaces the module. This file is not part of the package.
 */

import { createHash } from "node:crypto";
import { copyFileSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";

const at = (path) => new URL(path, import.meta.url);
const manifest = at("package.json");
const [, , step] = process.argv;

const { sha256 } = await import("./engine/engine.js");
const { default: code } = await import("./engine/module.js");
const digests = [readFileSync(at("engine/tillgate_bg.wasm")), gunzipSync(Buffer.from(code, "base64"))].map((bytes) => createHash("sha256").update(bytes).digest("hex"));
const [digest] = digests;
if (digests.some((each) => each !== sha256)) throw new Error(`the files in engine/ are from different builds: ${digests}, ${sha256}`);

const text = readFileSync(manifest, "utf8");
const named = text.replace(/("sha256": ")[0-9a-f]*(")/, `$1${step === "fill" ? digest : ""}$2`);
writeFileSync(manifest, named);
if (step === "fill") copyFileSync(at("../LICENSE"), at("LICENSE"));
else rmSync(at("LICENSE"), { force: true });
