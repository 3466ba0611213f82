// The page decides which events a filter lets through like the host: both run the vectors of `tests/webhooks/filters.json`,
// the host in `tests/webhooks/filters.rs`, the page here and in a browser (`tests/page/webhook-filters.test.mjs`).
//
//     node --test tests/webhooks/filters.test.mjs

import assert from "node:assert/strict";
import { test } from "node:test";

import { eventOf, matches } from "../../www/webhooks/event-filter.js";
import { parseExactly } from "../../www/webhooks/exact-json.js";
import { VECTORS, exactly } from "../support/filter-vectors.mjs";

assert.notEqual(VECTORS.length, 0);
for (const { name, filter, envelope, matches: expected } of VECTORS) {
  test(name, () => assert.equal(exactly(() => matches(parseExactly(filter), eventOf(envelope))), expected));
}
