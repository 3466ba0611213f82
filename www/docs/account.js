/**
 * Signing in, to try operations: with the credentials of a client or with a token, which stay in the page's memory.
 */

import { Host } from "../../js/src/shared/host.js";
import { HOST, readCaller, tokensOf } from "../shared/caller.js";
import { button, h, openDialog } from "../shared/dom.js";
import { tokensOfOpener } from "../shared/hand-over.js";
import { forgetCredentials } from "../shared/kept-sign-in.js";
import { signInForm } from "../shared/sign-in.js";

/** A session, `{ tenant, permissions, token }`, whose `token` gets one. */
async function sessionOf(credentials) {
  const token = tokensOf(credentials);
  const { tenantId, permissions } = await readCaller(new Host({ url: HOST, token }));
  return { tenant: tenantId, permissions: new Set(permissions), token, close() {} };
}

/** The session of who is signed in on the page that has opened this one; undefined when nobody is. */
export function sessionOfOpener() {
  // The browser has copied what the tab of that page keeps, and signing out there would not reach the copy.
  forgetCredentials();
  const token = tokensOfOpener();
  // The page may be busy for longer than the host may take to answer.
  return token().then(() => sessionOf({ token })).catch(() => undefined);
}

/** Asks to sign in, and returns the session; undefined when the user does not. */
export async function askToSignIn() {
  let session;
  const open = async (credentials) => {
    // Nobody waits any more for a host that is unavailable.
    if (!dialog.isConnected) throw new Error("nobody signs in");
    return sessionOf(credentials);
  };
  const signIn = (opened) => {
    session = opened;
    dialog.close();
  };
  const cancel = button("Cancel", { class: "plain", onclick: () => dialog.close() });
  const dialog = h("dialog", { class: "small", "aria-labelledby": "sign-in" }, signInForm({ open, signIn, cancel }));
  // Otherwise the dialog focuses the choice before it.
  dialog.querySelector("[name=username]").autofocus = true;
  await openDialog(dialog);
  return session;
}
