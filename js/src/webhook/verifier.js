/**
 * The receiver's side of a webhook: verifies a delivery and returns its event (`webhooks.md`, "Verifying as a receiver"). It
 * checks the sender first, then the body, then the signatures under the shared key. It does not receive requests or remember
 * events: `examples/receiver` does.
 */

import { BasicScheme } from "./basic.js";
import { BearerScheme } from "./bearer.js";
import { FixedCertificates, PublishedCertificates } from "./certificates.js";
import { WebhookError } from "./error.js";
import { WebhookEvent, readEnvelope, toBytes } from "./event.js";
import { readHeaders } from "./headers.js";
import { readOptions } from "./options.js";
import { Signatures } from "./signatures.js";

export { WebhookError } from "./error.js";
export { WebhookEvent } from "./event.js";

export class WebhookVerifier {
  #scheme;
  #signatures;
  #maxBodyBytes;
  #headers;

  constructor(given) {
    const options = readOptions(given);
    this.#scheme = options.scheme === "BEARER" ? bearer(options) : new BasicScheme(options);
    if (options.signatures !== undefined) this.#signatures = new Signatures({ ...options, ...options.signatures });
    this.#maxBodyBytes = options.maxBodyBytes;
    this.#headers = ["authorization", ...(this.#signatures?.headers ?? [])];
  }

  /** Returns the event of a delivery. Throws a `WebhookError` if it is not acceptable; answer with the error's `status`. */
  async verify({ headers, body } = {}) {
    const values = readHeaders(headers, this.#headers);
    const bytes = toBytes(body);
    if (bytes.length > this.#maxBodyBytes) throw new WebhookError({ code: "body_too_large" });
    await this.#scheme.verify(values.get("authorization"));
    const read = readEnvelope(bytes);
    this.#signatures?.verify(values, read);
    return new WebhookEvent(read.envelope);
  }
}

function bearer({ certificatesUrl: url, certificates: fixed, fetch, now, toleranceSeconds, ...expected }) {
  const certificates = fixed === undefined ? new PublishedCertificates({ url, fetch, now }) : new FixedCertificates(fixed);
  return new BearerScheme({ ...expected, certificates, now, toleranceMs: toleranceSeconds * 1000 });
}
