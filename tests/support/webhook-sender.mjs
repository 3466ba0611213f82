// A sender of webhooks as in their documentation: certificates made with openssl, tokens and signatures with `node:crypto`.
// Uses no part of the package or the module.

import { execFileSync } from "node:child_process";
import { constants, createHmac, createPrivateKey, sign } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { DEADLINE_MS } from "./wait.mjs";

export const CALLBACK_URL = "https://till.example/hook";
export const EMAIL = "webhooks@host.example";
export const ISSUER = "https://host.example";
export const SHARED_KEY = "a shared key of 31 characters ok";

/** A key and its certificate: `{ kid, key, pem }`. `newkey` is the kind that openssl generates. */
export function identity(kid, { newkey = ["rsa:2048"], days = 30 } = {}) {
  const folder = mkdtempSync(join(tmpdir(), "tillgate-certificate-"));
  const [keyout, out] = [join(folder, "key.pem"), join(folder, "certificate.pem")];
  try {
    const subject = ["-subj", "/CN=webhooks", "-days", String(days)];
    const args = ["req", "-x509", "-nodes", "-newkey", ...newkey, ...subject, "-keyout", keyout, "-out", out];
    execFileSync("openssl", args, { stdio: ["ignore", "ignore", "ignore"], timeout: DEADLINE_MS });
    return { kid, key: createPrivateKey(readFileSync(keyout)), pem: readFileSync(out, "utf8") };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const base64url = (value) => Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url");

/** Undefined members are left out, because JSON has none. */
export function token({ kid, key }, { header, claims, now = Date.now(), signature } = {}) {
  const iat = Math.floor(now / 1000);
  const subject = { azp: "104029", sub: "104029", email: EMAIL, email_verified: true };
  const payload = { aud: CALLBACK_URL, ...subject, iss: ISSUER, iat, exp: iat + 3600, ...claims };
  const signed = `${base64url({ alg: "RS256", kid, typ: "JWT", ...header })}.${base64url(typeof claims === "string" ? claims : payload)}`;
  return `${signed}.${(signature ?? rs256)(signed, key)}`;
}

const rs256 = (text, key) => sign("sha256", Buffer.from(text), { key, padding: constants.RSA_PKCS1_PADDING }).toString("base64url");

/** A token's signature under HS256. */
export const hs256 = (secret) => (text) => createHmac("sha256", secret).update(text).digest("base64url");

const hmac = (text, key) => `HS256=${createHmac("sha256", key).update(text).digest("hex")}`;

/** `X-Service-Signature`. */
export const dataSignature = (data, key = SHARED_KEY) => hmac(data, key);

/** `X-Service-Body-Signature`. */
export const bodySignature = ({ id = "e-1", t, body, key = SHARED_KEY }) => `t=${t},${hmac(`${id}.${t}.${body}`, key)}`;

/** The headers of Standard Webhooks, with a signature under each key. */
export function standardHeaders({ id = "e-1", t, body, keys = [SHARED_KEY] }) {
  const signatures = keys.map((key) => `v1,${createHmac("sha256", key).update(`${id}.${t}.${body}`).digest("base64")}`);
  return { "webhook-id": id, "webhook-timestamp": String(t), "webhook-signature": signatures.join(" ") };
}

/** An envelope; `value` is its data, and the rest replaces members. */
export function envelope({ value = { action: "CREATED", id: "beer" }, ...members } = {}) {
  return {
    id: "e-1",
    time: "2026-11-21T10:00:00.000Z",
    type: "entity-conditions.events.v1",
    datacontenttype: "application/json",
    data: Buffer.from(JSON.stringify(value)).toString("base64"),
    dataencoding: "base64",
    meta: {},
    source: "host.example",
    specversion: "1.0",
    ...members,
  };
}

/** A delivery of an envelope under the shared key: `{ headers, body }`. */
export function delivery({ authorization, event = envelope(), now = Date.now(), key = SHARED_KEY }) {
  const body = JSON.stringify(event);
  const t = Math.floor(now / 1000);
  const headers = {
    authorization,
    "content-type": "application/json",
    "correlation-id": "5b0e6f8e-2f0f-4d38-9a55-0f6b5e1f8a11",
    "x-service-signature": dataSignature(event.data, key),
    "x-service-body-signature": bodySignature({ id: event.id, t, body, key }),
  };
  return { headers, body: Buffer.from(body) };
}

/** An address that publishes certificates: `{ url, asked, answer, end }`. `answer` may be replaced. */
export async function certificateServer(identities) {
  const server = { asked: 0, answer: publish(identities) };
  const http = createServer((request, response) => {
    server.asked += 1;
    server.answer(response, request);
  });
  await new Promise((resolve) => http.listen(0, "127.0.0.1", resolve));
  server.url = `http://127.0.0.1:${http.address().port}/oauth2/v1/certs`;
  server.end = () => {
    http.close();
    http.closeAllConnections();
  };
  return server;
}

/** Answers with certificates, like a host. */
export const publish = (identities, headers = { "Cache-Control": "public, max-age=3600" }) => (response) => {
  const published = Object.fromEntries(identities.map(({ kid, pem }) => [kid, pem]));
  response.writeHead(200, { "Content-Type": "application/json", ...headers }).end(JSON.stringify(published));
};
