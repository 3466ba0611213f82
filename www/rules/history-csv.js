/**
 * The history of a rule as a file: a line per change, with the time, the author and the content.
 */

import { writeCsv } from "../shared/csv.js";

const HEADER = ["Time", "Who", "Id", "Change", "Details", "Tests that failed", "Reason"];
const VERBS = { CREATED: "created", REPLACED: "changed", DELETED: "deleted" };
const NOT_KEPT = "not kept: there was no room for it";

/** The text of some changes, newest first. `changes` compares two versions, and `text` describes one. */
export const historyCsv = (items, { changes, text }) =>
  writeCsv([HEADER, ...items.map((item) => [item.at, item.by.name ?? "", item.by.clientId ?? "", VERBS[item.action], details(item, { changes, text }), item.failingTests ?? "", item.note ?? ""])]);

function details({ action, before, after, documentsKept }, { changes, text }) {
  const side = (document) => (document ? text(document) : NOT_KEPT);
  if (action === "CREATED") return side(after);
  if (action === "DELETED") return `It was: ${side(before)}`;
  if (documentsKept === false) return `It was: ${side(before)}. It became: ${side(after)}`;
  const found = changes(before, after).map(({ label, removed, added }) => [`${label}:`, removed.length > 0 && `removed ${removed.join(", ")}`, added.length > 0 && `added ${added.join(", ")}`]);
  return found.map((parts) => parts.filter(Boolean).join(" ")).join("; ") || "saved without a change";
}
