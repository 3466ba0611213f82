/**
 * The checks of a delivery's signatures, decided by the module: of the text of `data`, and of the whole body with its time.
 */

import { TillgateError } from "../../js/src/shared/error.js";
import { readEnvelope as readStrictly, toBytes } from "../../js/src/webhook/event.js";
import { signature } from "../../js/src/webhook/signature.js";
import { durationText } from "../shared/time.js";
import { readEnvelope } from "./event-data.js";

const DATA = "Signature of the data";
const BODY = "Signature of the whole body";
const ENVELOPE = "Envelope";

const DATA_HEADER = "X-Service-Signature";
const BODY_HEADER = "X-Service-Body-Signature";

const MISMATCH = "It does not match. Either the shared key is another one, or the content is not exactly what was sent.";
const REFORMATTED = "The body has line breaks, and a delivery has none: it may have been formatted after it was received.";

/** The checks; `only` takes the one value of a header. */
export function signatureChecks({ headers, body, only }, { sharedKey, signatureHeader = DATA_HEADER }, now) {
  const envelope = readEnvelope(body);
  const checks = [envelopeCheck(envelope, body)];
  if (checks[0].state !== "pass") return checks;
  const given = [
    [DATA, only(headers, signatureHeader), (value) => ({ op: "verify", data: envelope.data, signature: value })],
    [BODY, only(headers, BODY_HEADER), (value) => ({ op: "verifyBody", id: envelope.id, body, signature: value, now: Math.floor(now / 1000) })],
  ];
  return [...checks, ...given.map(([title, header, call]) => signatureCheck(title, header, sharedKey, call, { body, now }))];
}

function envelopeCheck(envelope, body) {
  const title = ENVELOPE;
  if (body === "") return { title, state: "open", detail: "Paste the body." };
  if (envelope === undefined) return { title, state: "fail", detail: "The body is not a JSON object." };
  const missing = ["id", "data"].filter((name) => typeof envelope[name] !== "string");
  if (missing.length > 0) return { title, state: "fail", detail: `The body has no ${missing.join(" and no ")}.` };
  if (!isAccepted(body)) return { title, state: "fail", detail: "A receiver does not take it: a member is there twice, time or type is missing, or data is not plain base64." };
  return { title, state: "pass", detail: `${envelope.type}, ${envelope.id}.` };
}

function isAccepted(body) {
  try {
    readStrictly(toBytes(body));
    return true;
  } catch {
    return false;
  }
}

function signatureCheck(title, header, sharedKey, call, { body, now }) {
  if (!sharedKey) {
    const isSigned = header.fault === undefined;
    return { title, state: "open", detail: isSigned ? "Enter the shared key." : `${header.fault} Webhooks without a shared key send none.` };
  }
  // Receivers need not check the body's signature, and a request from before it was sent has none.
  if (header.fault !== undefined) return { title, state: title === BODY && header.fault.startsWith("There is no") ? "open" : "fail", detail: header.fault };
  const answer = verified({ ...call(header.value), sharedKey });
  if (answer.valid) return { title, state: "pass", detail: title === BODY ? `It matches, and was made ${agoText(header.value, now)}.` : "It matches." };
  return { title, state: "fail", detail: reasonText(answer.reason, header.value, { title, body, now, isTrimmed: isRightWhenTrimmed(sharedKey, (key) => ({ ...call(header.value), sharedKey: key })) }) };
}

/** The answer of the module; a shared key that cannot be one is a reason too. */
function verified(call) {
  try {
    return signature(call);
  } catch (error) {
    if (!(error instanceof TillgateError) || error.code !== "invalid") throw error;
    const isKey = error.faults.some(({ path }) => path === "$.sharedKey");
    return { valid: false, reason: isKey ? "key" : "unreadable" };
  }
}

/** Keys are often copied with a space or a line break at their end. */
function isRightWhenTrimmed(sharedKey, call) {
  const trimmed = sharedKey.trim();
  return trimmed !== sharedKey && verified(call(trimmed)).valid;
}

function reasonText(reason, value, { title, body, now, isTrimmed }) {
  if (isTrimmed) return "It matches without the spaces around the shared key.";
  switch (reason) {
    case "key":
      return "A shared key has 16 to 128 printable characters.";
    case "malformed":
      return `It must read ${title === BODY ? "t=<seconds>,HS256=" : "HS256="} and 64 digits 0 to 9 and a to f.`;
    case "too_old":
      return `It matches, but was made ${agoText(value, now)}. Receivers reject what is older than 5 minutes.`;
    case "too_new":
      return `It matches, but was made ${agoText(value, now)}. One of the clocks is wrong.`;
    case "unreadable":
      return "The event’s id cannot be one.";
    default:
      return title === BODY && /[\r\n]/.test(body.trim()) ? `${MISMATCH} ${REFORMATTED}` : MISMATCH;
  }
}

/** When a body signature was made. */
function agoText(value, now) {
  const ms = now - 1000 * Number(/^t=(\d+)/.exec(value)?.[1]);
  return ms >= 0 ? `${durationText(ms)} ago` : `${durationText(-ms)} in the future`;
}
