// A tenant with many rules and webhooks, like a chain of shops.

import { clientWith, emptyHost } from "./program.mjs";

/** The requests sent at once. */
const AT_ONCE = 8;

const numbered = (name, at) => `${name}-${String(at).padStart(4, "0")}`;

/** The ids of the rules that `manyRules` writes: every second condition is about a license. */
export const conditionId = (at) => numbered("condition", at);
export const projectId = (at) => `5f0f1a2b-0000-4000-8000-${String(at).padStart(12, "0")}`;

const condition = (at) => (at % 2 === 0 ? { rule: "AGE_RESTRICTION", condition_value: { minimum_age: 18 } } : { rule: "LICENSE_REQUIREMENT", condition_value: {} });

const project = (at) => ({
  name: numbered("Project", at),
  restrictions: [
    { type: "WHITELIST", propertyName: "productGroup", allowedValues: Array.from({ length: 10 }, (_, each) => `group-${each}`) },
    { type: "BLACKLISTEDITEMS", itemIds: Array.from({ length: 20 }, (_, each) => `item-${at}-${each}`) },
  ],
});

const webhook = (at) => ({
  name: numbered("Webhook", at),
  callbackUrl: `https://receiver.example/${at}`,
  eventTypes: ["orders.events.v1"],
  authentication: { type: "BEARER" },
});

/** Starts a host with a tenant of this size; returns the result of `clientWith` for its client, and `end`. */
export async function hostWithMany({ conditions = 0, projects = 0, webhooks = 0 }) {
  const operator = await emptyHost();
  try {
    const client = await clientWith(operator, ["ecs.editor", "ecs.evaluator", "exe.editor"], "many");
    await each(conditions, (at) => client.api("PUT", `/api/v1/entity-conditions/${conditionId(at)}`, condition(at)));
    await each(projects, (at) => client.api("PUT", `/api/v1/projects/${projectId(at)}`, project(at)));
    await each(webhooks, (at) => client.api("POST", "/api/v1/webhooks", webhook(at)));
    return { ...client, end: operator.end };
  } catch (error) {
    await operator.end();
    throw error;
  }
}

/** Sends the requests that create things, several at once. */
async function each(count, send) {
  let next = 0;
  const worker = async () => {
    while (next < count) {
      const answer = await send(next++);
      const text = await answer.text();
      if (answer.status !== 201) throw new Error(`${answer.status}: ${text}`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}
