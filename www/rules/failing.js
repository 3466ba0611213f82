/**
 * The mark of listed rules whose own tests fail. The catalog that the page follows has no tests: those of all rules are read
 * once when a list is opened, and run while the browser is idle, one row at a time, for drawn rows only.
 */

import { runTests } from "../../js/src/index.js";
import { h } from "../shared/dom.js";
import { icon } from "../shared/icon.js";
import { counted } from "../shared/messages.js";
import { valueCount } from "./rule-values.js";

/** Rules with more values have no mark: their tests would take too long. Their editor shows the result. */
const MAX_VALUES = 2000;

const whenIdle = globalThis.requestIdleCallback?.bind(globalThis) ?? ((run) => setTimeout(run, 50));

/** The tests read last, by session. */
const last = new WeakMap();

/**
 * The marks of a list: a function that appends the mark of a row to its tags once it is known. A row is
 * `{ rule, key, path, document }`: its rule as in the catalog, its name there, its path on the host, and a function that makes
 * the module's input of it and its tests.
 */
export function failingMarks(session) {
  const waiting = [];
  let isLooking = false;
  let reading;

  /** Checks one drawn row; those drawn last come first. */
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
 * listed before, and `known` which of their tests fail.
 */
async function readTests(session) {
  const before = last.get(session);
  // Without any tests the catalog with tests is the known one.
  const etag = before?.etag ?? `"${session.digest}"`;
  // A rule that changes during the reading may have changed before or after the host read it.
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

/** The names of a rule's failing tests. If the rule changed since, its tests are read again. */
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
    // The module cannot read what a newer host has stored.
    return [];
  }
}

function show(tags, names) {
  if (names.length === 0) return;
  tags.append(h("span", { class: "tag forbids", title: names.join("\n") }, icon("alert"), `${counted(names.length, "test")} ${names.length === 1 ? "fails" : "fail"}`));
}
