/**
 * Copies a text, even if the browser offers its clipboard to https pages only.
 */

import { notify } from "./dom.js";

/** Copies a text and says so: `noun` names it. Returns true if it worked. */
export async function copy(text, noun) {
  const isCopied = (await viaClipboard(text)) || viaSelection(text);
  notify(isCopied ? `${noun} was copied.` : "The browser does not allow copying. Select the text and copy it.");
  return isCopied;
}

async function viaClipboard(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

/** A dialog makes everything outside it inert, so the text is selected inside the open one. */
function viaSelection(text) {
  const holder = document.createElement("textarea");
  const focused = document.activeElement;
  holder.value = text;
  holder.className = "visually-hidden";
  (document.querySelector("dialog[open]") ?? document.body).append(holder);
  holder.select();
  try {
    return document.execCommand("copy");
  } catch {
    return false;
  } finally {
    holder.remove();
    focused?.focus();
  }
}
