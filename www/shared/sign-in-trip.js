/**
 * The state of a trip to an identity provider and back: the provider's settings from the host, and data in the storage of this
 * tab until the person comes back. It never includes a token.
 */

import { unpack } from "./memory.js";

const TRIP = "tillgate-sign-in";

/**
 * The settings for signing in at an identity provider, `{ issuer, name, clientId, scope, resource }`; undefined without one.
 */
export function providerSettings() {
  const content = document.querySelector("meta[name=tillgate-sign-in]")?.content;
  if (!content) return undefined;
  const settings = JSON.parse(content);
  return { ...settings, name: new URL(settings.issuer).host };
}

/** Keeps in this tab what the return needs: `{ verifier, state, nonce, place, isSilent }`, and the input. */
export function keepTrip(trip, typed) {
  try {
    sessionStorage.setItem(TRIP, JSON.stringify({ ...trip, typed }));
    return true;
  } catch {
    // There is no room for the input.
    sessionStorage.setItem(TRIP, JSON.stringify(trip));
    return false;
  }
}

/** Returns and removes the kept state; the input goes back into the page's memory. */
export function takeTrip() {
  let text;
  try {
    text = sessionStorage.getItem(TRIP);
    sessionStorage.removeItem(TRIP);
  } catch {}
  if (!text) return undefined;
  const { typed, ...trip } = JSON.parse(text);
  if (typed) unpack(typed);
  return trip;
}
