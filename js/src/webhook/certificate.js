/**
 * Reads the parts of an X.509 certificate that a receiver needs: its RSA key, that key's length, and when it is valid.
 * Certificates come from a trusted address, so their own signatures are not checked. This works in every runtime; Node's
 * `X509Certificate` does not exist in browsers and workers.
 */

import { fromBase64 } from "../shared/base64.js";

const PEM = /^\s*(-----BEGIN CERTIFICATE-----([A-Za-z0-9+/=\s]+)-----END CERTIFICATE-----)/;

const INTEGER = 0x02;
const BIT_STRING = 0x03;
const OBJECT_ID = 0x06;
const UTC_TIME = 0x17;
const GENERALIZED_TIME = 0x18;
const SEQUENCE = 0x30;
const VERSION = 0xa0;

/** 1.2.840.113549.1.1.1, rsaEncryption. */
const RSA = "2a864886f70d010101";

/**
 * Returns `{ pem, notBefore, notAfter, publicKey, bits }`, times in milliseconds since 1970, the key as SubjectPublicKeyInfo;
 * undefined if it is not a certificate with an RSA key.
 */
export function parseCertificate(text) {
  try {
    const [, pem, base64] = PEM.exec(text);
    const signed = new Der(fromBase64(base64.replace(/\s/g, ""))).enter(SEQUENCE).enter(SEQUENCE);
    if (signed.tag === VERSION) signed.read(VERSION);
    signed.read(INTEGER); // the serial number
    signed.read(SEQUENCE); // the signature algorithm
    signed.read(SEQUENCE); // the issuer
    const validity = signed.enter(SEQUENCE);
    const [notBefore, notAfter] = [validity.time(), validity.time()];
    signed.read(SEQUENCE); // the subject
    const publicKey = signed.whole(SEQUENCE);
    const bits = rsaBits(new Der(publicKey).enter(SEQUENCE));
    return { pem, notBefore, notAfter, publicKey, bits };
  } catch {
    return undefined;
  }
}

/** The length of the modulus of an RSA key. */
function rsaBits(key) {
  const algorithm = key.enter(SEQUENCE).read(OBJECT_ID);
  if (hex(algorithm) !== RSA) throw new Error("not an RSA key");
  const content = key.read(BIT_STRING).subarray(1); // without the number of unused bits
  const modulus = new Der(content).enter(SEQUENCE).read(INTEGER);
  const first = modulus.findIndex((byte) => byte !== 0);
  if (first < 0) throw new Error("the modulus is zero");
  return (modulus.length - first) * 8 - (Math.clz32(modulus[first]) - 24);
}

const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

/** Reads DER elements, one after another. Anything unexpected is an error. */
class Der {
  #bytes;
  #at = 0;

  constructor(bytes) {
    this.#bytes = bytes;
  }

  /** The tag of the next element. */
  get tag() {
    return this.#bytes[this.#at];
  }

  /** Returns the content of the next element, which must have this tag. */
  read(tag) {
    if (this.tag !== tag) throw new Error("another element was expected");
    this.#at += 1;
    const length = this.#length();
    const end = this.#at + length;
    if (end > this.#bytes.length) throw new Error("the element is cut off");
    const content = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return content;
  }

  /** Returns the next element with its tag and its length. */
  whole(tag) {
    const begin = this.#at;
    this.read(tag);
    return this.#bytes.subarray(begin, this.#at);
  }

  /** Enters the next element and returns its elements. */
  enter(tag) {
    return new Der(this.read(tag));
  }

  /** Reads a time: with a two-digit year until 2049, with four digits from 2050 on. */
  time() {
    const isShort = this.tag === UTC_TIME;
    const text = String.fromCharCode(...this.read(isShort ? UTC_TIME : GENERALIZED_TIME));
    const [, year, ...rest] = /^(\d\d(?:\d\d)?)(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/.exec(text);
    if (year.length !== (isShort ? 2 : 4)) throw new Error("not a time");
    const century = isShort ? (year < "50" ? 2000 : 1900) : 0;
    const [month, ...others] = rest.map(Number);
    return Date.UTC(century + Number(year), month - 1, ...others);
  }

  #length() {
    const first = this.#bytes[this.#at++];
    if (first < 0x80) return first;
    const count = first & 0x7f;
    if (!(count > 0 && count <= 4)) throw new Error("not a length");
    let length = 0;
    for (let read = 0; read < count; read += 1) length = length * 256 + this.#bytes[this.#at++];
    if (Number.isNaN(length)) throw new Error("the length is cut off");
    return length;
  }
}
