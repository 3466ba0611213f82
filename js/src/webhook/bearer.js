/**
 * The scheme Bearer: a token of the sender's identity provider, checked in the order of `given.md`, 5.2. The algorithm is
 * always RS256, whatever the token says, and the key always comes from the published certificates. An accepted token is
 * remembered until it expires, for at most an hour.
 */

import { compactVerify, decodeProtectedHeader, importX509 } from "jose";

import { WebhookError } from "./error.js";

const ALGORITHM = "RS256";
const MIN_BITS = 2048;
const MAX_TOKEN_LENGTH = 8192;
const TOKEN = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*$/;

/** Forbidden in a token's header: keys that the token brings itself, and extensions. */
const FORBIDDEN = ["crit", "b64", "jwk", "jku", "x5c", "x5u"];

/** A sender has one token per address and uses it for almost an hour. */
const MAX_REMEMBERED = 256;
const MAX_REMEMBERED_MS = 3_600_000;

const reject = (code) => {
  throw new WebhookError({ code });
};

export class BearerScheme {
  #certificates;
  #expected;
  #toleranceMs;
  #now;
  /** The end of each accepted token's validity; the last one used is last. */
  #remembered = new Map();
  /** The keys of certificates, imported once. */
  #keys = new WeakMap();

  constructor({ certificates, audience, email, issuer, toleranceMs, now }) {
    this.#certificates = certificates;
    this.#expected = { audience, email, issuer };
    this.#toleranceMs = toleranceMs;
    this.#now = now;
  }

  /** Throws unless the value of the Authorization header has a valid token. */
  async verify(authorization) {
    const token = readToken(authorization);
    if (this.#isRemembered(token)) return;
    const kid = readKid(token);
    const certificate = await this.#certificates.get(kid);
    const now = this.#now();
    checkCertificate(certificate, now, this.#toleranceMs);
    const claims = readClaims(await this.#verifiedPayload(token, certificate));
    checkClaims(claims, this.#expected);
    checkTimes(claims, now, this.#toleranceMs);
    this.#remember(token, Math.min(claims.exp * 1000, certificate.notAfter, now + MAX_REMEMBERED_MS));
  }

  #isRemembered(token) {
    const until = this.#remembered.get(token);
    if (until === undefined) return false;
    this.#remembered.delete(token);
    const now = this.#now();
    // More time left than tokens are remembered for means that the clock was set back.
    if (now >= until || until - now > MAX_REMEMBERED_MS) return false;
    this.#remembered.set(token, until);
    return true;
  }

  #remember(token, until) {
    this.#remembered.set(token, until);
    if (this.#remembered.size > MAX_REMEMBERED) this.#remembered.delete(this.#remembered.keys().next().value);
  }

  async #verifiedPayload(token, certificate) {
    try {
      const { payload } = await compactVerify(token, await this.#keyOf(certificate), { algorithms: [ALGORITHM] });
      return payload;
    } catch {
      return reject("bad_signature");
    }
  }

  #keyOf(certificate) {
    let key = this.#keys.get(certificate);
    if (key === undefined) this.#keys.set(certificate, (key = importX509(certificate.pem, ALGORITHM)));
    return key;
  }
}

/** Returns the header's token, if it has the form of one. */
function readToken(authorization) {
  if (authorization === undefined) reject("missing_token");
  const [, token] = /^Bearer (.*)$/is.exec(authorization) ?? reject("wrong_scheme");
  if (token.length > MAX_TOKEN_LENGTH) reject("oversized_token");
  if (!TOKEN.test(token)) reject("malformed_token");
  return token;
}

/** Returns the id of the certificate that verifies a token. Until then, nothing may depend on the algorithm. */
function readKid(token) {
  let header;
  try {
    header = decodeProtectedHeader(token);
  } catch {
    reject("malformed_token");
  }
  if (header.alg !== ALGORITHM) reject("wrong_algorithm");
  if (FORBIDDEN.some((name) => Object.hasOwn(header, name))) reject("forbidden_header");
  if (typeof header.typ !== "string" || header.typ.toUpperCase() !== "JWT") reject("wrong_type");
  if (typeof header.kid !== "string" || header.kid === "") reject("missing_kid");
  return header.kid;
}

function checkCertificate({ notBefore, notAfter, bits }, now, toleranceMs) {
  if (bits < MIN_BITS) reject("weak_key");
  if (now < notBefore - toleranceMs) reject("certificate_not_yet_valid");
  if (now > notAfter) reject("certificate_expired");
}

function readClaims(payload) {
  let claims;
  try {
    claims = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(payload));
  } catch {
    reject("malformed_token");
  }
  if (claims === null || typeof claims !== "object" || Array.isArray(claims)) reject("malformed_token");
  return claims;
}

/** Each claim must be exactly the expected one; an `aud` with several audiences is for other receivers too. */
function checkClaims({ aud, email, email_verified, iss }, expected) {
  if (aud !== expected.audience) reject("wrong_audience");
  if (email !== expected.email) reject("wrong_email");
  if (email_verified !== true) reject("email_not_verified");
  if (iss !== expected.issuer) reject("wrong_issuer");
}

/** The sender renews a token well before it expires, so only its start needs a tolerance. */
function checkTimes({ exp, nbf, iat }, now, toleranceMs) {
  if (!Number.isFinite(exp)) reject("missing_expiry");
  if (now >= exp * 1000) reject("expired");
  for (const time of [nbf, iat]) {
    if (time === undefined) continue;
    if (!Number.isFinite(time)) reject("malformed_token");
    if (time * 1000 > now + toleranceMs) reject("not_yet_valid");
  }
}
