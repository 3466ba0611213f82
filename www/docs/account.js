/**
 * Signs in, to try operations: with the credentials of a client or with a token. Both stay in the page's memory.
 */

import { Host } from "../../js/src/shared/host.js";
import { HOST, readCaller, tokensOf } from "../shared/caller.js";
import { button, h, openDialog } from "../shared/dom.js";
import { tokensOfOpener } from "../shared/hand-over.js";
import { forgetCredentials } from "../shared/kept-sign-in.js";
import { signInForm } from "../shared/sign-in.js";

/** Returns a session, `{ tenant, permissions, token }`, whose `token` gets one. */
async function sessionOf(credentials) {
  const token = tokensOf(credentials);
  const { tenantId, permissions } = await readCaller(new Host({ url: HOST, token }));
  return { tenant: tenantId, permissions: new Set(permissions), token, close() {} };
}

/** Returns the session of the user of the page that opened this one; undefined without one. */
export function sessionOfOpener() {
  // The browser copied the storage of the opener's tab; signing out there would not reach the copy.
  forgetCredentials();
  const token = tokensOfOpener();
  // The opener may be busy for longer than the host takes to answer.
  return token().then(() => sessionOf({ token })).catch(() => undefined);
}

/** Asks to sign in, and returns the session; undefined if the user does not. */
export async function askToSignIn() {
  let session;
  const open = async (credentials) => {
    // The dialog is closed: nobody waits for the host to come back.
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
