/**
 * The mark of projects in the list for which nothing may be bought. It is found out while the browser has nothing else to do,
 * for one row at a time and only for rows that are drawn, and is known from then on until the project changes.
 */

import { findings } from "../../js/src/index.js";
import { h } from "../shared/dom.js";
import { icon } from "../shared/icon.js";
import { valueCount } from "./rule-values.js";

/** Projects with more values have no mark: looking for it would take too long. Their editor says it. */
const MAX_VALUES = 2000;

/** What is known of a project: the message, or undefined when something can be bought. */
const known = new WeakMap();
const waiting = [];

const whenIdle = globalThis.requestIdleCallback?.bind(globalThis) ?? ((run) => setTimeout(run, 50));

/** Appends the mark of a project to its tags, now or once it is found out. */
export function markForbidding(tags, project) {
  if (known.has(project)) return show(tags, known.get(project));
  if (valueCount(project) > MAX_VALUES) return;
  waiting.push({ tags, project });
  if (waiting.length === 1) whenIdle(next);
}

/** Looks at one row that is still drawn; the last ones to be drawn come first. */
function next() {
  const { tags, project } = waiting.pop();
  if (tags.isConnected) show(tags, (known.has(project) || known.set(project, messageOf(project)), known.get(project)));
  if (waiting.length > 0) whenIdle(next);
}

function messageOf(project) {
  try {
    return findings({ project }).find(({ kind }) => kind === "UNSATISFIABLE")?.message;
  } catch {
    // The module cannot read what a later host has stored.
    return undefined;
  }
}

function show(tags, message) {
  if (message !== undefined) tags.append(h("span", { class: "tag forbids", title: message }, icon("alert"), "Nothing can be bought"));
}
