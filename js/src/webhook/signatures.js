/**
 * The signatures of a delivery under its webhook's shared key (`webhooks.md`, "A delivery"). The module decides, as in the
 * host that made them, and compares in constant time.
 *
 * If a delivery has the headers of Standard Webhooks, they decide: they cover all that the others do, and while a shared key
 * is being replaced they are signed with both keys, the others only with the old one.
 */

import { TillgateError } from "../shared/error.js";
import { WebhookError } from "./error.js";
import { signature } from "./signature.js";

export const SIGNATURE_HEADER = "x-service-signature";
export const BODY_SIGNATURE_HEADER = "x-service-body-signature";
/** The id, the time and the signatures of Standard Webhooks. */
export const STANDARD_HEADERS = ["webhook-id", "webhook-timestamp", "webhook-signature"];

const REASONS = { malformed: "malformed_signature", mismatch: "signature_mismatch" };
const BODY_REASONS = {
  malformed: "malformed_body_signature",
  mismatch: "body_signature_mismatch",
  too_old: "body_signature_too_old",
  too_new: "body_signature_too_new",
};

const PRINTABLE = /^[\x20-\x7e]*$/;

const STANDARD_REASONS = { ...BODY_REASONS, ...REASONS };

/** Returns what is wrong with a shared key; undefined if it is valid. */
export function faultOfSharedKey(sharedKey) {
  try {
    signature({ op: "sign", sharedKey, data: "" });
    return undefined;
  } catch (error) {
    if (!(error instanceof TillgateError) || error.code !== "invalid") throw error;
    return error.faults[0].message;
  }
}

export class Signatures {
  #options;

  /** With `requireBody` the body must be signed. */
  constructor({ sharedKeys, header, requireBody, toleranceSeconds, now }) {
    this.#options = { sharedKeys, header, requireBody, toleranceSeconds, now };
  }

  /** The headers that are read, in lower case. */
  get headers() {
    return [this.#options.header, BODY_SIGNATURE_HEADER, ...STANDARD_HEADERS];
  }

  /**
   * Throws unless Standard Webhooks headers sign the body; without them, unless the data is signed, and the body if it is or
   * must be.
   */
  verify(headers, { text, envelope }) {
    const { header, requireBody, toleranceSeconds, now } = this.#options;
    const times = { now: Math.floor(now() / 1000), toleranceSeconds };
    const standard = STANDARD_HEADERS.map((name) => headers.get(name));
    if (standard.some((value) => value !== undefined)) {
      if (!standard.every((value) => value !== undefined && PRINTABLE.test(value))) throw new WebhookError({ code: REASONS.malformed });
      const [id, timestamp, signed] = standard;
      this.#verify({ op: "verifyStandard", id, timestamp, body: text, signature: signed, ...times }, STANDARD_REASONS);
      return;
    }
    const ofData = headers.get(header);
    if (ofData === undefined) throw new WebhookError({ code: "missing_signature" });
    this.#verify({ op: "verify", data: envelope.data, signature: ofData }, REASONS);
    const ofBody = headers.get(BODY_SIGNATURE_HEADER);
    if (ofBody !== undefined) {
      this.#verify({ op: "verifyBody", id: envelope.id, body: text, signature: ofBody, ...times }, BODY_REASONS);
    } else if (requireBody) {
      throw new WebhookError({ code: "missing_body_signature" });
    }
  }

  /** One of the keys must match; a signature that is wrong for another reason is wrong under every key. */
  #verify(call, reasons) {
    if (!PRINTABLE.test(call.signature)) throw new WebhookError({ code: reasons.malformed });
    for (const sharedKey of this.#options.sharedKeys) {
      const { valid, reason } = signature({ ...call, sharedKey });
      if (valid) return;
      if (reason !== "mismatch") throw new WebhookError({ code: reasons[reason] });
    }
    throw new WebhookError({ code: reasons.mismatch });
  }
}
