// `tillgate/webhook` answers every delivery of `tests/receiver` as written there, like the Rust receiver.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { WebhookError, WebhookVerifier } from "../../js/src/runtime/webhook.node.js";

const file = new URL("../receiver/deliveries.json", import.meta.url);
const { verifiers, certificates, deliveries } = JSON.parse(readFileSync(file, "utf8"));

const verifierOf = ({ verifier, now }) => {
  const options = { ...verifiers[verifier], now: () => now * 1000 };
  return new WebhookVerifier(options.scheme === "BEARER" ? { ...options, certificates } : options);
};

const bodyOf = ({ body, bodyBase64 }) => Buffer.from(body ?? bodyBase64, body === undefined ? "base64" : "utf8");

async function answerOf(verifier, delivery) {
  try {
    return { id: (await verifier.verify({ headers: delivery.headers, body: bodyOf(delivery) })).id };
  } catch (error) {
    assert.ok(error instanceof WebhookError, error);
    return { code: error.code, status: error.status };
  }
}

for (const delivery of deliveries) {
  test(`${delivery.name} (${delivery.answer.code ?? "accepted"})`, async () => {
    const verifier = verifierOf(delivery);
    // Twice, because an accepted token is remembered.
    for (const _ of [1, 2]) assert.deepEqual(await answerOf(verifier, delivery), delivery.answer);
  });
}
