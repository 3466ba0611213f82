/**
 * The scheme Basic: compares a username and a password with those that the webhook was created with. Several can be valid at
 * once, so that changing a password loses no delivery.
 */

import { fromBase64 } from "../shared/base64.js";
import { WebhookError } from "./error.js";

export class BasicScheme {
  #credentials;
  #digests;

  constructor({ credentials }) {
    this.#credentials = credentials;
  }

  /** Throws unless the value of the Authorization header has valid credentials. */
  async verify(authorization) {
    if (authorization === undefined) throw new WebhookError({ code: "missing_credentials" });
    const [, sent] = /^Basic (.*)$/i.exec(authorization) ?? [];
    if (sent === undefined) throw new WebhookError({ code: "wrong_scheme" });
    const given = fromBase64(sent);
    if (given === undefined) throw new WebhookError({ code: "malformed_credentials" });
    this.#digests ??= Promise.all(this.#credentials.map(digestOf));
    const [actual, expected] = await Promise.all([digest(given), this.#digests]);
    // All are compared, each to its end, so that the time does not reveal how much of a guess was right.
    const matching = expected.filter((one) => isEqual(one, actual));
    if (matching.length === 0) throw new WebhookError({ code: "wrong_credentials" });
  }
}

/** Digests have the same length, whatever was sent. */
const digest = async (bytes) => new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));

const digestOf = ({ username, password }) => digest(new TextEncoder().encode(`${username}:${password}`));

function isEqual(one, other) {
  let difference = 0;
  for (let at = 0; at < one.length; at += 1) difference |= one[at] ^ other[at];
  return difference === 0;
}
