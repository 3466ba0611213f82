/**
 * The part of the page's address that the Rates view reads: the unit, the tab, and what the tab shows.
 */

/** The tabs, by their part of the address. */
export const TABS = ["rates", "history", "convert", "messages", "details"];

/** The link to a unit, and to one of its tabs. */
export function hrefOf({ id, tab, args = [] }) {
  const parts = id === undefined ? [] : [id, ...(tab === undefined || (tab === "rates" && args.length === 0) ? [] : [tab]), ...args];
  return `#/rates${parts.map((part) => `/${encodeURIComponent(part)}`).join("")}`;
}

/** What an address shows: `{ id?, tab, args }`. */
export function placeOf([id, tab, ...args]) {
  return { id: id || undefined, tab: TABS.includes(tab) ? tab : "rates", args };
}
