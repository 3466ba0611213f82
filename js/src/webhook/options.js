/**
 * Reads the options of a `WebhookVerifier`. Anything that would make it check less than intended is an error: a missing
 * audience, an unknown option, a shared key that is undefined because a setting is missing.
 */

import { Faults, isObject, isText } from "../shared/faults.js";
import { parseCertificate } from "./certificate.js";
import { BODY_SIGNATURE_HEADER, SIGNATURE_HEADER, STANDARD_HEADERS, faultOfSharedKey } from "./signatures.js";

const DEFAULT_TOLERANCE_S = 300;
const MAX_TOLERANCE_S = 86_400;
const DEFAULT_BODY_BYTES = 1024 * 1024;
/** The most shared keys: a webhook has two while its key is being replaced. */
const MAX_KEYS = 4;

const COMMON = ["scheme", "sharedKey", "signatureHeader", "requireBodySignature", "toleranceSeconds", "maxBodyBytes", "now"];
const SCHEMES = {
  BEARER: ["audience", "email", "issuer", "certificatesUrl", "certificates", "fetch"],
  BASIC: ["username", "password", "credentials"],
};

const HEADER_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/;
const LOOPBACK = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/;

/** The options with their defaults. Throws an error with every fault. */
export function readOptions(options) {
  const faults = new Faults();
  if (!isObject(options)) faults.add("$", "the options must be an object");
  else if (!Object.hasOwn(SCHEMES, options.scheme)) faults.add("$.scheme", "must be BEARER or BASIC");
  faults.throwIfAny();

  checkNames(options, faults);
  const { now = Date.now, maxBodyBytes = DEFAULT_BODY_BYTES, toleranceSeconds = DEFAULT_TOLERANCE_S } = options;
  const common = { scheme: options.scheme, now, maxBodyBytes, toleranceSeconds };
  if (typeof now !== "function") faults.add("$.now", "must be a function that returns milliseconds since 1970");
  checkNumber("maxBodyBytes", maxBodyBytes, 1, Number.MAX_SAFE_INTEGER, faults);
  checkNumber("toleranceSeconds", toleranceSeconds, 0, MAX_TOLERANCE_S, faults);
  const ofScheme = options.scheme === "BEARER" ? readBearer(options, faults) : readBasic(options, faults);
  const signatures = readSignatures(options, faults);
  faults.throwIfAny();
  return { ...common, ...ofScheme, signatures };
}

function checkNames({ scheme, ...options }, faults) {
  const names = [...COMMON, ...SCHEMES[scheme]];
  for (const name of Object.keys(options)) {
    if (!names.includes(name)) faults.add(`$.${name}`, `is not an option of the scheme ${scheme}`);
  }
}

function checkNumber(name, value, min, max, faults) {
  if (!Number.isSafeInteger(value) || value < min || value > max) {
    faults.add(`$.${name}`, `must be a whole number from ${min} to ${max}`);
  }
}

function readBearer(options, faults) {
  const { audience, email, issuer, certificatesUrl, certificates, fetch = globalThis.fetch } = options;
  for (const [name, value] of Object.entries({ audience, email, issuer })) {
    if (!isText(value)) faults.add(`$.${name}`, "must be a string that is not empty: the token is compared with it");
  }
  if (typeof fetch !== "function") faults.add("$.fetch", "must be a function");
  if ((certificatesUrl === undefined) === (certificates === undefined)) {
    faults.add("$.certificatesUrl", "must be there, or `certificates` instead");
  } else if (certificates === undefined) {
    checkUrl(certificatesUrl, faults);
  } else {
    checkCertificates(certificates, faults);
  }
  return { audience, email, issuer, certificatesUrl: String(certificatesUrl), certificates, fetch: fetch?.bind?.(globalThis) };
}

function checkUrl(text, faults) {
  let url;
  try {
    url = new URL(text);
  } catch {
    faults.add("$.certificatesUrl", "must be a URL");
    return;
  }
  const isSafe = url.protocol === "https:" || (url.protocol === "http:" && LOOPBACK.test(url.hostname));
  if (!isSafe) faults.add("$.certificatesUrl", "must be an https URL; http is for this machine only");
  if (url.username !== "" || url.password !== "") faults.add("$.certificatesUrl", "must not contain credentials");
}

function checkCertificates(certificates, faults) {
  const published = isObject(certificates) ? Object.entries(certificates) : [];
  if (published.length === 0) faults.add("$.certificates", "must be an object of certificates by their ids");
  for (const [kid, text] of published) {
    if (parseCertificate(text) === undefined) {
      faults.add(`$.certificates[${JSON.stringify(kid)}]`, "must be a certificate with an RSA key, in PEM");
    }
  }
}

function readBasic({ username, password, credentials }, faults) {
  const isSingle = credentials === undefined;
  if (!isSingle && (username !== undefined || password !== undefined)) {
    faults.add("$.credentials", "must not be there together with `username` and `password`");
  }
  const list = isSingle ? [{ username, password }] : credentials;
  if (!Array.isArray(list) || list.length === 0) {
    faults.add("$.credentials", "must be an array of at least one `{ username, password }`");
    return {};
  }
  list.forEach((one, index) => checkCredentials(one, isSingle ? "$" : `$.credentials[${index}]`, faults));
  return { credentials: list };
}

function checkCredentials(credentials, path, faults) {
  const { username, password } = credentials ?? {};
  if (!isText(username) || username.includes(":")) faults.add(`${path}.username`, "must be a string that is not empty, without a colon");
  if (!isText(password)) faults.add(`${path}.password`, "must be a string that is not empty");
}

/** Returns what to check with the shared key; undefined if the webhook has none. */
function readSignatures(options, faults) {
  const { sharedKey, signatureHeader = SIGNATURE_HEADER, requireBodySignature = false } = options;
  if (typeof requireBodySignature !== "boolean") faults.add("$.requireBodySignature", "must be true or false");
  if (!HEADER_NAME.test(signatureHeader) || isReserved(signatureHeader)) {
    faults.add("$.signatureHeader", "must be the name of a header");
  }
  if (!Object.hasOwn(options, "sharedKey")) {
    for (const name of ["signatureHeader", "requireBodySignature"]) {
      if (options[name]) faults.add(`$.${name}`, "needs a `sharedKey`");
    }
    return undefined;
  }
  const sharedKeys = Array.isArray(sharedKey) ? [...sharedKey] : [sharedKey];
  if (sharedKeys.length === 0 || sharedKeys.length > MAX_KEYS) faults.add("$.sharedKey", `must have 1 to ${MAX_KEYS} keys`);
  sharedKeys.slice(0, MAX_KEYS).forEach((key, index) => {
    const fault = faultOfSharedKey(key ?? null);
    if (fault !== undefined) faults.add(Array.isArray(sharedKey) ? `$.sharedKey[${index}]` : "$.sharedKey", fault);
  });
  return { sharedKeys, header: String(signatureHeader).toLowerCase(), requireBody: requireBodySignature };
}

const isReserved = (name) => ["authorization", BODY_SIGNATURE_HEADER, ...STANDARD_HEADERS].includes(String(name).toLowerCase());
