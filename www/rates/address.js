/**
 * The part of the page's address that the Rates view reads: the unit, the tab, the pair in the tab, and the filter.
 */

import { filterOf, filterQuery } from "../shared/filter-address.js";

/** The tabs, by their part of the address. */
export const TABS = ["rates", "history", "convert", "messages", "details"];

/** The tabs for a single pair. */
const OF_A_PAIR = ["history", "convert"];

/** The link to a unit, and to one of its tabs. */
export function hrefOf({ id, tab, args = [], filter }) {
  const parts = id === undefined ? [] : [id, ...(tab === undefined || (tab === "rates" && args.length === 0) ? [] : [tab]), ...args];
  return `#/rates${parts.map((part) => `/${encodeURIComponent(part)}`).join("")}${filterQuery(filter)}`;
}

/**
 * The place of an address: `{ id?, tab, args, pair, filter }`. Missing parts stay as `before`: another shop is shown with the
 * same pair and filter.
 */
export function placeOf([id, tab, ...args], query, before = {}) {
  const place = { id: id || undefined, tab: TABS.includes(tab) ? tab : "rates", args, pair: before.pair ?? [], filter: filterOf(query) ?? before.filter ?? "" };
  if (!OF_A_PAIR.includes(place.tab)) return place;
  const pair = args.length > 0 ? args : place.pair;
  return { ...place, args: pair, pair };
}
