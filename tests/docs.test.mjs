// The programs in the documentation, run as they are printed.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { test } from "node:test";
import { gzipSync } from "node:zlib";

import { browser, open, signIn } from "./support/browser.mjs";
import { PROGRAM } from "./support/program.mjs";
import { pasted } from "./support/pasted.mjs";
import { until } from "./support/wait.mjs";

const root = new URL("../", import.meta.url);
const MINUTE_MS = 60_000;
const { PYTHON, TESTS_LONG } = process.env;

/** Each document is pasted once; `tests/run --long` pastes it twice into one shell, because a reader may repeat it. */
const TIMES = TESTS_LONG ? ["the first time", "the second time"] : ["the first time"];

/**
 * The pasted documents: the folder of the shell, the least number of blocks with output to compare, the text that the page
 * shows after signing in, and a command before the last block, which cleans up, with its expected output.
 */
const DOCUMENTS = {
  "README.md": { compared: 9, page: /Live · demo/, atEnd: ["tillgate keys list", /signing/] },
  "host/README.md": { page: /Live · acme\n[^]*There are no rules yet/ },
  "host/benches/README.md": {},
  "host/docs/backups.md": { compared: 1 },
  "host/docs/clients.md": { compared: 6 },
  "host/docs/conditions.md": { compared: 10 },
  "host/docs/configure.md": {},
  "host/docs/decision-log.md": { compared: 3 },
  "host/docs/embedding.md": { compared: 1 },
  "host/docs/evening.md": { compared: 20, page: /Live · acme/ },
  "host/docs/files.md": { compared: 3 },
  "host/docs/install.md": {},
  "host/docs/jobs.md": {},
  "host/docs/operate.md": { compared: 1 },
  "host/docs/page.md": {},
  "host/docs/rates.md": { compared: 4 },
  "host/docs/rates-consumer.md": { compared: 2, skip: !PYTHON && "PYTHON is not set to a Python with requests and sseclient-py" },
  "host/docs/receivers.md": { compared: 2, skip: !PYTHON && "PYTHON is not set to a Python with PyJWT and standardwebhooks" },
  "host/docs/upgrade.md": { compared: 2 },
  "host/docs/webhooks.md": { compared: 6 },
  "engine/README.md": { compared: 1, skip: !PYTHON && "PYTHON is not set to a Python with wasmtime" },
  "js/README.md": { compared: 1, within: "js" },
};

/** Other documents, whose links are checked. */
const PAGES = [
  ...["api", "audit-log", "commands", "develop", "glossary", "hosts", "limits", "migration", "security", "sizing"].map((page) => `host/docs/${page}.md`),
  ...["api", "base", "base/src/load", "client", "http", "rates", "rules", "store", "store/src/embedded", "store/src/redis", "tokens", "webhooks"].map((folder) => `host/${folder}/README.md`),
  "tests/vectors/README.md",
  "tests/receiver/README.md",
  "CHANGELOG.md",
];

/** Languages tested elsewhere: by Rust's documentation tests, and `tests/package/`. */
const ELSEWHERE = ["rust", "js", "html"];
/** Languages that are only read. */
const SAMPLES = ["text", "yaml"];

/** Programs that not every machine has, and the word for them in the text before their first block. */
const NEEDED = { node: "Node", npm: "npm", openssl: "openssl", prometheus: "Prometheus", python3: "Python", "redis-server": "Redis", sqlite3: "sqlite3" };

/** Compiles the parts of TypeScript programs beside the installed package, with the names that their readers have already. */
const TSC = `'${new URL("tests/node_modules/", root).pathname}typescript/bin/tsc' --noEmit --strict --target es2022 --lib es2022,dom --module nodenext`;
const ALREADY = `
  import { Catalog, calculate, compare, convert, findings, oppositeRate, rateWithMarkup } from "tillgate";
  declare const [projectId, token, clientId, clientSecret, audience, sharedKey]: string[];
  declare const [headers, request, body, handle]: any[];
`;

/** The same with the catalog of an earlier block, for a block that makes none. */
const already = (text) => (/\bconst catalog\b/.test(text) ? ALREADY : `${ALREADY}  declare const catalog: Catalog;\n`);

const read = (file) => readFileSync(new URL(file, root), "utf8");

/** The blocks of a document in order: `{ language, text }`. */
function blocks(file) {
  const found = read(file).matchAll(/^```(\w*)\n(.*?)^```$/gms);
  return [...found].map(([, language, text]) => ({ language, text }));
}

/** A sample without the parts that differ each time. */
const lasting = (text) => text.replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "TIME").replace(/\d+ ms/g, "N ms").replace(/[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/g, "ID").trim();

/** Signs in to the page with the output of a block, as its reader does, and waits for the expected text. */
async function seen([, url, clientId, clientSecret], expected) {
  const context = await browser();
  try {
    const page = await open(context, url);
    await signIn(page, { clientId, clientSecret });
    const shown = async () => (await page.locator("header, main").allInnerTexts()).join("\n");
    await until(async () => expected.test(await shown()), `the page shows ${expected}`);
    assert.deepEqual(page.faults, []);
  } finally {
    await context.close();
  }
}

/** True if the program reads a configuration. */
function configured(text) {
  const folder = mkdtempSync(`${tmpdir()}/tillgate-docs-`);
  try {
    writeFileSync(`${folder}/tillgate.toml`, text);
    execFileSync(PROGRAM, ["serve", "--config", "tillgate.toml", "--print-config"], { cwd: folder });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

for (const [file, { within, compared = 0, page, atEnd, skip = false }] of Object.entries(DOCUMENTS)) {
  test(`all lines of ${file} can be pasted into one shell, print what it says, and leave nothing behind`, { timeout: 6 * MINUTE_MS, skip }, async () => {
    const shell = await pasted(PROGRAM, within);
    let [printed, isSeen, count] = ["", false, 0];
    const run = {
      bash: async (text) => {
        printed = await shell.paste(text);
        const credentials = /^Open (\S+) and sign in with the client id (\S+) and the secret (\S+)$/m.exec(printed);
        if (credentials && page && !isSeen) {
          await seen(credentials, page);
          isSeen = true;
        }
      },
      sh: (text) => run.bash(text),
      python: (text) => run.bash(`'${PYTHON}' - <<'END'\n${text}END`),
      ts: (text) => shell.paste(`cat > part.mts <<'END'\n${already(text)}${text}END\nnode ${TSC} part.mts`),
      json: (text) => assert.deepEqual(JSON.parse(printed), JSON.parse(text)),
      log: (text) => assert.equal(lasting(printed), lasting(text)),
      toml: configured,
    };
    const steps = blocks(file).filter(({ language }) => !ELSEWHERE.includes(language) && !SAMPLES.includes(language));
    const before = new Set(shell.files());
    try {
      for (const time of TIMES) {
        for (const { language, text } of steps) {
          assert.ok(language in run, `a block is of the language "${language}"`);
          if (atEnd && text === steps.at(-1).text) assert.match(await shell.paste(atEnd[0]), atEnd[1]);
          await run[language](text);
          if (language === "json" || language === "log") count += 1;
        }
        assert.equal(await shell.paste("jobs -r"), "", `nothing runs on, ${time}`);
        assert.deepEqual(shell.files().filter((name) => !before.has(name)), [], `nothing lies around, ${time}`);
      }
    } finally {
      await shell.end();
    }
    assert.equal(isSeen, page !== undefined, "a block leads to the page");
    assert.ok(count >= TIMES.length * compared, `${count} blocks were compared`);
  });
}

test("the README has at most 300 lines, and links in the documentation lead somewhere", () => {
  assert.ok(read("README.md").split("\n").length <= 301);
  const titles = (file) => [...read(file).matchAll(/^#+ (.*)$/gm)].map(([, title]) => title.toLowerCase().replace(/[^\w\- ]/g, "").replaceAll(" ", "-"));
  for (const file of [...Object.keys(DOCUMENTS), ...PAGES]) {
    const prose = read(file).replace(/^```.*?^```$/gms, "");
    for (const [, link] of prose.matchAll(/\]\((?!https?:)([^)]+)\)/g)) {
      const { pathname, hash } = new URL(link, new URL(file, root));
      const to = pathname.slice(root.pathname.length);
      assert.ok(existsSync(new URL(to, root)) && (!hash || titles(to).includes(hash.slice(1))), `${file} links to ${link}`);
    }
  }
});

test("a document says what its blocks need before the first that needs it", () => {
  for (const file of Object.keys(DOCUMENTS)) {
    const text = read(file);
    for (const [program, name] of Object.entries(NEEDED)) {
      // The name of a command, not a word of an argument.
      const called = new RegExp(`^\\W*(?:.*[|&(] ?|[A-Z_]+=.* )?${program} `, "m");
      const first = [...text.matchAll(/^```(?:ba)?sh\n(.*?)^```$/gms)].find(([, block]) => called.test(block));
      if (first) assert.match(text.slice(0, first.index), new RegExp(`\\bneeds?\\b[^]{0,300}?${name}`, "i"), `${file} needs ${name}`);
    }
  }
});

test("a token that is refused is not silent, and the credentials of the demo end with it", async () => {
  const shell = await pasted(PROGRAM);
  try {
    const [start, credentials] = blocks("README.md").filter(({ language }) => language === "bash");
    await shell.paste(start.text);
    await shell.paste(credentials.text);
    await shell.paste('jq \'.clientSecret = "wrong"\' "$TILLGATE_CREDENTIALS" > wrong.json');
    const told = await shell.paste('if TOKEN=$(tillgate token --credentials wrong.json 2>&1); then echo unexpected; else echo "refused: $TOKEN"; fi');
    assert.match(told, /^refused: .* refused the credentials in wrong.json/);
    assert.equal(await shell.paste("stat -c %a demo.env \"$TILLGATE_CREDENTIALS\""), "600\n600");
    assert.equal(await shell.paste('kill $DEMO; wait $DEMO; ls demo.env "$TILLGATE_CREDENTIALS" 2>/dev/null || echo gone'), "gone");
  } finally {
    await shell.end();
  }
});

test("the module is at most 84 KiB, compressed", () => {
  const module = readFileSync(new URL("js/engine/tillgate_bg.wasm", root));
  const { length } = gzipSync(module, { level: 9 });
  assert.ok(length <= 84 * 1024, `${length} bytes`);
});
