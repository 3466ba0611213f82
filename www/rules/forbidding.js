/**
 * The mark of listed projects for which nothing may be bought. It is computed while the browser is idle, one row at a time,
 * for drawn rows only, and kept until the project changes.
 */

import { findings } from "../../js/src/index.js";
import { h } from "../shared/dom.js";
import { icon } from "../shared/icon.js";
import { valueCount } from "./rule-values.js";

/** Projects with more values have no mark: computing it would take too long. Their editor shows it. */
const MAX_VALUES = 2000;

/** The result for a project: the message, or undefined if something can be bought. */
const known = new WeakMap();
const waiting = [];

const whenIdle = globalThis.requestIdleCallback?.bind(globalThis) ?? ((run) => setTimeout(run, 50));

/** Appends the mark of a project to its tags, now or once it is known. */
export function markForbidding(tags, project) {
  if (known.has(project)) return show(tags, known.get(project));
  if (valueCount(project) > MAX_VALUES) return;
  waiting.push({ tags, project });
  if (waiting.length === 1) whenIdle(next);
}

/** Checks one drawn row; those drawn last come first. */
function next() {
  const { tags, project } = waiting.pop();
  if (tags.isConnected) show(tags, (known.has(project) || known.set(project, messageOf(project)), known.get(project)));
  if (waiting.length > 0) whenIdle(next);
}

function messageOf(project) {
  try {
    return findings({ project }).find(({ kind }) => kind === "UNSATISFIABLE")?.message;
  } catch {
    // The module cannot read what a newer host has stored.
    return undefined;
  }
}

function show(tags, message) {
  if (message !== undefined) tags.append(h("span", { class: "tag forbids", title: message }, icon("alert"), "Nothing can be bought"));
}
