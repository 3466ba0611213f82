// `tillgate/webhook` and the headers of Standard Webhooks, in the forms of different runtimes. Other acceptances and refusals
// are in `receiver/deliveries.json`.

import assert from "node:assert/strict";
import { test } from "node:test";

import { TillgateError } from "../../js/src/runtime/node.js";
import { WebhookError, WebhookVerifier } from "../../js/src/runtime/webhook.node.js";
import { SHARED_KEY, delivery, standardHeaders } from "../support/webhook-sender.mjs";

const NOW = 1_795_306_511_000;
const OLD_KEY = "the key that is being replaced";

const verifier = (options) => new WebhookVerifier({ scheme: "BASIC", username: "till", password: "pw", sharedKey: SHARED_KEY, now: () => NOW, ...options });

/** A delivery during a rotation, `ageS` seconds old: headers with one signature use the old key. */
function sent({ ageS = 0, ...changes } = {}) {
  const made = delivery({ authorization: `Basic ${btoa("till:pw")}`, now: NOW, key: OLD_KEY });
  const standard = standardHeaders({ t: NOW / 1000 - ageS, body: made.body.toString(), keys: [SHARED_KEY, OLD_KEY] });
  return { headers: { ...made.headers, ...standard, ...changes }, body: made.body };
}

test("both keys of a rotation are in any form of the headers", async () => {
  const { headers, body } = sent();
  const pairs = Object.entries(headers);
  const forms = [headers, new Headers(headers), new Map(pairs), pairs, pairs.flat(), Object.fromEntries(pairs.map(([name, value]) => [name.toUpperCase(), [value]]))];
  for (const form of forms) {
    for (const sharedKey of [SHARED_KEY, OLD_KEY, [SHARED_KEY, OLD_KEY]]) {
      assert.equal((await verifier({ sharedKey, requireBodySignature: true }).verify({ headers: form, body })).id, "e-1");
    }
  }
});

test("a delivery may be as old as the tolerance, and no older", async () => {
  const outcome = (options, ageS) => verifier(options).verify(sent({ ageS })).then(({ id }) => id, ({ code }) => code);
  assert.equal(await outcome({}, 300), "e-1");
  assert.equal(await outcome({}, 301), "body_signature_too_old");
  assert.equal(await outcome({}, -301), "body_signature_too_new");
  assert.equal(await outcome({ toleranceSeconds: 3600 }, 3600), "e-1");
});

test("texts that no header can have are refused like any other", async () => {
  for (const name of ["webhook-id", "webhook-timestamp", "webhook-signature"]) {
    for (const text of ["\ud800", "a\nb", undefined]) {
      const refused = verifier().verify(sent({ [name]: text }));
      await assert.rejects(refused, (error) => error instanceof WebhookError && error.code === "malformed_signature", `${name}: ${JSON.stringify(text)}`);
    }
  }
});

for (const [name, path, options] of [
  ["for more keys than a rotation has", "$.sharedKey", { sharedKey: Array(5).fill(SHARED_KEY) }],
  ["with a header of Standard Webhooks for the signature of the data", "$.signatureHeader", { signatureHeader: "Webhook-Signature" }],
]) {
  test(`a verifier is not made ${name}`, () => {
    assert.throws(() => verifier(options), (error) => error instanceof TillgateError && error.code === "invalid" && error.path === path);
  });
}
