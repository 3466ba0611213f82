// Decides about a basket in an app that Vite bundles.

import { Catalog, describe, init } from "tillgate";

await init();

const catalog = new Catalog({
  global: [{ id: "alcohol", rule: "AGE_RESTRICTION", condition_value: { minimum_age: 18 } }],
  tenant: [{ id: "tobacco", rule: "LICENSE_REQUIREMENT", condition_value: {} }],
});

const { items } = catalog.evaluateBasket({
  items: [{ id: "bread" }, { id: "beer-0.5l", conditionIds: ["alcohol"] }, { id: "cigars-10", conditionIds: ["tobacco"] }],
  context: {},
});

const questions = items.flatMap(({ results }) => results).filter(({ decision }) => decision === "SOFT_DENY");
document.getElementById("questions").append(
  ...questions.map(({ reason }) => Object.assign(document.createElement("li"), { textContent: describe(reason) })),
);
