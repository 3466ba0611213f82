/**
 * What checking a token needs of an X.509 certificate: its public key, as WebCrypto imports it, and from when to when it is
 * valid. Walks the DER to these parts and reads nothing else; it does not verify who issued the certificate.
 */

import { fromBase64 } from "./event-data.js";

const SEQUENCE = 0x30;
const INTEGER = 0x02;
const VERSION = 0xa0;
const UTC_TIME = 0x17;
const GENERALIZED_TIME = 0x18;

const PEM = /-----BEGIN CERTIFICATE-----([A-Za-z0-9+/=\s]+)-----END CERTIFICATE-----/;

/** Reads a certificate in PEM: `{ publicKey, notBefore, notAfter }`; undefined when it is none. */
export function readCertificate(pem) {
  const bytes = fromBase64(PEM.exec(pem)?.[1].replace(/\s/g, "") ?? "");
  if (bytes === undefined || bytes.length === 0) return undefined;
  try {
    return readFields(bytes);
  } catch {
    return undefined;
  }
}

/** RFC 5280, 4.1: version (optional), serial number, algorithm, issuer, validity, subject, public key. */
function readFields(bytes) {
  const [certificate] = partsOf(bytes, 0, bytes.length);
  const [body] = inside(bytes, expected(certificate, SEQUENCE));
  const fields = inside(bytes, expected(body, SEQUENCE)).filter(({ tag }) => tag !== VERSION);
  const [serial, , , validity, , publicKey] = fields;
  expected(serial, INTEGER);
  const [notBefore, notAfter] = inside(bytes, expected(validity, SEQUENCE)).map((time) => timeOf(bytes, time));
  const { start, end } = expected(publicKey, SEQUENCE);
  return { publicKey: bytes.slice(start, end), notBefore, notAfter };
}

function expected(part, tag) {
  if (part?.tag !== tag) throw new Error("another part of the certificate was expected");
  return part;
}

const inside = (bytes, { content, end }) => partsOf(bytes, content, end);

/** The parts from `at` to `end`: `{ tag, start, content, end }`, each with a definite length. */
function partsOf(bytes, at, end) {
  const parts = [];
  let start = at;
  while (start < end) {
    const { length, content } = lengthAt(bytes, start + 1);
    const part = { tag: bytes[start], start, content, end: content + length };
    if (part.end > end) throw new Error("a part of the certificate is cut off");
    parts.push(part);
    start = part.end;
  }
  return parts;
}

/** A length: one byte, or up to three bytes after a byte that says how many. */
function lengthAt(bytes, at) {
  const first = bytes[at];
  if (first < 0x80) return { length: first, content: at + 1 };
  const count = first - 0x80;
  if (!(count >= 1 && count <= 3)) throw new Error("a length of the certificate is not definite");
  const length = bytes.slice(at + 1, at + 1 + count).reduce((sum, byte) => sum * 256 + byte, 0);
  return { length, content: at + 1 + count };
}

/** A time in milliseconds: YYMMDDHHMMSSZ, where the years from 50 are of the last century, or with all of the year. */
function timeOf(bytes, { tag, content, end }) {
  const text = String.fromCharCode(...bytes.slice(content, end));
  const full = tag === UTC_TIME ? `${text.slice(0, 2) < "50" ? "20" : "19"}${text}` : tag === GENERALIZED_TIME ? text : "";
  const [, ...parts] = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/.exec(full) ?? [];
  if (parts.length === 0) throw new Error("a time of the certificate cannot be read");
  const [year, month, day, hour, minute, second] = parts.map(Number);
  return Date.UTC(year, month - 1, day, hour, minute, second);
}
