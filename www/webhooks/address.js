/**
 * The part of the page's address that the Webhooks view reads: the content, and the filter of the deliveries.
 */

import { PERIODS, STATUSES } from "./wording.js";

const isTime = (text) => !Number.isNaN(Date.parse(text));

/** The members of a filter, and their possible values: an address may have been typed. */
const FILTERS = {
  webhookId: (text) => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text),
  status: (text) => Object.hasOwn(STATUSES, text),
  eventType: () => true,
  eventId: (text) => new TextEncoder().encode(text).length <= 256,
  period: (text) => Object.hasOwn(PERIODS, text),
  since: isTime,
  until: isTime,
};

/** The link to the list of webhooks. */
export const LIST = "#/webhooks";

/** The link to the deliveries of a filter. */
export function deliveriesHref(filter = {}) {
  const parts = Object.keys(FILTERS).filter((name) => filter[name]).map((name) => `/${encodeURIComponent(`${name}=${filter[name]}`)}`);
  return `${LIST}/deliveries${parts.join("")}`;
}

/** The link to one delivery. */
export const deliveryHref = (id) => `${LIST}/delivery/${encodeURIComponent(id)}`;

/** The link to the signature check, possibly filled with a delivery. */
export const signatureHref = (deliveryId) => `${LIST}/signature${deliveryId === undefined ? "" : `/${encodeURIComponent(deliveryId)}`}`;

/** The place of an address: `{ tab, id?, filter? }`. */
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
    const [name, value] = [part.slice(0, at), part.slice(at + 1)];
    if (at > 0 && value !== "" && Object.hasOwn(FILTERS, name) && FILTERS[name](value)) filter[name] = value;
  }
  return filter;
}
