/**
 * Signing in, to try operations: with the credentials of a client or with a token, which stay in the page's memory.
 */

import { Host } from "../../js/src/shared/host.js";
import { HOST, readCaller, tokensOf } from "../shared/caller.js";
import { button, h, openDialog } from "../shared/dom.js";
import { signInForm } from "../shared/sign-in.js";

/** Asks to sign in: `{ tenant, permissions, token }`, whose `token` gets one; undefined when the user does not. */
export async function askToSignIn() {
  let session;
  const open = async (credentials) => {
    // Nobody waits any more for a host that is unavailable.
    if (!dialog.isConnected) throw new Error("nobody signs in");
    const token = tokensOf(credentials);
    const { tenantId, permissions } = await readCaller(new Host({ url: HOST, token }));
    return { tenant: tenantId, permissions: new Set(permissions), token, close() {} };
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
