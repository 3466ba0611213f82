// An edge worker whose modules are compiled at deployment. The package loads its own module that way and is ready on
// import.

import { Catalog, TillgateError } from "tillgate";

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
