/**
 * What is known on the way to an identity provider and back: which one it is, as the host has told the page, and what is kept
 * in the storage of this tab until the person comes back. No token ever is.
 */

import { unpack } from "./memory.js";

const TRIP = "tillgate-sign-in";

/** How people sign in at an identity provider, `{ issuer, name, clientId, scope, resource }`; undefined when they do not. */
export function providerSettings() {
  const content = document.querySelector("meta[name=tillgate-sign-in]")?.content;
  if (!content) return undefined;
  const settings = JSON.parse(content);
  return { ...settings, name: new URL(settings.issuer).host };
}

/** Keeps in this tab what is needed when the person comes back: `{ verifier, state, nonce, place, isSilent }`, and what was typed. */
export function keepTrip(trip, typed) {
  try {
    sessionStorage.setItem(TRIP, JSON.stringify({ ...trip, typed }));
    return true;
  } catch {
    // There is no room for what was typed.
    sessionStorage.setItem(TRIP, JSON.stringify(trip));
    return false;
  }
}

/** What was kept, which is there once; what was typed is in the page's memory again. */
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
