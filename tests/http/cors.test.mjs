// Pages of other origins in Chromium: what a configured one may send and read, and that others may not.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { browser, open } from "../support/browser.mjs";
import { AUDIENCE, emptyHost } from "../support/program.mjs";
import { serve } from "../support/serve.mjs";
import { within } from "../support/wait.mjs";

const POLICY = "default-src 'self'; connect-src *; script-src 'self' 'unsafe-eval'";

let context, site, other, host;
before(async () => {
  [site, other] = [await serve(".", { policy: POLICY }), await serve(".", { policy: POLICY })];
  host = await emptyHost({ TILLGATE_CORS__ORIGINS: JSON.stringify([site.url]) });
  context = await browser();
});
after(async () => {
  await context.close();
  await host.end();
  site.end();
  other.end();
});

/** The result in a page that has the host and its operator's credentials. */
async function call({ url, clientId, clientSecret, audience }) {
  const basic = `Basic ${btoa(`${clientId}:${clientSecret}`)}`;
  const body = new URLSearchParams({ grant_type: "client_credentials", audience });
  const granted = await fetch(`${url}/oauth2/token`, { method: "POST", body, headers: { Authorization: basic } });
  const Authorization = `Bearer ${(await granted.json()).access_token}`;
  const condition = `${url}/api/v1/global-entity-conditions/beer`;
  const put = (minimum_age, more) =>
    fetch(condition, {
      method: "PUT",
      headers: { Authorization, "Content-Type": "application/json", ...more },
      body: JSON.stringify({ rule: "AGE_RESTRICTION", condition_value: { minimum_age } }),
    });
  const correlation = crypto.randomUUID();
  const made = await put(16, { "If-None-Match": "*", "Correlation-Id": correlation });
  const outdated = await put(18, { "If-Match": '"another"' });
  const replaced = await put(18, { "If-Match": made.headers.get("ETag") });
  const refused = await fetch(condition.replace("global-", ""), { headers: { Authorization: "Bearer x" } });
  const topic = await fetch(`${url}/api/v1/topics/cer.public.event.rates-changed.v1`, {
    headers: { Authorization, "Last-Event-ID": "latest" },
  });
  await topic.body.cancel();
  return {
    statuses: [granted, made, outdated, replaced, refused, topic].map(({ status }) => status),
    correlation: made.headers.get("Correlation-Id") === correlation,
    failing: replaced.headers.get("Tillgate-Failing-Tests"),
    challenge: refused.headers.get("WWW-Authenticate"),
    message: (await refused.json()).message,
  };
}

test("a page of an origin that is configured calls the API as any program does", async () => {
  const page = await open(context, `${site.url}/blank`);
  page.expected.push("status of 4");
  const { url, clientId, clientSecret } = host;
  const given = { url, clientId, clientSecret, audience: AUDIENCE };
  const got = await within(page.evaluate(call, given), "the page's calls");
  assert.deepEqual(got, {
    statuses: [200, 201, 412, 200, 401, 200],
    correlation: true,
    failing: "0",
    challenge: 'Bearer error="invalid_token"',
    message: got.message,
  });
  assert.match(got.message, /token/);
  assert.deepEqual(page.faults, []);
});

test("a page of another origin reads nothing, and sends nothing that needs to be asked for", async () => {
  const page = await open(context, `${other.url}/blank`);
  page.expected.push("CORS policy", "net::ERR_FAILED", "status of 4");
  const read = (url, options) => fetch(url, options).then(({ status }) => status, ({ name }) => name);
  for (const [path, options] of [
    ["/healthz", {}],
    ["/oauth2/token", { method: "POST", headers: { Authorization: "Basic eDp5" } }],
  ]) {
    const got = page.evaluate(`(${read})(${JSON.stringify(host.url + path)}, ${JSON.stringify(options)})`);
    assert.equal(await within(got, path), "TypeError", path);
  }
  assert.deepEqual(page.faults, []);
});
