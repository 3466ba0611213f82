/**
 * The checks of a delivery's credentials: each step of verifying its bearer token, or the comparison of its user name and
 * password. The browser verifies the token's signature; nothing is sent anywhere.
 */

import { fromBase64 } from "../../js/src/shared/base64.js";
import { parseCertificate } from "../../js/src/webhook/certificate.js";
import { figure } from "../shared/locale.js";
import { dayText, durationText, timeText } from "../shared/time.js";

const RS256 = { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" };
const MIN_BITS = 2048;
const MAX_TOKEN = 8192;

/** How far in the future a token may start: the clocks of two computers differ. */
const TOLERANCE_MS = 300_000;

/** Header members by which a token would name its own key, or ask for more than a receiver understands. */
const FORBIDDEN = ["crit", "b64", "jwk", "jku", "x5c", "x5u"];

const pass = (title, detail) => ({ title, state: "pass", detail });
const fail = (title, detail) => ({ title, state: "fail", detail });
const open = (title, detail) => ({ title, state: "open", detail });

/** The checks of a bearer token without its prefix. */
export async function bearerChecks(token, { certificates, audience, email, issuer }, now) {
  const read = readToken(token);
  if (read.check.state !== "pass") return [read.check];
  const { header, claims, signed, signature } = read;
  const certificate = certificateCheck(header.kid, certificates, now);
  return [
    read.check,
    certificate.check,
    await tokenSignatureCheck(certificate, signed, signature),
    audienceCheck(claims.aud, audience),
    emailCheck(claims, email),
    compared("Issuer", claims.iss, issuer, "Enter the issuer that you expect."),
    timeCheck(claims, now),
  ];
}

/** Reads a token: its check and, if it passes, its parts, none of which is trusted yet. */
function readToken(token) {
  const title = "The token can be read";
  if (/[…*]/.test(token) || token === "") return { check: open(title, "The token was left out here. Paste it as your receiver got it.") };
  if (token.length > MAX_TOKEN) return { check: fail(title, "It is longer than 8,192 characters.") };
  const parts = token.split(".");
  if (parts.length !== 3 || parts.some((part) => !/^[\w-]+$/.test(part))) return { check: fail(title, "A token has three parts with dots between them, without spaces or line breaks.") };
  const [header, claims] = parts.slice(0, 2).map(readPart);
  const signature = fromBase64Url(parts[2]);
  if (!header || !claims || !signature) return { check: fail(title, "One of its parts is not valid in a token.") };
  if (header.alg !== "RS256") return { check: fail(title, `It is signed with ${shown(header.alg)}. Only RS256 is accepted.`) };
  const forbidden = FORBIDDEN.find((name) => Object.hasOwn(header, name));
  if (forbidden) return { check: fail(title, `Its header has “${forbidden}”, which could let a token bring its own key or rules.`) };
  if (String(header.typ).toUpperCase() !== "JWT") return { check: fail(title, `Its type is ${shown(header.typ)} and not “JWT”.`) };
  const check = pass(title, `Signed with RS256 by the key ${shown(header.kid)}.`);
  return { check, header, claims, signature, signed: new TextEncoder().encode(`${parts[0]}.${parts[1]}`) };
}

function readPart(part) {
  try {
    const value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(fromBase64Url(part)));
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

const fromBase64Url = (text) => fromBase64(text.replaceAll("-", "+").replaceAll("_", "/").padEnd(Math.ceil(text.length / 4) * 4, "="));

/** Finds the certificate of a key: its check and, if it exists, its public key and the length of that. */
function certificateCheck(kid, text, now) {
  const title = "Certificate";
  if (!text?.trim()) return { check: open(title, "Enter the certificates, or take this host’s.") };
  const map = readMap(text);
  if (map === undefined) return { check: fail(title, "The certificates must be a JSON object of key ids and certificates.") };
  if (typeof kid !== "string" || !Object.hasOwn(map, kid)) return { check: fail(title, `None of the ${Object.keys(map).length} certificates belongs to the key ${shown(kid)}. Are they up to date?`) };
  const certificate = parseCertificate(String(map[kid]));
  if (certificate === undefined) return { check: fail(title, "The certificate of this key cannot be read, or has no RSA key.") };
  const { notBefore, notAfter } = certificate;
  const period = `valid from ${dayText(notBefore)} to ${dayText(notAfter)}`;
  const isValid = now >= notBefore - TOLERANCE_MS && now <= notAfter;
  return { ...certificate, check: isValid ? pass(title, `There is one for this key, ${period}.`) : fail(title, `The certificate of this key is only ${period}.`) };
}

function readMap(text) {
  try {
    const map = JSON.parse(text);
    return typeof map === "object" && map !== null && !Array.isArray(map) ? map : undefined;
  } catch {
    return undefined;
  }
}

async function tokenSignatureCheck({ publicKey, bits }, signed, signature) {
  const title = "Signature of the token";
  if (publicKey === undefined) return open(title, "It needs the certificate.");
  if (bits < MIN_BITS) return fail(title, `Its key has ${figure(bits)} bits. At least 2,048 are required.`);
  if (globalThis.crypto?.subtle === undefined) return open(title, "Browsers check it only on https pages and on localhost.");
  return (await isSigned(publicKey, signed, signature)) ? pass(title, "It matches the certificate.") : fail(title, "It does not match the certificate: the token was changed, or signed with another key.");
}

async function isSigned(publicKey, signed, signature) {
  try {
    const key = await crypto.subtle.importKey("spki", publicKey, RS256, false, ["verify"]);
    return await crypto.subtle.verify(RS256, key, signature, signed);
  } catch {
    return false;
  }
}

function audienceCheck(aud, audience) {
  const result = compared("Audience", aud, audience, "Enter the address of the endpoint.");
  if (result.state !== "fail" || typeof aud !== "string") return result;
  const isNear = aud.toLowerCase().replace(/\/$/, "") === audience.toLowerCase().replace(/\/$/, "");
  return isNear ? fail(result.title, `${result.detail} They differ only in capital letters or in the slash at the end, but must be the same.`) : result;
}

function emailCheck({ email, email_verified: isVerified }, expected) {
  const result = compared("Sender’s e-mail", email, expected, "Enter the e-mail of the sender that you expect.");
  return result.state === "pass" && isVerified !== true ? fail(result.title, "The token does not say that the e-mail is verified.") : result;
}

function timeCheck({ exp, nbf, iat }, now) {
  const title = "Time";
  if (!Number.isFinite(exp)) return fail(title, "The token does not say when it expires.");
  const left = exp * 1000 - now;
  if (left <= 0) return fail(title, `Expired ${durationText(-left)} ago, at ${timeText(exp * 1000)}.`);
  const begin = [nbf, iat].find((time) => time !== undefined && !(time * 1000 <= now + TOLERANCE_MS));
  if (begin !== undefined) return fail(title, Number.isFinite(begin) ? `Valid only from ${timeText(begin * 1000)}. One of the clocks is wrong.` : "The token’s beginning is not a time.");
  return pass(title, `Valid until ${timeText(exp * 1000)}, for ${durationText(left)} more.`);
}

/** Compares a claim with the expected value. */
function compared(title, claim, expected, hint) {
  if (typeof claim !== "string") return fail(title, claim === undefined ? "The token does not have it." : `The token has ${shown(claim)} there, which is not text.`);
  if (!expected) return open(title, `The token says ${shown(claim)}. ${hint}`);
  return claim === expected ? pass(title, `${shown(claim)}.`) : fail(title, `The token says ${shown(claim)}.`);
}

/** The checks of a user name and a password. */
export function basicChecks(credentials, { username, password }) {
  const title = "User name and password";
  if (/[…*]/.test(credentials) || credentials === "") return [open(title, "They were left out here. Paste them as your receiver got them.")];
  const bytes = fromBase64(credentials);
  const text = bytes && new TextDecoder().decode(bytes);
  if (text === undefined || !text.includes(":")) return [fail(title, "They cannot be read: they must be base64 of the user name, a colon and the password.")];
  const [name, secret] = [text.slice(0, text.indexOf(":")), text.slice(text.indexOf(":") + 1)];
  if (!username || !password) return [open(title, `The user name is ${shown(name)}. Enter the user name and the password that you expect.`)];
  if (name !== username) return [fail(title, `The user name is ${shown(name)}.`)];
  return [secret === password ? pass(title, "Both are as expected.") : fail(title, "The password is different.")];
}

const shown = (value) => (typeof value === "string" ? `“${value}”` : value === undefined ? "none" : JSON.stringify(value));
