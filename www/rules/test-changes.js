/**
 * The changes between two versions of a rule's tests.
 */

import { change, shownValues } from "../shared/difference.js";
import { isolated } from "../shared/locale.js";
import { askedText, expectedText } from "./test-wording.js";

/** The changes: tests that were added, removed or renamed, and those that ask or expect something else. */
export function testChanges(before = [], after = []) {
  const left = new Set(before);
  const take = (of) => (test) => {
    const found = [...left].find((each) => of(each) === of(test));
    left.delete(found);
    return found;
  };
  // A test is the same if nothing of it changed, or else if it asks and expects the same, or else if it has the same name.
  const pairs = new Map(after.map((test) => [test, undefined]));
  for (const of of [JSON.stringify, contentOf, ({ name }) => name]) {
    for (const [test, found] of pairs) if (found === undefined) pairs.set(test, take(of)(test));
  }
  const added = after.filter((test) => pairs.get(test) === undefined).map(({ name }) => name);
  const removed = [...left].map(({ name }) => name);
  return [
    removed.length > 0 && { label: removed.length === 1 ? "Test removed" : "Tests removed", removed: shownValues(removed, "test"), added: [] },
    added.length > 0 && { label: added.length === 1 ? "Test added" : "Tests added", removed: [], added: shownValues(added, "test") },
    ...[...pairs].filter(([, old]) => old !== undefined).flatMap(([test, old]) => [
      change("Test renamed", old.name, test.name),
      contentOf(old) !== contentOf(test) && { label: `Test changed: ${isolated(test.name)}`, removed: [testText(old)], added: [testText(test)] },
    ]),
  ].filter(Boolean);
}

const contentOf = ({ request, expect }) => JSON.stringify([request, expect]);

const testText = ({ request, expect }) => `${askedText(request)}: ${expectedText(expect)}`;
