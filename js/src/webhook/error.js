/**
 * The reason why a delivery is not accepted. `status` is the status to answer with: 401, 400 and 413 reject it, 503 asks the
 * sender to try again because it cannot be verified now. Messages are fixed texts: they never contain a token, a claim or a
 * secret, so errors may be logged.
 */

import { TillgateError } from "../shared/error.js";

export class WebhookError extends TillgateError {
  constructor({ code, cause, retryAfterMs }) {
    const [status, message] = REASONS[code];
    super({ code, message, status, cause });
    if (retryAfterMs !== undefined) this.retryAfterMs = retryAfterMs;
  }
}

Object.defineProperty(WebhookError.prototype, "name", { value: "WebhookError", configurable: true, writable: true });

const REASONS = {
  duplicate_header: [400, "a header that decides about the delivery is there more than once"],
  body_too_large: [413, "the body is larger than `maxBodyBytes`"],
  malformed_body: [400, "the body is not the envelope of an event"],
  malformed_data: [400, "the event's data is not what its `datacontenttype` says"],

  wrong_scheme: [401, "the Authorization header has another scheme"],
  missing_credentials: [401, "there is no Authorization header"],
  malformed_credentials: [401, "the credentials are malformed"],
  wrong_credentials: [401, "the username or the password is wrong"],

  missing_token: [401, "there is no Authorization header"],
  oversized_token: [401, "the token is too long"],
  malformed_token: [401, "the token is malformed"],
  wrong_algorithm: [401, "the token is not signed with RS256"],
  wrong_type: [401, "the token's type is not JWT"],
  forbidden_header: [401, "the token's header names a key or an extension"],
  missing_kid: [401, "the token does not name its certificate"],
  unknown_kid: [401, "the token's certificate is not published"],
  weak_key: [401, "the certificate's key has less than 2048 bits"],
  certificate_expired: [401, "the certificate has expired"],
  certificate_not_yet_valid: [401, "the certificate is not valid yet"],
  bad_signature: [401, "the token's signature is wrong"],
  wrong_audience: [401, "the token is for another audience"],
  wrong_email: [401, "the token is from another service account"],
  email_not_verified: [401, "the token's e-mail address is not verified"],
  wrong_issuer: [401, "the token is from another issuer"],
  missing_expiry: [401, "the token does not say when it expires"],
  expired: [401, "the token has expired"],
  not_yet_valid: [401, "the token is not valid yet: one of the clocks is wrong"],

  missing_signature: [401, "the data is not signed"],
  malformed_signature: [401, "the signature is malformed"],
  signature_mismatch: [401, "the signature does not match the data and the key"],
  missing_body_signature: [401, "the body is not signed"],
  malformed_body_signature: [401, "the body's signature is malformed"],
  body_signature_mismatch: [401, "the body's signature does not match the body and the key"],
  body_signature_too_old: [401, "the body's signature is too old"],
  body_signature_too_new: [401, "the body's signature is from the future: one of the clocks is wrong"],

  certificates_unavailable: [503, "the certificates cannot be fetched"],
};
