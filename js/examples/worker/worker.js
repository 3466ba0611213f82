// An edge worker. Its runtime compiles WebAssembly only at deployment, so the module is a file beside this one. Write it
// before each build:
//
//     node --input-type=module -e 'import { bytes } from "tillgate/module"; process.stdout.write(await bytes())' > tillgate.wasm

import { Catalog, TillgateError, initSync } from "tillgate";

import module from "./tillgate.wasm";

initSync(module);

const catalog = new Catalog({
  global: [{ id: "alcohol", rule: "AGE_RESTRICTION", condition_value: { minimum_age: 18 } }],
  tenant: [],
});

export default {
  async fetch(request) {
    try {
      const conditionId = new URL(request.url).pathname.slice(1);
      return Response.json(catalog.evaluateCondition(conditionId, await request.json()));
    } catch (error) {
      if (!(error instanceof TillgateError)) throw error;
      return Response.json({ code: error.code, faults: error.faults }, { status: error.status ?? 500 });
    }
  },
};
