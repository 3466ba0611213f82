/**
 * The fields for the knowledge of a delivery's receiver: the shared key, and the expected token or user name and password.
 */

import { button, field, h, notify } from "../shared/dom.js";
import { explain } from "./wording.js";

const KEY_HINT = "Or the secret for libraries of Standard Webhooks, which begins with whsec_.";
const CERTIFICATES_HINT = "By key id, as the sender’s identity provider publishes them.";
const CERTIFICATES_EXAMPLE = '{"<key id>":"-----BEGIN CERTIFICATE-----…"}';

/** The fields; `onchange` is called after typing, `onfill` after filling in. */
export function expectedFields(desk, { onchange, onfill }) {
  const text = (properties) => h("input", { spellcheck: "false", autocomplete: "off", oninput: () => onchange(), ...properties });
  const inputs = {
    sharedKey: text({}),
    signatureHeader: text({ placeholder: "X-Service-Signature" }),
    audience: text({ list: "addresses", placeholder: "https://" }),
    email: text({}),
    issuer: text({}),
    username: text({}),
    password: text({}),
  };
  const certificates = h("textarea", { rows: 4, spellcheck: "false", autocomplete: "off", class: "pasted", oninput: () => onchange(), placeholder: CERTIFICATES_EXAMPLE });
  const addresses = h("datalist", { id: "addresses" });
  const take = button("Use this host’s certificates", { class: "plain", onclick: () => takeCertificates() });
  const ofSignature = h("div", { class: "pair-fields" }, field("Shared key", inputs.sharedKey, { hint: KEY_HINT }), field("Header of the signature", inputs.signatureHeader));
  const ofBearer = h(
    "div",
    { class: "stack" },
    field("Certificates", certificates, { hint: CERTIFICATES_HINT }),
    take,
    field("Address of the endpoint", inputs.audience),
    addresses,
    field("Sender’s e-mail", inputs.email),
    field("Issuer", inputs.issuer),
  );
  const ofBasic = h("div", { class: "pair-fields" }, field("User name", inputs.username), field("Password", inputs.password));

  async function takeCertificates() {
    try {
      certificates.value = JSON.stringify(await desk.host.certificates(), null, 2);
      onfill();
    } catch (error) {
      notify(explain(error));
    }
  }

  return {
    elements: [ofSignature, ofBearer, ofBasic],
    /** The content. Secrets are compared as typed. */
    value() {
      const filled = Object.entries(inputs).filter(([, { value }]) => value !== "");
      const isSecret = (name) => name === "sharedKey" || name === "password";
      return { ...Object.fromEntries(filled.map(([name, { value }]) => [name, isSecret(name) ? value : value.trim()])), certificates: certificates.value };
    },
    /** Shows only the fields for the request's Authorization header. */
    showScheme(authorization) {
      const isBasic = /^basic /i.test(authorization);
      ofBasic.hidden = !isBasic;
      ofBearer.hidden = isBasic;
    },
    /** Offers the addresses of webhooks. */
    offer(webhooks = []) {
      addresses.replaceChildren(...webhooks.map(({ callbackUrl, name }) => h("option", { value: callbackUrl }, name)));
    },
    fill({ audience, signatureHeader }) {
      inputs.audience.value = audience;
      inputs.signatureHeader.value = signatureHeader;
    },
  };
}
