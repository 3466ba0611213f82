// A web worker that decides with the module that it receives.

import { Catalog, init, initSync } from "../../js/src/runtime/browser.js";

onmessage = async ({ data }) => {
  if (data === undefined) await init();
  else initSync(data);
  const catalog = new Catalog({ global: [], tenant: [{ id: "beer", rule: "AGE_RESTRICTION", condition_value: { minimum_age: 18 } }] });
  postMessage(catalog.evaluateCondition("beer", { item: { id: "a" }, context: {} }).results[0].decision);
};
postMessage("ready");
