/**
 * The fields of a webhook. Secrets are entered here and never shown: a stored one is kept unless another is given.
 */

import { TillgateError } from "../../js/src/index.js";
import { choice, field, h } from "../shared/dom.js";
import { faultText } from "../shared/faults.js";
import { eventTypeFields } from "./event-types.js";
import { filterFields } from "./filter-fields.js";
import { newSharedKey } from "./shared-key.js";

const HEADER_HINT = "Only if the receiver reads the signature from a header other than X-Service-Signature.";
const KEY_HINTS = {
  keep: "The receiver keeps using the key that it has.",
  generate: "It is shown once, after saving.",
  own: "16 to 128 printable characters.",
  none: "Deliveries are not signed: the receiver can only check how they sign in.",
};

/** A new webhook, as first shown. */
const NEW = { name: "", callbackUrl: "", eventTypes: ["*"], authentication: { type: "BEARER" }, hasSharedKey: false, enabled: true };

const text = (value, properties) => h("input", { value: value ?? "", spellcheck: "false", autocomplete: "off", dir: "auto", ...properties });
const secret = () => text("", { type: "password", autocomplete: "new-password", maxlength: 128 });

/** The fields of a stored or a new webhook; `draft` is their first content. */
export function webhookFields(desk, stored, draft) {
  const webhook = draft ?? stored ?? NEW;
  const name = text(webhook.name, { maxlength: 256 });
  const address = text(webhook.callbackUrl, { inputmode: "url", maxlength: 2048, placeholder: "https://" });
  const limit = text(webhook.maxPerSecond, { inputmode: "numeric" });
  const enabled = h("input", { type: "checkbox", role: "switch", checked: webhook.enabled });
  const types = eventTypeFields(desk, webhook.eventTypes);
  const filter = filterFields(desk, webhook.filter, () => types.value());
  const signIn = signInFields(webhook.authentication, stored?.authentication.type);
  const key = keyFields(webhook, { stored, chosen: draft?.key });
  const nameField = field("Name", name);
  const addressField = field("Address", address, { hint: "Events are sent there with POST." });
  const limitField = field("At most per second", limit, { hint: "Leave it empty for no limit." });
  const { enabled: wasEnabled } = stored ?? NEW;
  const off = wasEnabled ? undefined : h("p", { class: "hint" }, "Once it is switched on, the deliveries that were held are sent.");
  const isOn = h("div", { class: "stack tight" }, h("label", { class: "switch" }, enabled, h("span", {}, "Switched on")), off);
  const element = h("div", { class: "stack" }, nameField, addressField, types.element, filter.element, signIn.elements, key.elements, limitField, isOn);

  const value = () => ({
    name: name.value.trim(),
    callbackUrl: address.value.trim(),
    eventTypes: types.value(),
    ...(filter.value().length > 0 && { filter: filter.value() }),
    authentication: signIn.value(),
    ...key.value(),
    ...(limit.value.trim() !== "" && { maxPerSecond: /^\d+$/.test(limit.value.trim()) ? Number(limit.value) : limit.value.trim() }),
    enabled: enabled.checked,
  });

  const places = [
    [/^\$\.name$/, nameField],
    [/^\$\.callbackUrl$/, addressField],
    [/^\$\.eventTypes/, types],
    [/^\$\.filter/, filter],
    [/^\$\.authentication\.username$/, signIn.usernameField],
    [/^\$\.authentication\.password$/, signIn.passwordField],
    [/^\$\.sharedKey$/, key.ownField],
    [/^\$\.signatureHeader$/, key.headerField],
    [/^\$\.maxPerSecond$/, limitField],
  ];

  return {
    element,
    value,
    /** The part to keep as a draft: all but secrets. */
    kept() {
      const { authentication: { password, ...rest }, sharedKey, ...others } = value();
      return { ...others, authentication: rest, key: key.chosen(), isMissing: Boolean(password || key.typed()) };
    },
    makeKey: key.make,
    madeKey: key.made,
    missing: draft?.isMissing && "Passwords and keys were not kept: enter them again. ",
    check() {
      const found = [...faultsOf(value(), { isPasswordKept: signIn.isPasswordKept, ownKey: key.own() }), ...filter.faults()];
      if (found.length > 0) throw new TillgateError({ code: "invalid", ...found[0], faults: found });
    },
    /** Shows faults at their fields; returns true if every fault has a visible field. */
    showFaults(all) {
      for (const [pattern, place] of places) {
        const fault = all.find(({ path }) => pattern.test(path));
        place.showFault(fault && faultText(fault));
      }
      element.querySelector("[aria-invalid]")?.focus();
      const isShown = (place) => !(place.hidden || place.closest?.("[hidden]"));
      return all.every(({ path }) => places.some(([pattern, place]) => pattern.test(path) && isShown(place)));
    },
  };
}

/** The faults that need no host. `ownKey` is the typed key; undefined if there must be none. */
function faultsOf({ name, callbackUrl, eventTypes, authentication, maxPerSecond }, { isPasswordKept, ownKey }) {
  const { type, username, password } = authentication;
  const found = [];
  const add = (isWrong, path, message) => isWrong && found.push({ path, message });
  add(name === "", "$.name", "must not be empty");
  add(!/^https?:\/\/[^\s/]/.test(callbackUrl), "$.callbackUrl", "must begin with https://");
  add(eventTypes.length === 0, "$.eventTypes", "must not be empty: choose at least one, or all events");
  add(type === "BASIC" && username === "", "$.authentication.username", "must not be empty");
  add(type === "BASIC" && !isPasswordKept && password === undefined, "$.authentication.password", "must not be empty");
  add(ownKey !== undefined && [...ownKey].length < 16, "$.sharedKey", "must be 16 to 128 printable characters");
  add(typeof maxPerSecond === "string" || maxPerSecond === 0, "$.maxPerSecond", "must be a whole number, 1 or more");
  return found;
}

/** The credentials of deliveries: a token, or a user name and a password. `storedScheme` is the stored webhook's. */
function signInFields(given, storedScheme) {
  const username = text(given.username);
  const password = secret();
  const isPasswordKept = storedScheme === "BASIC";
  const hint = isPasswordKept ? "Leave it empty to keep the present one. For an address on another host, enter it again." : undefined;
  const usernameField = field("User name", username);
  const passwordField = field("Password", password, { hint });
  const basic = h("div", { class: "pair-fields" }, usernameField, passwordField);
  let scheme = given.type;
  const show = () => (basic.hidden = scheme !== "BASIC");
  const schemes = choice("Signing in", [["BEARER", "Bearer token"], ["BASIC", "User name and password"]], scheme, (chosen) => ((scheme = chosen), show()));
  show();
  return {
    elements: [schemes, basic],
    usernameField,
    passwordField,
    isPasswordKept,
    value: () => (scheme === "BASIC" ? { type: "BASIC", username: username.value, ...(password.value !== "" && { password: password.value }) } : { type: "BEARER" }),
  };
}

/** The shared key of a webhook and the header of the signature; `chosen` is the draft's choice for the key. */
function keyFields({ signatureHeader }, { stored, chosen }) {
  const { hasSharedKey } = stored ?? NEW;
  const own = secret();
  const header = text(signatureHeader, { maxlength: 64 });
  const ownField = field("Shared key", own);
  const headerField = field("Header of the signature", header, { hint: HEADER_HINT });
  const hint = h("p", { class: "hint" });
  let made;
  let key = chosen ?? (stored === undefined ? "generate" : hasSharedKey ? "keep" : "none");
  const keys = choice("Shared key for signatures", keyOptions(hasSharedKey, stored === undefined), key, (next) => ((key = next), show()));
  keys.append(hint);

  function show() {
    ownField.hidden = key !== "own";
    headerField.hidden = key === "none";
    hint.textContent = KEY_HINTS[key];
  }
  show();

  const written = {
    keep: () => ({}),
    generate: () => ({ sharedKey: "generate" }),
    own: () => ({ sharedKey: own.value }),
    none: () => (hasSharedKey ? { sharedKey: null } : {}),
  };
  return {
    elements: [keys, ownField, headerField],
    ownField,
    headerField,
    chosen: () => key,
    /** The key typed or made here, even if another choice was made since; `own` is the key to use. */
    typed: () => own.value || made,
    own: () => (key === "own" ? own.value : undefined),
    /** The generated key, if wanted: `make` makes it here, otherwise the host does on saving. */
    make: () => (key === "generate" ? (made ??= newSharedKey()) : undefined),
    made: () => (key === "generate" ? made : undefined),
    value: () => ({ ...written[key](), ...(key !== "none" && header.value.trim() !== "" && { signatureHeader: header.value.trim() }) }),
  };
}

function keyOptions(hasSharedKey, isNew) {
  const options = [["generate", hasSharedKey ? "Generate a new one" : "Generate"], ["own", "My own"], ["none", "None"]];
  return isNew || !hasSharedKey ? options : [["keep", "Keep"], ...options];
}
