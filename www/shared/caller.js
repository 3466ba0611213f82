/**
 * The callers of the host: tokens of a client or a person, their permissions, and the ids that a caller gives.
 */

import { TillgateError } from "../../js/src/shared/error.js";
import { clientCredentials, toSource } from "../../js/src/shared/token.js";

/** The address of the host; the page is below it. Tests in Node have no page. */
export const HOST = new URL(".", globalThis.location ?? import.meta.url).href.replace(/\/$/, "");

/** How long signing in waits for one answer. */
const ANSWER_MS = 4000;

/** The audience of tokens, which the host has told the page. */
export const audience = () => document.querySelector("meta[name=tillgate-audience]").content;

/** A source of a client's tokens, or of a given token or source. */
export const tokensOf = ({ clientId, clientSecret, token }) =>
  toSource(token ?? clientCredentials({ tokenUrl: `${HOST}/oauth2/token`, clientId, clientSecret, audience: audience(), fetch: fetchInTime }));

/** The tenant and the permissions of the caller: `{ tenantId, permissions }`. */
export const readCaller = (host) => inTime(host.request("/api/v1/caller").then((response) => response.json()));

const fetchInTime = (url, options) => fetch(url, { ...options, signal: AbortSignal.timeout(ANSWER_MS) });

/** The result of a promise; an error if there is none in time. */
async function inTime(promise) {
  let timer;
  const late = new Promise((_, reject) => {
    const error = new TillgateError({ code: "unavailable", message: "the host does not answer" });
    timer = setTimeout(() => reject(error), ANSWER_MS);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/** A random UUID. `crypto.randomUUID` exists only on pages loaded over TLS. */
export function randomId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}
