// A long list of values, without a page: values are added, removed, repeated and found, and written lists are read again.
//
//     node --test tests/page/value-list.test.mjs

import assert from "node:assert/strict";
import { test } from "node:test";

import { MAX_VALUES, adding, finding, hasKinds, leaving, listing, reportText, settling, valuesWithKinds, writing } from "../../www/rules/value-list.js";
import { parseCsv } from "../../www/shared/csv.js";

/** The result of steps, without pauses. */
const done = (steps) => {
  for (;;) {
    const { done: isDone, value } = steps.next();
    if (isDone) return value;
  }
};

const ODD = [" a ", "A", "a", "", "two\nlines", "=cmd()", "'", "true", true, false, "a,b;c", "ä"];

const listOf = (values, stored = values) => {
  const set = done(settling(stored));
  return { set, list: done(listing(values, set)) };
};

test("values are counted against those that are stored", () => {
  const { set, list } = listOf(["a", "b", "c"]);
  const more = done(adding(list, set, ["d", "a", "d", "e"]));
  assert.deepEqual(more.list.values, ["a", "b", "c", "d", "e"]);
  assert.deepEqual([more.list.added, more.list.removed], [2, 0]);
  const less = done(leaving(more.list, set, new Set([0, 3])));
  assert.deepEqual(less.values, ["b", "c", "e"]);
  assert.deepEqual([less.added, less.removed], [1, 1]);
  assert.deepEqual(list.values, ["a", "b", "c"], "the list before is what it was");
});

test("texts that differ by case, by blanks or in kind are different values", () => {
  const { set, list } = listOf([]);
  const { list: all, report } = done(adding(list, set, ODD));
  assert.deepEqual(all.values, ODD);
  assert.deepEqual([report.added, report.known, report.twice, report.edged], [ODD.length, 0, 0, 1]);
});

test("what is repeated in what is stored is shown, and stays until it is removed", () => {
  const { set, list } = listOf(["a", "b", "a", true, "true", true]);
  assert.deepEqual(list.values, ["a", "b", "a", true, "true", true]);
  assert.deepEqual(done(finding(list, set, { sought: "", shown: "twice" })), [2, 5]);
  const once = done(leaving(list, set, list.repeats));
  assert.deepEqual(once.values, ["a", "b", true, "true"]);
  assert.deepEqual([once.added, once.removed], [0, 0]);
});

test("what is sought is found in either case, and among what was added", () => {
  const { set, list } = listOf(["Timber", "glass", true, "TIM"], ["glass"]);
  assert.deepEqual(done(finding(list, set, { sought: "tim", shown: "all" })), [0, 3]);
  assert.deepEqual(done(finding(list, set, { sought: "YES", shown: "all" })), [2]);
  assert.deepEqual(done(finding(list, set, { sought: "", shown: "added" })), [0, 2, 3]);
});

test("a value over 256 bytes is left out and named, not one of 256", () => {
  const { set, list } = listOf([]);
  const { list: next, report } = done(adding(list, set, ["x".repeat(256), "ä".repeat(129), "ä".repeat(128), "y".repeat(300)]));
  assert.deepEqual(next.values, ["x".repeat(256), "ä".repeat(128)]);
  assert.equal(reportText(report), `2 values were added. 2 values were left out as too long: ${"ä".repeat(24)}…, ${"y".repeat(24)}…. A value may have 256 characters; some, such as ä, count more than once.`);
});

test("more values than a project may have add none", () => {
  const { set, list } = listOf(["a"]);
  const many = function* () {
    for (let at = 0; at < MAX_VALUES; at += 1) yield `v${at}`;
  };
  const { list: next, report } = done(adding(list, set, many()));
  assert.equal(next, list);
  assert.equal(reportText(report), "Nothing was added: a project may have 100,000 values, and with these it would have more.");
});

test("what adding has done is said in words", () => {
  const report = { added: 1, known: 2, twice: 1, edged: 1, tooLong: 0, examples: [] };
  assert.equal(reportText(report), "1 value was added. 2 values are in the list already. 1 value was repeated. 1 value begins or ends with a space.");
  assert.equal(reportText({ ...report, added: 0, known: 0, twice: 0, edged: 0 }), "No value was added.");
});

test("what is written is read again as it was, also yes and no beside the texts", () => {
  for (const values of [ODD, ODD.filter((value) => typeof value === "string"), ["value", "kind"], [true]]) {
    const { list } = listOf(values);
    const { rows, faults } = parseCsv(done(writing(list)).join(""));
    assert.deepEqual(faults, []);
    assert.deepEqual(hasKinds(rows) ? [...valuesWithKinds(rows)] : rows.map(([value]) => value), values);
  }
});
