// A certificate for a test's key, as small as one can be: Node reads certificates but makes none.

import { sign } from "node:crypto";

const part = (tag, ...contents) => {
  const content = Buffer.concat(contents);
  const { length } = content;
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
};

const sequence = (...parts) => part(0x30, ...parts);
const SHA256_WITH_RSA = sequence(Buffer.from("06092a864886f70d01010b0500", "hex"));
const NAME = sequence(part(0x31, sequence(Buffer.from("0603550403", "hex"), part(0x0c, Buffer.from("tillgate")))));

/** Two digits of the year until 2049, four from 2050 on (RFC 5280, 4.1.2.5). */
function time(date) {
  const digits = new Date(date).toISOString().replace(/[-T:]|\.\d+/g, "");
  return digits < "2050" ? part(0x17, Buffer.from(digits.slice(2))) : part(0x18, Buffer.from(digits));
}

/** The PEM of a certificate of a key pair; `isOld` leaves the version out, as in certificates of version 1. */
export function certificateOf({ publicKey, privateKey }, { notBefore, notAfter, isOld = false }) {
  const version = isOld ? [] : [part(0xa0, part(0x02, Buffer.from([2])))];
  const key = publicKey.export({ type: "spki", format: "der" });
  const body = sequence(...version, part(0x02, Buffer.from([7])), SHA256_WITH_RSA, NAME, sequence(time(notBefore), time(notAfter)), NAME, key);
  const signature = part(0x03, Buffer.from([0]), sign(privateKey.asymmetricKeyType === "rsa" ? "sha256" : null, body, privateKey));
  const lines = sequence(body, SHA256_WITH_RSA, signature).toString("base64").match(/.{1,64}/g);
  return `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`;
}
