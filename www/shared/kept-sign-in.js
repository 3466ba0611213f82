/**
 * The part of a sign-in that outlives the page. In the storage of this tab: the credentials of a client, or a token, if the
 * user has chosen that. In the storage of the browser: that somebody has signed in here at the identity provider, which is no
 * secret. Nothing is kept if the browser stores nothing.
 */

const CREDENTIALS = "tillgate-credentials";
const AT_PROVIDER = "tillgate-at-provider";

/** The credentials kept in this tab; undefined without any. */
export const keptCredentials = () => attempt(() => JSON.parse(sessionStorage.getItem(CREDENTIALS))) ?? undefined;

/** True if somebody signed in at the identity provider in this browser, and has not signed out since. */
export const wasAtProvider = () => attempt(() => localStorage.getItem(AT_PROVIDER)) === "yes";

/** Keeps the sign-in for the next page: with `stays`, the credentials. The provider asks people itself. */
export function keepSignIn({ method, credentials, stays }) {
  forgetSignIn();
  if (method === "provider") attempt(() => localStorage.setItem(AT_PROVIDER, "yes"));
  else if (stays) attempt(() => sessionStorage.setItem(CREDENTIALS, JSON.stringify(credentials)));
}

/** Forgets the credentials, which are no longer of use. */
export const forgetCredentials = () => attempt(() => sessionStorage.removeItem(CREDENTIALS));

/** Forgets all of it: the next page asks the user to sign in. */
export function forgetSignIn() {
  forgetCredentials();
  attempt(() => localStorage.removeItem(AT_PROVIDER));
}

/** The result of a function; undefined if the browser stores nothing. */
function attempt(run) {
  try {
    return run();
  } catch {
    return undefined;
  }
}
