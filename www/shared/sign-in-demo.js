/**
 * Signs in with the demo's link. It works for ten minutes in the browser that used it first, which is recognized by a random
 * value that it stores. Loaded on demand.
 */

import { TillgateError } from "../../js/src/index.js";
import { HOST, randomId } from "./caller.js";

const BROWSER = "tillgate-demo-browser";

const REFUSED =
  "This link does not sign in here: another browser used it first, it is older than ten minutes, or it belongs to another demo. Sign in with the client id and the secret that the demo printed.";

/** Gets the token for the code of the link, to open a session with. */
export async function demoToken(code) {
  const body = JSON.stringify({ code, browser: thisBrowser() });
  const options = { method: "POST", headers: { "Content-Type": "application/json" }, body };
  const response = await fetch(`${HOST}/demo/session`, options).catch((cause) => {
    throw new TillgateError({ code: "lost", message: "The demo cannot be reached. Open its link again once it runs.", cause });
  });
  if (!response.ok) throw new TillgateError({ code: "refused", message: REFUSED });
  return { token: (await response.json()).access_token };
}

/** The random value of this browser. If it stores nothing, the link works once. */
function thisBrowser() {
  const made = randomId();
  try {
    const kept = localStorage.getItem(BROWSER) ?? made;
    localStorage.setItem(BROWSER, kept);
    return kept;
  } catch {
    return made;
  }
}
