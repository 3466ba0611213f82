/**
 * Says where drafts are that outlived a session, after signing in again. Loaded if there are any.
 */

import { h, notify } from "./dom.js";

/** The most drafts that are named. */
const MAX_NAMED = 4;

/** The view of a draft and its subject, by the first part of its key. */
const PLACES = {
  condition: (id) => ["conditions", id || "a new condition"],
  project: (id, session) => ["projects", id ? (session.project(id)?.name ?? id) : "a new project"],
  rate: (pair) => rates(pair.split("/")[0]),
  rates: (id) => rates(id),
  event: () => ["webhooks", "an event"],
  unit: (id) => [id ? `rates/${encodeURIComponent(id)}/details` : "rates", id || "a new business unit"],
  units: () => ["rates", "pasted business units"],
  webhook: (id) => ["webhooks", id ? "a webhook" : "a new webhook"],
};

const rates = (id) => [`rates/${encodeURIComponent(id)}`, `rates of ${id}`];

/** Lists the drafts of a session's tenant, with links. */
export function showKeptDrafts(session) {
  const placeOf = (key) => {
    const [, kind, rest] = /^(\w+):(.*)$/s.exec(key) ?? [];
    return PLACES[kind]?.(rest, session);
  };
  const places = session.memory.draftKeys().map(placeOf).filter(Boolean);
  if (places.length === 0) return;
  const links = places.slice(0, MAX_NAMED).flatMap(([path, text], at) => [at > 0 && ", ", h("a", { href: `#/${path}`, dir: "auto" }, text)]);
  const others = places.length - MAX_NAMED;
  notify(["Your drafts are still here: ", ...links, others > 0 && ` and ${others} more`, "."]);
}
