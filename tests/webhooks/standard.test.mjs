// Libraries of Standard Webhooks, in JavaScript and Python, and the package's verifier accept deliveries of the real program:
// before, during and after the replacement of a shared key.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { after, before, describe, test } from "node:test";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";

import { Webhook } from "standardwebhooks";

import { WebhookVerifier } from "../../js/src/runtime/webhook.node.js";
import { until, within } from "../support/wait.mjs";
import { DATA, receiver, shop } from "../support/webhook-shop.mjs";

const CREDENTIALS = { username: "till", password: "a password" };

let host;
const open = [];

before(async () => (host = await shop()));
after(async () => {
  for (const receiver of open) receiver.end();
  await host.end();
});

/** The receivers' verifiers of a delivery under a key, as the host has shown it: each returns its event, or throws. */
const VERIFIERS = {
  async standardwebhooks({ standardWebhooksSecret }, { headers, body }) {
    return new Webhook(standardWebhooksSecret).verify(body.toString(), headers);
  },
  async "standardwebhooks in Python"({ standardWebhooksSecret: secret }, { headers, body }) {
    const program = fileURLToPath(new URL("../support/verify_standard.py", import.meta.url));
    const python = spawn(process.env.PYTHON, [program]);
    python.stdin.end(JSON.stringify({ secret, headers, body: body.toString() }));
    const printed = Promise.all([text(python.stdout), text(python.stderr)]);
    const [envelope, refused] = await within(printed, "what standardwebhooks says of a delivery");
    if (refused) throw new Error(refused);
    return JSON.parse(envelope);
  },
  async "the package's verifier"({ sharedKey }, { distinct, body }) {
    const verifier = new WebhookVerifier({ scheme: "BASIC", ...CREDENTIALS, sharedKey, requireBodySignature: true });
    return verifier.verify({ headers: distinct, body });
  },
};

/** A webhook with a key that the host generated, and its receiver's requests. */
async function signed(settings) {
  const { url, received, end } = await receiver();
  open.push({ end });
  const authentication = { type: "BASIC", ...CREDENTIALS };
  const webhook = await host.webhook(url, { authentication, sharedKey: "generate", ...settings });
  const path = `/api/v1/webhooks/${webhook.id}`;
  return {
    webhook,
    received,
    path,
    rotate: (overlap) => host.asked(200, "POST", `${path}/shared-key?overlap=${overlap}`),
    /** Publishes an event; returns the receiver's request, and its id. */
    async deliver(more) {
      const event = await host.publish(webhook, more);
      await host.attempted(webhook, event);
      return { id: event.id, ...received.at(-1) };
    },
  };
}

for (const [name, verify] of Object.entries(VERIFIERS)) {
  const skip = name.endsWith("Python") && !process.env.PYTHON && "PYTHON is not set to a Python with standardwebhooks";
  describe(name, { skip }, () => {
    /** Asserts that a delivery is accepted under some keys, and refused under others. */
    async function assertVerified(delivery, { under, not }) {
      for (const key of under) assert.equal((await verify(key, delivery)).id, delivery.id);
      for (const key of not) await assert.rejects(verify(key, delivery));
    }

    test("accepts a delivery, and refuses one of which anything was changed", async () => {
      const { webhook, path, received, deliver } = await signed();
      const stranger = (await signed()).webhook;
      const delivery = await deliver();
      await assertVerified(delivery, { under: [webhook], not: [stranger] });
      for (const id of [`order.${webhook.id}`, `${"o".repeat(200)}ö${webhook.id}`]) {
        const other = await deliver({ id });
        assert.match(other.headers["webhook-id"], /^evt_[A-Za-z0-9_-]{22}$/);
        await assertVerified(other, { under: [webhook], not: [stranger] });
      }
      const later = String(Number(delivery.headers["webhook-timestamp"]) + 1);
      const withHeaders = (changes) => ({ ...delivery, headers: { ...delivery.headers, ...changes }, distinct: { ...delivery.distinct, ...changes } });
      for (const changed of [
        { ...delivery, body: Buffer.from(`${delivery.body} `) },
        withHeaders({ "webhook-id": `${delivery.id}x` }),
        withHeaders({ "webhook-timestamp": later }),
        withHeaders({ "webhook-signature": delivery.headers["webhook-signature"].replace("v1,", "v1a,") }),
      ]) {
        await assertVerified(changed, { under: [], not: [webhook] });
      }
      const { id } = await host.asked(202, "POST", `${path}/ping`);
      await host.attempted(webhook, { id });
      await assertVerified({ id, ...received.at(-1) }, { under: [webhook], not: [stranger] });
    });

    test("accepts every delivery before, during and after a rotation with an overlap", async () => {
      const { webhook: old, path, received, rotate, deliver } = await signed();
      const stranger = (await signed()).webhook;
      await assertVerified(await deliver(), { under: [old], not: [stranger] });

      // Accepted before the rotation, and delivered after it.
      const { sharedKey, standardWebhooksSecret, ...settings } = old;
      const authentication = { type: "BASIC", ...CREDENTIALS };
      await host.asked(200, "PUT", path, { ...settings, authentication, enabled: false });
      const waiting = await host.publish(old);
      const fresh = await rotate("24h");
      await host.asked(200, "PUT", path, { ...settings, authentication, enabled: true });
      await host.attempted(old, waiting);
      await assertVerified({ id: waiting.id, ...received.at(-1) }, { under: [fresh, old], not: [stranger] });
      await assertVerified(await deliver(), { under: [fresh, old], not: [stranger] });
      assert.equal((await host.asked(200, "GET", path)).previousSharedKeyEndsAt, fresh.previousSharedKeyEndsAt);

      // The next rotation ends the first key at once, and its own overlap is over soon.
      const newest = await rotate("1s");
      const hasEnded = async () => (await host.asked(200, "GET", path)).previousSharedKeyEndsAt === undefined;
      await until(hasEnded, "the overlap ends");
      await assertVerified(await deliver(), { under: [newest], not: [fresh, old, stranger] });
    });
  });
}

test("the package's verifier may have both keys of a rotation", async () => {
  const { webhook, rotate, deliver } = await signed();
  const { sharedKey } = await rotate("1h");
  const delivery = await deliver();
  for (const keys of [[sharedKey, webhook.sharedKey], [webhook.sharedKey, sharedKey]]) {
    const { data } = await VERIFIERS["the package's verifier"]({ sharedKey: keys }, delivery);
    assert.deepEqual(data, DATA);
  }
});
