// The content of the tarball, and the installed package in Node, a page, Vite, esbuild, a worker and TypeScript.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { after, before, describe, test } from "node:test";

import { build } from "esbuild";
import { Miniflare } from "miniflare";

import { browser, open } from "../support/browser.mjs";
import { README, ROOT, TOOLS, block, install, run } from "../support/packed.mjs";
import { PROGRAM, demo } from "../support/program.mjs";
import { proxy } from "../support/proxy.mjs";
import { ratesHost } from "../support/rates-host.mjs";
import { serve } from "../support/serve.mjs";
import { ended, lines } from "../support/wait.mjs";
import { CALLBACK_URL, EMAIL, ISSUER, SHARED_KEY, certificateServer, delivery, identity, token } from "../support/webhook-sender.mjs";

const STATE = readFileSync(`${ROOT}/js/package.json`, "utf8");

const sha256 = (bytes) => createHash("sha256").update(bytes).digest("hex");

let place;
let home;
let context;
let packed;
let end;

before(async () => {
  ({ place, home, packed, end } = install());
  context = await browser();
});

after(async () => {
  await context?.close();
  end();
});

describe("the tarball", () => {
  test("contains what is used and nothing else", () => {
    const filesIn = (folder, of) => {
      const files = readdirSync(join(of, folder), { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
      return files.map((entry) => relative(of, join(entry.parentPath ?? entry.path, entry.name)));
    };
    const names = filesIn(".", packed).sort();
    const sources = ["src", "examples"].flatMap((folder) => filesIn(folder, `${ROOT}/js`));
    assert.deepEqual(names, ["LICENSE", "README.md", "engine/engine.js", "engine/module.js", "package.json", ...sources].sort());
  });

  test("has at most 160 kB, because it holds the module once", () => {
    const { size } = statSync(join(place, "js/tillgate-0.1.0.tgz"));
    assert.ok(size <= 160_000, `${size} bytes`);
  });

  test("has what its README links to and names", () => {
    const links = [...README.matchAll(/\]\(([^)]+)\)/g)].map(([, link]) => link);
    const anchors = [...README.matchAll(/^#+ (.*)$/gm)].map(([, title]) => `#${title.toLowerCase().replaceAll(" ", "-")}`);
    const files = [...README.matchAll(/`((?:src|examples|engine)\/[\w./-]+)`/g)].map(([, name]) => name);
    const missing = [...links, ...files].filter((name) => !anchors.includes(name) && !existsSync(join(packed, name)));
    // These belong to the repository, as the README says.
    assert.deepEqual([...new Set(missing)], ["engine/README.md", "engine/tillgate.js"]);
    assert.ok(links.length > 0 && files.length > 3);
  });

  test("says what it is for, and names no address that does not exist", () => {
    const manifest = JSON.parse(readFileSync(join(packed, "package.json"), "utf8"));
    assert.ok(manifest.keywords.length > 5 && manifest.description.length > 50);
    for (const member of ["repository", "homepage", "bugs", "author"]) assert.equal(manifest[member], undefined);
    assert.doesNotMatch(readFileSync(`${ROOT}/Cargo.toml`, "utf8"), /https?:/);
  });

  test("has a file for every condition of every export", () => {
    const { exports } = JSON.parse(readFileSync(join(packed, "package.json"), "utf8"));
    const targetsOf = (target) => (typeof target === "string" ? [target] : Object.values(target).flatMap(targetsOf));
    assert.deepEqual(targetsOf(exports).filter((target) => !existsSync(join(packed, target))), []);
    for (const entry of ["./client", "./rates", "./webhook"]) assert.deepEqual(Object.keys(exports[entry]), Object.keys(exports["."]));
  });

  test("has one dependency, which only tillgate/webhook uses, and leaves the repository as it was", async () => {
    const manifest = JSON.parse(readFileSync(join(packed, "package.json"), "utf8"));
    assert.deepEqual(Object.keys(manifest.dependencies), ["jose"]);
    for (const kind of ["peerDependencies", "optionalDependencies"]) assert.equal(manifest[kind], undefined);
    assert.deepEqual(readdirSync(join(home, "node_modules")).filter((name) => !name.startsWith(".")), ["jose", "tillgate"]);
    for (const entry of ["tillgate", "tillgate/client", "tillgate/rates", "tillgate/webhook"]) {
      const stdin = { contents: `import "${entry}"`, resolveDir: home };
      const { metafile } = await build({ stdin, bundle: true, write: false, metafile: true, format: "esm", ignoreAnnotations: true, logLevel: "error" });
      const usesJose = Object.keys(metafile.inputs).some((name) => name.includes("node_modules/jose/"));
      assert.equal(usesJose, entry === "tillgate/webhook", entry);
    }
    assert.equal(readFileSync(join(place, "js/package.json"), "utf8"), STATE);
    assert.equal(readdirSync(join(place, "js")).includes("LICENSE"), false);
  });

  test("contains the host's module, and all of its names are the same digest", async () => {
    const host = await demo();
    try {
      const { bytes } = await import(join(packed, "src/runtime/module.js"));
      const module = sha256(await bytes());
      const answer = await host.api("POST", "/api/v1/conditions/alcohol/evaluate", { item: { id: "a" }, context: {} });
      const catalog = await (await host.api("GET", "/api/v1/catalog")).json();
      const names = {
        header: answer.headers.get("tillgate-engine"),
        catalog: catalog.engine.sha256,
        version: /engine sha256 ([0-9a-f]{64})/.exec(run(PROGRAM, ["--version"]))[1],
        manifest: JSON.parse(readFileSync(join(packed, "package.json"), "utf8")).engine.sha256,
        package: run("node", ["-p", 'require("tillgate").sha256'], home).trim(),
        page: sha256(new Uint8Array(await (await fetch(`${host.url}/js/engine/tillgate_bg.wasm`)).arrayBuffer())),
      };
      for (const [name, digest] of Object.entries(names)) assert.equal(digest, module, name);
    } finally {
      await host.end();
    }
  });
});

describe("five minutes", () => {
  test("eight lines decide in Node, as the README says", () => {
    writeFileSync(join(home, "decide.mjs"), block("js"));
    assert.equal(run("node", ["decide.mjs"], home), block("text"));
  });

  test("the same lines decide in a page, under the policy", async () => {
    const folder = join(home, "page");
    cpSync(packed, join(folder, "node_modules/tillgate"), { recursive: true });
    writeFileSync(join(folder, "index.html"), block("html"));
    const [, ...others] = block("js").split("\n");
    writeFileSync(join(folder, "decide.mjs"), block("js", "Catalog, describe, init } from \"./") + others.join("\n"));
    const site = await serve(folder);
    const page = await context.newPage();
    const message = page.waitForEvent("console");
    await page.goto(`${site.url}/`);
    assert.equal(`${(await message).text()}\n`, block("text"));
    await page.close();
    site.end();
  });

  test("require works too", () => {
    const program = 'const { Catalog } = require("tillgate"); const { CatalogClient } = require("tillgate/client"); const { RatesClient } = require("tillgate/rates"); const { WebhookVerifier } = require("tillgate/webhook");';
    const ask = 'console.log(new Catalog({ global: [], tenant: [] }) instanceof Catalog, typeof CatalogClient, typeof RatesClient, typeof WebhookVerifier)';
    assert.equal(run("node", ["-e", program + ask], home), "true function function function\n");
  });
});

describe("examples", () => {
  const example = (name) => {
    const folder = join(home, name);
    cpSync(`${ROOT}/js/examples/${name}`, folder, { recursive: true });
    return folder;
  };

  test("a page without a build step, from a folder like a CDN's, under the policy", async () => {
    const folder = example("browser");
    cpSync(packed, join(folder, "tillgate"), { recursive: true });
    const site = await serve(folder);
    const page = await open(context, `${site.url}/`);
    const decision = page.locator("#decision");
    await page.getByText("The customer is too young for this item.").waitFor();
    await page.getByLabel("Age").fill("18");
    assert.equal(await decision.textContent(), "Sell it.");
    await page.getByLabel("Age").fill("");
    assert.equal(await decision.textContent(), "Ask for the customer's age.");
    assert.deepEqual(page.faults, []);
    site.end();
  });

  test("an app that Vite builds, under the policy", async () => {
    const folder = example("vite");
    run("node", [`${TOOLS}vite`, "build", "--logLevel", "warn"], folder);
    const site = await serve(join(folder, "dist"));
    const page = await open(context, `${site.url}/`);
    await page.getByText("Ask for the customer's licenses.").waitFor();
    assert.equal(await page.locator("#questions li").count(), 2);
    assert.deepEqual(page.faults, []);
    site.end();
  });

  test("the same app from Vite's development server", async () => {
    const folder = join(home, "vite");
    const server = spawn("node", [`${TOOLS}vite`, "--port", "0", "--host", "127.0.0.1"], { cwd: folder, env: { ...process.env, NO_COLOR: "1" }, stdio: ["ignore", "pipe", "inherit"] });
    try {
      const [, url] = await lines(server.stdout, "Vite").find(/Local: +(http\S+)/);
      const page = await context.newPage();
      await page.goto(url);
      await page.getByText("Ask for the customer's licenses.").waitFor();
      await page.close();
    } finally {
      server.kill();
    }
  });

  for (const [bundler, bundle] of [
    ["esbuild", (entry, outdir) => build({ entryPoints: [entry], bundle: true, format: "esm", outdir, logLevel: "error" })],
    ["webpack", (entry, outdir) => run("node", [`${TOOLS}webpack`, "--mode", "production", "--entry", entry, "--output-path", outdir], home)],
  ]) {
    test(`a page that ${bundler} bundles, without configuration`, async () => {
      const folder = join(home, bundler);
      mkdirSync(folder);
      const source = 'import { Catalog, init } from "tillgate"; await init(); document.title = String(new Catalog({ global: [], tenant: [] }) instanceof Catalog);';
      writeFileSync(join(folder, "main.js"), source);
      writeFileSync(join(folder, "index.html"), '<!doctype html><script type="module" src="/out/main.js"></script>');
      await bundle(join(folder, "main.js"), join(folder, "out"));
      assert.deepEqual(readdirSync(join(folder, "out")), ["main.js"]);
      const site = await serve(folder);
      const page = await open(context, `${site.url}/`);
      await page.waitForFunction(() => document.title === "true");
      assert.deepEqual(page.faults, []);
      site.end();
    });
  }

  test("a service in Node, with a host's rules", async () => {
    const folder = example("node");
    const host = await demo();
    const env = { ...process.env, TILLGATE_URL: host.url, CLIENT_ID: host.clientId, CLIENT_SECRET: host.clientSecret, PORT: "0" };
    const service = spawn("node", ["service.js"], { cwd: folder, env, stdio: ["ignore", "pipe", "ignore"] });
    try {
      const [, url] = await lines(service.stdout, "the service").find(/listening on (http\S+)/);
      const ask = async (id, body) => {
        const answer = await fetch(`${url}/${id}`, { method: "POST", body: JSON.stringify(body) });
        return [answer.status, await answer.json()];
      };
      const [status, decision] = await ask("alcohol", { item: { id: "beer-0.5l" }, context: { customer: { customer_age: 17 } } });
      assert.deepEqual([status, decision.results[0].reason], [200, "age_restriction.underage"]);
      assert.equal((await ask("nope", { item: { id: "a" }, context: {} }))[0], 404);
      assert.equal((await ask("alcohol", { item: {} }))[0], 400);
      service.kill("SIGTERM");
      assert.equal(await ended(service, "the end of the service"), 0);
    } finally {
      service.kill("SIGKILL");
      await host.end();
    }
  });

  test("a till in Node, which goes on without the host, also after a restart", async () => {
    const folder = example("till");
    const host = await ratesHost();
    const gate = await proxy(host.url);
    const set = (rateValue) => host.api("PUT", "/api/v1/business-units/se-001/exchange-rates/SALES/EUR/SEK", { rateValue });
    await host.api("PUT", "/api/v1/business-units/se-001", { type: "STORE" });
    await set(0.09);
    const env = { ...process.env, TILLGATE_URL: gate.url, CLIENT_ID: host.clientId, CLIENT_SECRET: host.clientSecret, SHOP: "se-001" };
    const start = () => {
      const till = spawn("node", ["till.js"], { cwd: folder, env, stdio: ["pipe", "pipe", "pipe"] });
      const [answers, log] = [lines(till.stdout, "the till"), lines(till.stderr, "the till’s log")];
      return {
        price: (amount) => (till.stdin.write(`${amount}\n`), answers.next()),
        logged: (text) => log.find(new RegExp(text)),
        end: () => (till.stdin.end(), ended(till, "the end of the till")),
        kill: () => till.kill("SIGKILL"),
      };
    };
    let till = start();
    try {
      await till.logged("READY");
      assert.equal(await till.price("149"), "149 SEK = 13.41 EUR");
      gate.cut();
      await till.logged("STALE");
      assert.equal(await till.price("100"), "100 SEK = 9.00 EUR (offline, rates are 0 min old)");
      assert.equal(await till.price("1,50"), "1,50: TillgateError: $.amount must be a decimal such as 11.05");
      assert.equal(await till.end(), 0);
      till = start();
      assert.equal(await till.price("200"), "200 SEK = 18.00 EUR (offline, rates are 0 min old)");
      await set(0.08);
      gate.restore();
      await till.logged("READY");
      assert.equal(await till.price("200"), "200 SEK = 16.00 EUR");
      assert.equal(await till.end(), 0);
    } finally {
      till.kill();
      gate.end();
      host.end();
    }
  });

  test("a worker that esbuild bundles, in the runtime that workers run in", async () => {
    const folder = example("worker");
    writeModule(folder);
    const outdir = join(folder, "out");
    await build({ entryPoints: [join(folder, "worker.js")], bundle: true, format: "esm", conditions: ["workerd"], outdir, loader: { ".wasm": "copy" }, logLevel: "error" });
    const modules = readdirSync(outdir).map((name) => {
      const type = name.endsWith(".wasm") ? "CompiledWasm" : "ESModule";
      return { type, path: join(outdir, name) };
    });
    modules.sort((one) => (one.type === "ESModule" ? -1 : 1));
    const worker = new Miniflare({ modules, modulesRoot: outdir, compatibilityDate: "2025-01-01" });
    try {
      const ask = (id, body) => worker.dispatchFetch(`http://worker/${id}`, { method: "POST", body: JSON.stringify(body) });
      const answer = await ask("alcohol", { item: { id: "a" }, context: { customer: { customer_age: 17 } } });
      assert.equal((await answer.json()).results[0].reason, "age_restriction.underage");
      assert.equal((await ask("nope", { item: { id: "a" }, context: {} })).status, 404);
    } finally {
      await worker.dispose();
    }
  });
});

/** Writes the module beside the worker in a folder, as in the example. */
function writeModule(folder) {
  const [, command] = /^\/\/ +(node .*)$/m.exec(readFileSync(`${ROOT}/js/examples/worker/worker.js`, "utf8"));
  run("bash", ["-euc", command], folder);
}

test("a receiver of webhooks in the runtime that workers run in", async () => {
  const folder = join(home, "receiver-worker");
  mkdirSync(folder);
  writeModule(folder);
  writeFileSync(join(folder, "worker.js"), `
    import { initSync } from "tillgate";
    import { WebhookError, WebhookVerifier } from "tillgate/webhook";
    import module from "./tillgate.wasm";
    initSync(module);
    let verifier;
    export default {
      async fetch(request, { OPTIONS }) {
        verifier ??= new WebhookVerifier(OPTIONS);
        try {
          const { id, data } = await verifier.verify({ headers: request.headers, body: await request.arrayBuffer() });
          return Response.json({ id, data });
        } catch (error) {
          if (!(error instanceof WebhookError)) throw error;
          return new Response(error.code, { status: error.status });
        }
      },
    };
  `);
  const outdir = join(folder, "out");
  await build({ entryPoints: [join(folder, "worker.js")], bundle: true, format: "esm", conditions: ["workerd"], outdir, loader: { ".wasm": "copy" }, logLevel: "error" });
  const modules = readdirSync(outdir).map((name) => ({ type: name.endsWith(".wasm") ? "CompiledWasm" : "ESModule", path: join(outdir, name) }));
  modules.sort((one) => (one.type === "ESModule" ? -1 : 1));
  const sender = identity("k-1");
  const certificates = await certificateServer([sender]);
  const OPTIONS = { scheme: "BEARER", audience: CALLBACK_URL, email: EMAIL, issuer: ISSUER, sharedKey: SHARED_KEY, certificatesUrl: certificates.url };
  const worker = new Miniflare({ modules, modulesRoot: outdir, compatibilityDate: "2025-01-01", bindings: { OPTIONS } });
  try {
    const send = ({ headers, body }) => worker.dispatchFetch(CALLBACK_URL, { method: "POST", headers, body });
    const request = delivery({ authorization: `Bearer ${token(sender)}` });
    assert.deepEqual(await (await send(request)).json(), { id: "e-1", data: { action: "CREATED", id: "beer" } });
    for (const [code, refused] of [
      ["wrong_audience", delivery({ authorization: `Bearer ${token(sender, { claims: { aud: "x" } })}` })],
      ["bad_signature", delivery({ authorization: `Bearer ${token(sender, { signature: () => "AAAA" })}` })],
      ["signature_mismatch", delivery({ authorization: request.headers.authorization, key: "another shared key" })],
    ]) {
      const answer = await send(refused);
      assert.deepEqual([answer.status, await answer.text()], [401, code]);
    }
    assert.equal(certificates.asked, 1);
  } finally {
    await worker.dispose();
    certificates.end();
  }
});
