// Decides in a page without a build step. Works under `script-src 'self' 'wasm-unsafe-eval'`.

import { Catalog, describe, init } from "./tillgate/src/runtime/browser.js";

await init();

const catalog = new Catalog({
  global: [],
  tenant: [{ id: "beer", rule: "AGE_RESTRICTION", condition_value: { minimum_age: 18 } }],
});

const age = document.getElementById("age");
const output = document.getElementById("decision");

function decide() {
  const customer = age.value === "" ? {} : { customer_age: Number(age.value) };
  const { allow, results } = catalog.evaluateCondition("beer", { item: { id: "beer-0.5l" }, context: { customer } });
  output.textContent = allow ? "Sell it." : describe(results[0].reason);
}

age.addEventListener("input", decide);
decide();
