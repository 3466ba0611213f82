// The cost of a decision in JavaScript, object in and object out, compared with JSON.parse of the same input and
// JSON.stringify of the same output. Runs in Node and in browsers.

const BATCH = 2_000;
const BATCHES = 250;

/** Five restrictions, one of each type; one has 100 ids (`samples.rs`). */
const RESTRICTIONS = [
  { type: "WHITELIST", propertyName: "productGroup", allowedValues: ["timber", "fasteners", "insulation"] },
  { type: "BLACKLIST", propertyName: "brand", deniedValues: ["umbrella", "initech"] },
  { type: "BOOLEAN", propertyName: "hazardous", value: false },
  { type: "WHITELISTEDITEMS", itemIds: Array.from({ length: 100 }, (_, id) => `item-${String(id).padStart(3, "0")}`) },
  { type: "BLACKLISTEDITEMS", itemIds: ["item-900", "item-901"] },
];

/** A text of `samples.rs`. */
const sample = (samples, name) => samples.match(new RegExp(`${name}: &str =\\s*r#"(.*)"#`))[1];

/** The requests in the text of `samples.rs`, and how each is decided. */
export function questions({ Catalog }, samples) {
  const item = sample(samples, "ITEM_REQUEST");
  const projects = [{ projectId: JSON.parse(item).projectId, restrictions: RESTRICTIONS }];
  const catalog = new Catalog({ ...JSON.parse(sample(samples, "CATALOG")), projects });
  return {
    age: { text: sample(samples, "AGE_REQUEST"), decide: (request) => catalog.evaluateCondition("alcohol", request) },
    five: { text: item, decide: (request) => catalog.evaluateProjectRestrictions(request) },
  };
}

/** The nanoseconds of each call: the minimum of many batches, run in turn, so that a busy machine affects all alike. */
export function time(calls, turns = BATCH) {
  const least = calls.map(() => Infinity);
  for (let batch = 0; batch < BATCHES; batch += 1) {
    calls.forEach((call, at) => {
      const begin = performance.now();
      for (let turn = 0; turn < turns; turn += 1) call();
      least[at] = Math.min(least[at], ((performance.now() - begin) * 1e6) / turns);
    });
  }
  return least;
}

/** The milliseconds for 10,000 rows in one call, objects in and objects out: the minimum of many calls. */
export function measureRows({ Catalog }, samples) {
  const { projectId } = JSON.parse(sample(samples, "ITEM_REQUEST"));
  const tenant = [{ id: "alcohol", rule: "AGE_RESTRICTION", condition_value: { minimum_age: 18 } }];
  const catalog = new Catalog({ global: [], tenant, projects: [{ projectId, restrictions: RESTRICTIONS }] });
  const rows = (row) => Array.from({ length: 10_000 }, (_, number) => row(number));
  const aged = rows((number) => ({ id: `beer-${number}`, customer_age: number % 100, licenses: ["hunting"] }));
  const items = rows((number) => {
    const additionalProperties = { productGroup: number % 2 ? "paint" : "timber", brand: "acme", hazardous: false, organic: number % 3 === 0 };
    return { id: `item-${number}`, additionalProperties };
  });
  const least = (decide) => {
    const times = Array.from({ length: 30 }, () => {
      const begin = performance.now();
      kept = decide();
      return performance.now() - begin;
    });
    return Math.min(...times);
  };
  return {
    age: least(() => catalog.evaluateMany({ conditionId: "alcohol" }, aged)),
    five: least(() => catalog.evaluateMany({ projectId }, items)),
  };
}

let kept;

/** `{ decision, json, ratio }` for each request. */
export function measure(tillgate, samples) {
  const figures = {};
  for (const [name, { text, decide }] of Object.entries(questions(tillgate, samples))) {
    const request = JSON.parse(text);
    const answer = decide(request);
    const [json, decision] = time([
      () => {
        kept = JSON.parse(text);
        kept = JSON.stringify(answer);
      },
      () => {
        kept = decide(request);
      },
    ]);
    figures[name] = { decision, json, ratio: decision / json };
  }
  return figures;
}

/** The result of the last call, so that no call can be optimized away. */
export const last = () => kept;
