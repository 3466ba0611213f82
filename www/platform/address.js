/**
 * The part of the page's address that the Platform view reads: the tab, and the tenant that is looked at.
 */

/** What an address shows: `{ tab, tenant }`. */
export const placeOf = ([tab, tenant]) => ({ tab: tab || undefined, tenant: tenant || undefined });

/** The link to a tab, for a tenant where it shows one. */
export const hrefOf = (tab, tenant) => `#/platform/${tab}${tenant === undefined ? "" : `/${encodeURIComponent(tenant)}`}`;
