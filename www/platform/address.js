/**
 * The part of the page's address that the Platform view reads: the tab and the tenant.
 */

/** The place of an address: `{ tab, tenant }`. */
export const placeOf = ([tab, tenant]) => ({ tab: tab || undefined, tenant: tenant || undefined });

/** The link to a tab, with a tenant if the tab shows one. */
export const hrefOf = (tab, tenant) => `#/platform/${tab}${tenant === undefined ? "" : `/${encodeURIComponent(tenant)}`}`;
