// The programs in the documentation, run as they are printed.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { gzipSync } from "node:zlib";

import { browser, signedIn } from "./support/browser.mjs";
import { PROGRAM } from "./support/program.mjs";
import { pasted } from "./support/pasted.mjs";

const root = new URL("../", import.meta.url);
const README = readFileSync(new URL("README.md", root), "utf8");
const MINUTE_MS = 60_000;

function program(file, language) {
  const text = readFileSync(new URL(file, root), "utf8");
  return text.split("```" + language + "\n")[1].split("```")[0];
}

/** The blocks of a document in order: `{ language, text }`. */
function blocks(document) {
  const found = document.matchAll(/^```(\w+)\n(.*?)^```$/gms);
  return [...found].map(([, language, text]) => ({ language, text }));
}

/** A sample without what is different each time. */
const lasting = (text) => text.replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "TIME").replace(/\d+ ms/g, "N ms").trim();

/** Signs in to the page with what a block has printed, as its reader does, and returns what they see. */
async function seen([, url, clientId, clientSecret]) {
  const context = await browser();
  try {
    const page = await signedIn(context, { url: url.replace(/\/$/, ""), clientId, clientSecret });
    await page.locator("header").getByText(/^Live · /).waitFor();
    const shown = await page.locator("header, main").allInnerTexts();
    assert.deepEqual(page.faults, []);
    return shown.join("\n");
  } finally {
    await context.close();
  }
}

test("all lines of the README can be pasted into one shell, and print what it says", { timeout: 3 * MINUTE_MS }, async () => {
  const shell = await pasted(PROGRAM);
  const counts = { bash: 0, json: 0, text: 0 };
  let printed;
  let page;
  try {
    for (const { language, text } of blocks(README)) {
      if (language in counts) counts[language] += 1;
      if (language === "sh" || language === "bash") printed = await shell.paste(text);
      const credentials = language === "bash" && /^Open (\S+) and sign in with the client id (\S+) and the secret (\S+)$/m.exec(printed);
      if (credentials) page = await seen(credentials);
      if (language === "json") assert.deepEqual(JSON.parse(printed), JSON.parse(text));
      // What a program of the background prints. Other samples are not of this shell.
      if (language === "text" && /^\d{4}-/.test(text)) await shell.said((said) => lasting(said).includes(lasting(text)), text);
    }
    assert.match(await shell.paste("api caller"), /"tenantId":"acme"/, "the last client may ask the host that runs last");
  } finally {
    await shell.end();
  }
  assert.match(page, /Live · acme\n[^]*There are no rules yet/, "the page that the README leads to is that of the new tenant");
  assert.ok(counts.bash > 25 && counts.json > 12 && counts.text > 2, JSON.stringify(counts));
});

test("a token that is refused is not silent, and the credentials of the demo end with it", async () => {
  const shell = await pasted(PROGRAM);
  try {
    const [start, credentials] = blocks(README).filter(({ language }) => language === "bash");
    await shell.paste(start.text);
    await shell.paste(credentials.text);
    const told = await shell.paste('if TOKEN=$(token "$CLIENT_ID" wrong 2>&1); then echo unexpected; else echo "refused: $TOKEN"; fi');
    assert.match(told, /^refused: .*401.*gave no token$/s);
    assert.equal(await shell.paste("stat -c %a demo.env \"$TILLGATE_CREDENTIALS\""), "600\n600");
    assert.equal(await shell.paste('kill $DEMO; wait $DEMO; ls demo.env "$TILLGATE_CREDENTIALS" 2>/dev/null || echo gone'), "gone");
  } finally {
    await shell.end();
  }
});

test("the program of engine/README.md decides", { skip: !process.env.PYTHON && "PYTHON is not set to a Python with wasmtime" }, () => {
  const printed = execFileSync(process.env.PYTHON, ["-c", program("engine/README.md", "python")], {
    cwd: root,
    encoding: "utf8",
  });
  assert.match(printed, /age_restriction\.underage/);
});

test("the module is at most 64 KiB, compressed", () => {
  const module = readFileSync(new URL("js/engine/tillgate_bg.wasm", root));
  const { length } = gzipSync(module, { level: 9 });
  assert.ok(length <= 64 * 1024, `${length} bytes`);
});
