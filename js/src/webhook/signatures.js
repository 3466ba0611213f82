/**
 * The signatures of a delivery under the shared key of its webhook (`webhooks.md`, "A delivery"). The module decides, as
 * in the host that has made them, and compares in constant time.
 */

import { TillgateError } from "../shared/error.js";
import { WebhookError } from "./error.js";
import { signature } from "./signature.js";

export const SIGNATURE_HEADER = "x-service-signature";
export const BODY_SIGNATURE_HEADER = "x-service-body-signature";

const REASONS = { malformed: "malformed_signature", mismatch: "signature_mismatch" };
const BODY_REASONS = {
  malformed: "malformed_body_signature",
  mismatch: "body_signature_mismatch",
  too_old: "body_signature_too_old",
  too_new: "body_signature_too_new",
};

/** What is wrong with a shared key; undefined if it can be one. */
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

  /** `requireBody` is whether the signature of the body must be there. */
  constructor({ sharedKeys, header, requireBody, toleranceSeconds, now }) {
    this.#options = { sharedKeys, header, requireBody, toleranceSeconds, now };
  }

  /** The headers that are read, in lower case. */
  get headers() {
    return [this.#options.header, BODY_SIGNATURE_HEADER];
  }

  /** Throws unless the data is signed, and the body too if it is signed or must be. */
  verify(headers, { text, envelope }) {
    const { header, requireBody, toleranceSeconds, now } = this.#options;
    const ofData = headers.get(header);
    if (ofData === undefined) throw new WebhookError({ code: "missing_signature" });
    this.#verify({ op: "verify", data: envelope.data, signature: ofData }, REASONS);
    const ofBody = headers.get(BODY_SIGNATURE_HEADER);
    if (ofBody !== undefined) {
      const times = { now: Math.floor(now() / 1000), toleranceSeconds };
      this.#verify({ op: "verifyBody", id: envelope.id, body: text, signature: ofBody, ...times }, BODY_REASONS);
    } else if (requireBody) {
      throw new WebhookError({ code: "missing_body_signature" });
    }
  }

  /** One of the keys must match; a signature that is wrong for another reason is wrong under every key. */
  #verify(call, reasons) {
    if (!/^[\x20-\x7e]*$/.test(call.signature)) throw new WebhookError({ code: reasons.malformed });
    for (const sharedKey of this.#options.sharedKeys) {
      const { valid, reason } = signature({ ...call, sharedKey });
      if (valid) return;
      if (reason !== "mismatch") throw new WebhookError({ code: reasons[reason] });
    }
    throw new WebhookError({ code: reasons.mismatch });
  }
}
