/**
 * The fields of a webhook. Secrets are entered here and never shown: a stored one is kept unless another is given.
 */

import { TillgateError } from "../../js/src/runtime/browser.js";
import { choice, field, h } from "../shared/dom.js";
import { faultText } from "../shared/faults.js";
import { eventTypeFields } from "./event-types.js";

const HEADER_HINT = "Only when the receiver reads the signature from a header of another name than X-Service-Signature.";
const KEY_HINTS = {
  keep: "The receiver goes on with the key that it has.",
  generate: "It is shown once, after saving.",
  own: "16 to 128 printable characters.",
  none: "Deliveries are not signed: the receiver can only check how they sign in.",
};

/** A new webhook, as the form shows it first. */
const NEW = { name: "", callbackUrl: "", eventTypes: ["*"], authentication: { type: "BEARER" }, hasSharedKey: false, enabled: true };

/** The fields of a webhook that is stored, or else of a new one; `draft` is what they hold first. */
export function webhookFields(desk, stored, draft) {
  const isNew = stored === undefined;
  const { hasSharedKey, authentication: { type: storedScheme }, enabled: wasEnabled } = stored ?? NEW;
  const webhook = draft ?? stored ?? NEW;
  const { authentication } = webhook;
  const text = (value, properties) => h("input", { value: value ?? "", spellcheck: "false", autocomplete: "off", ...properties });
  const secret = () => text("", { type: "password", autocomplete: "new-password", maxlength: 128 });
  const name = text(webhook.name, { maxlength: 256 });
  const address = text(webhook.callbackUrl, { inputmode: "url", maxlength: 2048, placeholder: "https://" });
  const username = text(authentication.username);
  const password = secret();
  const ownKey = secret();
  const header = text(webhook.signatureHeader, { maxlength: 64 });
  const limit = text(webhook.maxPerSecond, { inputmode: "numeric" });
  const enabled = h("input", { type: "checkbox", role: "switch", checked: webhook.enabled });
  const types = eventTypeFields(desk, webhook.eventTypes);
  const isBasic = !isNew && storedScheme === "BASIC";
  let scheme = authentication.type;
  let key = draft ? draft.key : isNew ? "generate" : hasSharedKey ? "keep" : "none";

  const fields = {
    name: field("Name", name),
    address: field("Address", address, { hint: "Events are sent there with POST." }),
    username: field("User name", username),
    password: field("Password", password, { hint: isBasic ? "Leave it empty to keep the present one. For an address of another host it has to be entered again." : undefined }),
    ownKey: field("Shared key", ownKey),
    header: field("Header of the signature", header, { hint: HEADER_HINT }),
    limit: field("At most per second", limit, { hint: "Leave it empty for no limit." }),
  };
  const basic = h("div", { class: "pair-fields" }, fields.username, fields.password);
  const schemes = choice("Signing in", [["BEARER", "Bearer token"], ["BASIC", "User name and password"]], scheme, (chosen) => ((scheme = chosen), show()));
  const keyHint = h("p", { class: "hint" });
  const keys = choice("Shared key for signatures", keyOptions(hasSharedKey, isNew), key, (chosen) => ((key = chosen), show()));
  keys.append(keyHint);
  const off = wasEnabled ? undefined : h("p", { class: "hint" }, "Once it is switched on, the deliveries that were held are sent.");
  const element = h(
    "div",
    { class: "stack" },
    fields.name,
    fields.address,
    types.element,
    schemes,
    basic,
    keys,
    fields.ownKey,
    fields.header,
    fields.limit,
    h("div", { class: "stack tight" }, h("label", { class: "switch" }, enabled, h("span", {}, "Switched on")), off),
  );

  function show() {
    basic.hidden = scheme !== "BASIC";
    fields.ownKey.hidden = key !== "own";
    fields.header.hidden = key === "none";
    keyHint.textContent = KEY_HINTS[key];
  }
  show();

  const written = {
    keep: () => ({}),
    generate: () => ({ sharedKey: "generate" }),
    own: () => ({ sharedKey: ownKey.value }),
    none: () => (hasSharedKey ? { sharedKey: null } : {}),
  };
  const credentials = () => ({ type: "BASIC", username: username.value, ...(password.value !== "" && { password: password.value }) });

  const value = () => ({
    name: name.value.trim(),
    callbackUrl: address.value.trim(),
    eventTypes: types.value(),
    authentication: scheme === "BASIC" ? credentials() : { type: "BEARER" },
    ...written[key](),
    ...(key !== "none" && header.value.trim() !== "" && { signatureHeader: header.value.trim() }),
    ...(limit.value.trim() !== "" && { maxPerSecond: /^\d+$/.test(limit.value.trim()) ? Number(limit.value) : limit.value.trim() }),
    enabled: enabled.checked,
  });

  /** What can be told without the host. */
  const faults = () => {
    const now = value();
    const found = [];
    const add = (isWrong, path, message) => isWrong && found.push({ path, message });
    add(now.name === "", "$.name", "must not be empty");
    add(!/^https?:\/\/[^\s/]/.test(now.callbackUrl), "$.callbackUrl", "must begin with https://");
    add(now.eventTypes.length === 0, "$.eventTypes", "must not be empty: choose at least one, or all events");
    add(scheme === "BASIC" && now.authentication.username === "", "$.authentication.username", "must not be empty");
    add(scheme === "BASIC" && !isBasic && password.value === "", "$.authentication.password", "must not be empty");
    add(key === "own" && [...ownKey.value].length < 16, "$.sharedKey", "must be 16 to 128 printable characters");
    add(typeof now.maxPerSecond === "string" || now.maxPerSecond === 0, "$.maxPerSecond", "must be a whole number, 1 or more");
    return found;
  };

  const places = [
    [/^\$\.name$/, fields.name],
    [/^\$\.callbackUrl$/, fields.address],
    [/^\$\.eventTypes/, types],
    [/^\$\.authentication\.username$/, fields.username],
    [/^\$\.authentication\.password$/, fields.password],
    [/^\$\.sharedKey$/, fields.ownKey],
    [/^\$\.signatureHeader$/, fields.header],
    [/^\$\.maxPerSecond$/, fields.limit],
  ];

  return {
    element,
    value,
    /** What is kept as a draft: all but secrets. */
    kept() {
      const { authentication: { password: entered, ...signIn }, sharedKey, ...rest } = value();
      return { ...rest, authentication: signIn, key, isMissing: Boolean(entered || ownKey.value) };
    },
    missing: draft?.isMissing && "Passwords and keys were not kept: enter them again. ",
    check() {
      const found = faults();
      if (found.length > 0) throw new TillgateError({ code: "invalid", ...found[0], faults: found });
    },
    /** Shows faults at their fields; returns whether every fault has a field that is shown. */
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

function keyOptions(hasSharedKey, isNew) {
  const options = [["generate", hasSharedKey ? "Generate a new one" : "Generate"], ["own", "My own"], ["none", "None"]];
  return isNew || !hasSharedKey ? options : [["keep", "Keep"], ...options];
}
