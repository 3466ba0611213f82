/**
 * What outlives the page of a sign-in. In the storage of this tab: the credentials of a client, or a token, where the user has
 * chosen that. In the storage of the browser: that somebody has signed in here at the identity provider, which is no secret.
 * Neither is kept where the browser stores nothing.
 */

const CREDENTIALS = "tillgate-credentials";
const AT_PROVIDER = "tillgate-at-provider";

/** The credentials that this tab keeps; undefined when it keeps none. */
export const keptCredentials = () => attempt(() => JSON.parse(sessionStorage.getItem(CREDENTIALS))) ?? undefined;

/** Whether somebody has signed in at the identity provider in this browser, and has not signed out since. */
export const wasAtProvider = () => attempt(() => localStorage.getItem(AT_PROVIDER)) === "yes";

/** Keeps what the next page signs in with by itself: with `stays`, the credentials. The provider has asked people itself. */
export function keepSignIn({ method, credentials, stays }) {
  forgetSignIn();
  if (method === "provider") attempt(() => localStorage.setItem(AT_PROVIDER, "yes"));
  else if (stays) attempt(() => sessionStorage.setItem(CREDENTIALS, JSON.stringify(credentials)));
}

/** Forgets the credentials, which are of no use any more. */
export const forgetCredentials = () => attempt(() => sessionStorage.removeItem(CREDENTIALS));

/** Forgets all of it: the next page asks who it is. */
export function forgetSignIn() {
  forgetCredentials();
  attempt(() => localStorage.removeItem(AT_PROVIDER));
}

/** What a function returns; undefined when the browser stores nothing. */
function attempt(run) {
  try {
    return run();
  } catch {
    return undefined;
  }
}
