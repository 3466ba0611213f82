/**
 * A shared key that can be seen: one that the host has generated, or one that is made here, so that a receiver can know it
 * before the first request that is signed with it. Of one that is stored, nothing is shown.
 */

import { copy } from "../shared/copy.js";
import { button, field, h } from "../shared/dom.js";

const KEY_BYTES = 32;

/** A key of 256 random bits, as the host generates them: `{ sharedKey, standardWebhooksSecret }`. */
export function newSharedKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(KEY_BYTES));
  const sharedKey = btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  return { sharedKey, standardWebhooksSecret: `whsec_${btoa(sharedKey)}` };
}

/** A key, as such and as libraries take it: the fields, and the buttons that copy them. `oncopy` follows the key itself. */
export function sharedKeyFields({ sharedKey, standardWebhooksSecret }, { label = "Shared key", oncopy } = {}) {
  const shown = (value) => h("input", { value, readonly: true, class: "secret", spellcheck: "false", autocomplete: "off", onfocus: ({ target }) => target.select() });
  const [key, secret] = [shown(sharedKey), shown(standardWebhooksSecret)];
  return {
    fields: [field(label, key), field("Secret for libraries of Standard Webhooks", secret, { hint: "The same key, as those libraries take it." })],
    copyKey: button("Copy", { image: "copy", autofocus: oncopy !== undefined, onclick: async () => (await copy(key.value, "The shared key")) && oncopy?.() }),
    copySecret: button("Copy the secret", { image: "copy", onclick: () => copy(secret.value, "The secret") }),
  };
}
