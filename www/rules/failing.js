/**
 * The mark of rules in the lists whose own tests fail. The catalog that the page follows has no tests: those of all rules are
 * read once when a list is opened, and run while the browser has nothing else to do, for one row at a time and only for rows
 * that are drawn.
 */

import { runTests } from "../../js/src/index.js";
import { h } from "../shared/dom.js";
import { icon } from "../shared/icon.js";
import { counted } from "../shared/messages.js";
import { valueCount } from "./rule-values.js";

/** Rules with more values have no mark: running their tests would take too long. Their editor says it. */
const MAX_VALUES = 2000;

const whenIdle = globalThis.requestIdleCallback?.bind(globalThis) ?? ((run) => setTimeout(run, 50));

/** What was read last for a session. */
const last = new WeakMap();

/**
 * The marks of a list: a function that appends the mark of a row to its tags once it is found out. A row is `{ rule, key,
 * path, document }`: its rule as the catalog has it, its name there, where the host has it, and what makes of it and its tests
 * what the module runs.
 */
export function failingMarks(session) {
  const waiting = [];
  let isLooking = false;
  let reading;

  /** Looks at one row that is still drawn; the last ones to be drawn come first. */
  async function next() {
    const row = waiting.pop();
    if (row.tags.isConnected) {
      const read = await (reading ??= readTests(session)).catch(() => (reading = undefined));
      if (read !== undefined) show(row.tags, await failuresOf(session, read, row));
    }
    isLooking = waiting.length > 0;
    if (isLooking) whenIdle(next);
  }

  return (tags, row) => {
    if (valueCount(row.rule) > MAX_VALUES) return;
    waiting.push({ tags, ...row });
    if (!isLooking) whenIdle(next);
    isLooking = true;
  };
}

/**
 * The tests of all rules that have any, by their names in the catalog: `{ etag, tests, seen, known }`. `seen` has the rules
 * that were listed before, and `known` which of their tests fail.
 */
async function readTests(session) {
  const before = last.get(session);
  // Without any tests the catalog with tests is the one that is known.
  const etag = before?.etag ?? `"${session.digest}"`;
  // A rule that changes while this is read may have changed before or after the host has read it.
  const seen = new WeakSet([...session.conditions(), ...session.projects()]);
  const response = await session.request("/api/v1/catalog?tests=true", { headers: { "If-None-Match": etag } });
  if (response.status === 304 && before !== undefined) return before;
  const { global = [], tenant = [], projects = [] } = response.status === 304 ? {} : await response.json();
  const all = [...[...global, ...tenant].map((rule) => [`${rule.scope} ${rule.id}`, rule]), ...projects.map((rule) => [rule.projectId, rule])];
  const tests = new Map(all.filter(([, rule]) => rule.tests?.length > 0).map(([key, rule]) => [key, rule.tests]));
  const read = { etag: response.headers.get("ETag") ?? etag, tests, seen, known: new WeakMap() };
  last.set(session, read);
  return read;
}

/** The names of the tests of a rule that fail. Those of a rule that has changed since are read again. */
async function failuresOf(session, { tests, seen, known }, { rule, key, path, document }) {
  if (known.has(rule)) return known.get(rule);
  const own = seen.has(rule) ? tests.get(key) : await session.read(path).then(({ body }) => body.tests, () => undefined);
  known.set(rule, own === undefined ? [] : failing(document(own)));
  return known.get(rule);
}

function failing(document) {
  try {
    return runTests(document).failed.map(({ name }) => name);
  } catch {
    // The module cannot read what a later host has stored.
    return [];
  }
}

function show(tags, names) {
  if (names.length === 0) return;
  tags.append(h("span", { class: "tag forbids", title: names.join("\n") }, icon("alert"), `${counted(names.length, "test")} ${names.length === 1 ? "fails" : "fail"}`));
}
