/**
 * What the address of the page brings when the page is opened: the answer of an identity provider to a person who comes back
 * from there, or the code of the demo's link. It is taken out of the address at once.
 */

import { TillgateError } from "../../js/src/index.js";
import { HOST } from "./caller.js";
import { providerSettings, takeTrip } from "./sign-in-trip.js";

const USED =
  "This link does not sign in any more: it was used before, is older than ten minutes, or is of another demo. Sign in with the client id and the secret that the demo has printed.";

/** What the address has brought: `{ method, credentials }`, of which `credentials` gets what to open a session with. */
export function arrival() {
  const trip = takeTrip();
  const [, code] = /^#demo=(\w+)$/.exec(location.hash) ?? [];
  if (code) {
    clean("");
    return { method: "demo", credentials: () => demoToken(code) };
  }
  const answer = new URLSearchParams(location.search);
  if (!providerSettings() || !(answer.has("code") || answer.has("error"))) return undefined;
  clean(trip?.place ?? "");
  return { method: "provider", credentials: async () => (await import("./sign-in-provider.js")).finish(answer, trip) };
}

const clean = (place) => history.replaceState(history.state, "", location.pathname + place);

async function demoToken(code) {
  const options = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ code }) };
  const response = await fetch(`${HOST}/demo/session`, options).catch((cause) => {
    throw new TillgateError({ code: "lost", message: "The demo cannot be reached. Open its link again once it runs.", cause });
  });
  if (!response.ok) throw new TillgateError({ code: "refused", message: USED });
  return { token: (await response.json()).access_token };
}
