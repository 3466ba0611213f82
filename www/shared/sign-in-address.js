/**
 * Signs in when the page is opened, without asking: by the address, whose secret is removed at once, which is the answer of an
 * identity provider to a returning person, or the code of the demo's link; otherwise by an earlier sign-in that was kept.
 */

import { forgetSignIn, keptCredentials, wasAtProvider } from "./kept-sign-in.js";
import { providerSettings, takeTrip } from "./sign-in-trip.js";

/** The sign-in: `{ method, credentials, stays }`, whose `credentials` gets the argument of a session; undefined without one. */
export function arrival() {
  const trip = takeTrip();
  const [, code] = /^#demo=(\w+)$/.exec(location.hash) ?? [];
  if (code) {
    clean("");
    return { method: "demo", stays: true, credentials: async () => (await import("./sign-in-demo.js")).demoToken(code) };
  }
  const answer = new URLSearchParams(location.search);
  const atProvider = (run) => ({ method: "provider", credentials: async () => run(await import("./sign-in-provider.js")) });
  if (providerSettings() && (answer.has("code") || answer.has("error"))) {
    clean(trip?.place ?? "");
    if (!trip?.isSilent || answer.has("code")) return atProvider(({ finish }) => finish(answer, trip));
    // The provider would have to ask: the form does.
    forgetSignIn();
    return undefined;
  }
  const kept = keptCredentials();
  if (kept) return { method: kept.token ? "token" : "client", stays: true, credentials: async () => kept };
  // A person who came back without an answer is not sent there again.
  return providerSettings() && wasAtProvider() && !trip ? atProvider(({ renew }) => renew()) : undefined;
}

const clean = (place) => history.replaceState(history.state, "", location.pathname + place);
