/**
 * The part of the page's address that the Webhooks view reads: what is shown, and the filter of the deliveries.
 */

/** The members of a filter that an address holds. */
const FILTERS = ["webhookId", "status", "eventType", "period", "since", "until"];

/** The link to the list of webhooks. */
export const LIST = "#/webhooks";

/** The link to the deliveries that a filter finds. */
export function deliveriesHref(filter = {}) {
  const parts = FILTERS.filter((name) => filter[name]).map((name) => `/${encodeURIComponent(`${name}=${filter[name]}`)}`);
  return `${LIST}/deliveries${parts.join("")}`;
}

/** The link to one delivery. */
export const deliveryHref = (id) => `${LIST}/delivery/${encodeURIComponent(id)}`;

/** The link to the signature check, also with what a delivery carries. */
export const signatureHref = (deliveryId) => `${LIST}/signature${deliveryId === undefined ? "" : `/${encodeURIComponent(deliveryId)}`}`;

/** What an address shows: `{ tab, id?, filter? }`. */
export function placeOf([tab, ...rest]) {
  if (tab === "deliveries") return { tab, filter: filterOf(rest) };
  if (tab === "delivery" && rest[0]) return { tab, id: rest[0] };
  if (tab === "signature") return { tab, id: rest[0] || undefined };
  return { tab: "webhooks" };
}

function filterOf(parts) {
  const filter = {};
  for (const part of parts) {
    const at = part.indexOf("=");
    const name = part.slice(0, at);
    if (at > 0 && at < part.length - 1 && FILTERS.includes(name)) filter[name] = part.slice(at + 1);
  }
  return filter;
}
