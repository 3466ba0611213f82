// The package's errors: for wrong options, for an address that is not a host's, and for connections that end. A server stands
// in for the host; real answers are tested in `client.test.mjs`.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { afterEach, describe, test } from "node:test";

import { CatalogClient, Host, clientCredentials } from "../../js/src/runtime/client.node.js";
import { TillgateError } from "../../js/src/runtime/node.js";
import { RatesClient } from "../../js/src/runtime/rates.node.js";
import { WebhookVerifier } from "../../js/src/runtime/webhook.node.js";
import { within } from "../support/wait.mjs";

const URL_FAULT = "must be a URL with its scheme, such as https://till.example";
const TOKEN_FAULT = "must be a token, or a function that returns one";
const REQUEST = { item: { id: "sku-1" }, context: {} };

const open = [];
afterEach(() => {
  for (const end of open.splice(0)) end();
});

/** Starts a server with this answer; returns its address. */
async function server(answer) {
  const started = createServer(answer);
  await new Promise((resolve) => started.listen(0, "127.0.0.1", resolve));
  open.push(() => (started.close(), started.closeAllConnections()));
  return `http://127.0.0.1:${started.address().port}`;
}

/** An answer that is not a host's: a page of something in front of it. */
const page = (status) => (_, response) => response.writeHead(status, { "Content-Type": "text/html" }).end("<h1>It works</h1>");

function following(Client, url, options) {
  const client = new Client({ url, token: "t", ...options });
  open.push(() => client.close());
  return client;
}

const thrown = (call) => {
  try {
    call();
  } catch (error) {
    return error;
  }
  return assert.fail("the call did not throw");
};

describe("options", () => {
  const url = "https://till.example";
  const valid = { tokenUrl: `${url}/oauth2/token`, clientId: "a", clientSecret: "b", audience: "c" };
  for (const [what, call, faults] of [
    ["no options", () => new CatalogClient(), ["the options must be an object"]],
    ["empty options of a catalog", () => new CatalogClient({}), [`$.url ${URL_FAULT}`, `$.token ${TOKEN_FAULT}`]],
    ["empty options of requests", () => new Host({}), [`$.url ${URL_FAULT}`, `$.token ${TOKEN_FAULT}`]],
    ["empty options of rates", () => new RatesClient({}), [`$.url ${URL_FAULT}`, `$.token ${TOKEN_FAULT}`, "the options must have a businessUnitId or a tenantId"]],
    ["an address without a scheme", () => new CatalogClient({ url: "till.example", token: "t" }), [`$.url ${URL_FAULT}`]],
    ["an address with a port and no scheme", () => new CatalogClient({ url: "localhost:8080", token: "t" }), [`$.url ${URL_FAULT}`]],
    ["an empty token", () => new CatalogClient({ url, token: "" }), [`$.token ${TOKEN_FAULT}`]],
    ["what is not a fetch", () => new CatalogClient({ url, token: "t", fetch: "fetch" }), ["$.fetch must be a function"]],
    ["a time that is not one", () => new CatalogClient({ url, token: "t", maxStaleMs: "1h" }), ["$.maxStaleMs must be a number of milliseconds"]],
    ["an empty shop", () => new RatesClient({ url, token: "t", businessUnitId: "" }), ["$.businessUnitId must be a string that is not empty"]],
    ["an option of a catalog that does not exist", () => new CatalogClient({ url, token: "t", maxAgeMs: 1, businessUnitId: "se-001" }), ["$.maxAgeMs is not an option", "$.businessUnitId is not an option"]],
    ["an option of requests that does not exist", () => new Host({ url, token: "t", timeout: 1 }), ["$.timeout is not an option"]],
    ["an option of rates that does not exist", () => new RatesClient({ url, token: "t", businessUnitID: "se-001" }), ["$.businessUnitID is not an option", "the options must have a businessUnitId or a tenantId"]],
    ["an option of credentials that does not exist", () => clientCredentials({ ...valid, scope: "all" }), ["$.scope is not an option"]],
    ["an option of decisions on record that does not exist", () => new CatalogClient({ url, token: "t", report: { till: "a", shop: "se-001" } }), ["$.report.shop is not an option"]],
    ["a storage that stores nothing", () => new CatalogClient({ url, token: "t", snapshot: { get() {} } }), ["$.snapshot.set must be a function"]],
    ["no credentials", () => clientCredentials(), ["the options must be an object"]],
    ["a missing secret", () => clientCredentials({ ...valid, clientSecret: undefined }), ["$.clientSecret must be a string that is not empty"]],
    ["a token service without a scheme", () => clientCredentials({ ...valid, tokenUrl: "/oauth2/token" }), [`$.tokenUrl ${URL_FAULT}`]],
  ]) {
    test(`refused where they are given: ${what}`, () => {
      const error = thrown(call);
      assert.ok(error instanceof TillgateError);
      assert.deepEqual([error.code, error.message], ["invalid", faults.join("; ")]);
    });
  }

  test("of waiting are refused too", async () => {
    const address = await server(() => {});
    for (const client of [following(CatalogClient, address), following(RatesClient, address, { businessUnitId: "se-001" })]) {
      const faults = "$.timeout is not an option; $.signal must be an AbortSignal; $.timeoutMs must be a number of milliseconds";
      await assert.rejects(client.ready({ timeout: 1, signal: "stop", timeoutMs: "1s" }), { code: "invalid", message: faults });
    }
  });

  test("an address may be a URL, with a path and a slash at its end", async () => {
    const paths = [];
    const address = await server((request, response) => (paths.push(request.url), page(200)(request, response)));
    const error = await new Host({ url: new URL(`${address}/tills/`), token: "t" }).evaluateBasket(REQUEST).catch((error) => error);
    assert.deepEqual([error.code, paths], ["wrong_host", ["/tills/api/v1/evaluations"]]);
  });
});

describe("arguments that are left out", () => {
  test("are named, of requests to the host too", async () => {
    const host = new Host({ url: "https://till.example", token: "t", fetch: () => assert.fail("a request was sent") });
    for (const [call, message] of [
      [() => host.evaluateCondition(), "$.conditionId must be the id of a condition"],
      [() => host.evaluateCondition("alcohol"), "the request is missing"],
      [() => host.evaluateProjectRestrictions(), "the request is missing"],
      [() => host.evaluateBasket(), "the request is missing"],
    ]) {
      await assert.rejects(call(), { name: "TillgateError", code: "invalid", message });
    }
  });

  test("of a delivery are an error with a code", async () => {
    const verifier = new WebhookVerifier({ scheme: "BASIC", username: "u", password: "p" });
    await assert.rejects(verifier.verify(), { code: "invalid", path: "$.headers" });
  });
});

describe("an address that is not a host's", () => {
  for (const [what, answer] of [
    ["a page of an error", page(404)],
    ["an error of another API", (_, response) => response.writeHead(404, { "Content-Type": "application/json" }).end('{"statusCode":404,"message":"Not Found"}')],
    ["a problem document of another API", (_, response) => response.writeHead(404, { "Content-Type": "application/problem+json" }).end('{"title":"Not Found"}')],
    ["a page", page(200)],
  ]) {
    test(`that answers with ${what} is told from an unknown condition`, async () => {
      const url = await server(answer);
      await assert.rejects(new Host({ url, token: "t" }).evaluateCondition("alcohol", REQUEST), (error) => {
        assert.equal(error.code, "wrong_host");
        assert.match(error.message, /^http\S+ is not the address of a Tillgate host: it has sent /);
        return true;
      });
    });

    test(`that answers with ${what} is an error of clients, who need not wait for more`, async () => {
      const url = await server(answer);
      for (const client of [following(CatalogClient, url), following(RatesClient, url, { businessUnitId: "se-001" })]) {
        await assert.rejects(within(client.ready(), "the error of a wrong address"), { name: "TillgateError", code: "wrong_host" });
      }
    });
  }

  for (const [what, answer] of [["a page of an error", page(404)], ["a page", page(200)]]) {
    test(`nor a token service's, and answers with ${what}, is an error with a code`, async () => {
      const tokenUrl = await server(answer);
      const source = clientCredentials({ tokenUrl, clientId: "a", clientSecret: "b", audience: "c" });
      await assert.rejects(source(), { name: "TillgateError", code: "wrong_host" });
    });
  }
});

describe("waiting for a host that does not answer", () => {
  const clients = async () => {
    const url = await server(() => {});
    return [following(CatalogClient, url), following(RatesClient, url, { businessUnitId: "se-001" })];
  };

  test("ends after the time that is given, and says so", async () => {
    for (const client of await clients()) {
      const late = { name: "TillgateError", code: "unavailable", message: "the client is not ready after 10 ms" };
      await assert.rejects(within(client.ready({ timeoutMs: 10 }), "the end of waiting"), late);
      assert.equal(client.state, "STARTING");
    }
  });

  test("says what the last connection has failed with", async () => {
    const client = following(CatalogClient, "http://127.0.0.1:1");
    await within(new Promise((resolve) => client.addEventListener("error", resolve, { once: true })), "an error of the client");
    const late = { code: "unavailable", message: "the client is not ready after 0 ms: the host cannot be reached" };
    await assert.rejects(client.ready({ timeoutMs: 0 }), late);
  });

  test("ends with the reason of a signal", async () => {
    for (const client of await clients()) {
      const reason = new Error("the till was switched off");
      const controller = new AbortController();
      const ready = client.ready({ signal: controller.signal });
      controller.abort(reason);
      await assert.rejects(within(ready, "the end of waiting"), reason);
      await assert.rejects(client.ready({ signal: AbortSignal.abort(reason) }), reason);
    }
  });
});

describe("what fails on the way", () => {
  /** The first error that a client reports. */
  const errorOf = (client) => within(new Promise((resolve) => client.addEventListener("error", ({ error }) => resolve(error), { once: true })), "an error of the client");

  test("a stream that is cut is an error with a code", async () => {
    const url = await server((_, response) => {
      response.writeHead(200, { "Content-Type": "text/event-stream" });
      response.write(": heartbeat\n\n", () => response.destroy());
    });
    for (const client of [following(CatalogClient, url), following(RatesClient, url, { businessUnitId: "se-001" })]) {
      const error = await errorOf(client);
      assert.ok(error instanceof TillgateError && error.cause instanceof Error);
      assert.deepEqual([error.code, error.message], ["unavailable", "the connection to the host has ended"]);
    }
  });

  test("a stream that is not a catalog's is an error with a code", async () => {
    const url = await server((_, response) => response.writeHead(200, { "Content-Type": "text/event-stream" }).end("data: {\n\n"));
    const error = await errorOf(following(CatalogClient, url));
    assert.deepEqual([error.name, error.code], ["TillgateError", "unavailable"]);
  });

  test("an answer that is cut is an error with a code", async () => {
    const url = await server((_, response) => {
      response.writeHead(200, { "Content-Type": "application/json", "Content-Length": "100" });
      response.write("{", () => response.destroy());
    });
    await assert.rejects(new Host({ url, token: "t" }).evaluateBasket(REQUEST), { name: "TillgateError", code: "unavailable" });
  });

  test("a token source that throws is the cause of an error with a code", async () => {
    const cause = new Error("the vault is locked");
    const token = () => Promise.reject(cause);
    const host = new Host({ url: "https://till.example", token });
    await assert.rejects(host.evaluateBasket(REQUEST), { name: "TillgateError", code: "unavailable", message: "there is no token: the vault is locked", cause });
  });

  test("a request that its caller gives up is not an error of the package", async () => {
    const url = await server(() => {});
    const request = new Host({ url, token: "t" }).evaluateBasket(REQUEST, { signal: AbortSignal.abort() });
    await assert.rejects(request, { name: "AbortError" });
  });
});
