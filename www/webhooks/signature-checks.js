/**
 * The checks of a delivery's signatures, decided by the module: those of Standard Webhooks, of the text of `data`, and of the
 * whole body with its time.
 */

import { fromBase64 } from "../../js/src/shared/base64.js";
import { TillgateError } from "../../js/src/shared/error.js";
import { readEnvelope as readStrictly, toBytes } from "../../js/src/webhook/event.js";
import { signature } from "../../js/src/webhook/signature.js";
import { STANDARD_HEADERS } from "../../js/src/webhook/signatures.js";
import { durationText } from "../shared/time.js";
import { readEnvelope } from "./event-data.js";

const STANDARD = "Signature of Standard Webhooks";
const DATA = "Signature of the data";
const BODY = "Signature of the whole body";
const ENVELOPE = "Envelope";

const DATA_HEADER = "X-Service-Signature";
const BODY_HEADER = "X-Service-Body-Signature";

/** The prefix of a shared key in the form for libraries of Standard Webhooks. */
const SECRET = "whsec_";

/** The form of each signature. */
const FORMS = {
  [STANDARD]: "webhook-id has 1 to 255 letters, digits, - and _, webhook-timestamp whole seconds, and webhook-signature v1, and base64.",
  [DATA]: "It must read HS256= and 64 digits 0 to 9 and a to f.",
  [BODY]: "It must read t=<seconds>,HS256= and 64 digits 0 to 9 and a to f.",
};

const MISMATCH = "It does not match. Either the shared key is different, or the content is not exactly what was sent.";
const REFORMATTED = "The body has line breaks, and a delivery has none: it may have been formatted after it was received.";
const BESIDE = "Receivers that verify Standard Webhooks do not read it. While a key is being replaced, it is made with the old one.";

/** The checks; `only` takes the one value of a header. Headers of Standard Webhooks, if any, decide. */
export function signatureChecks({ headers, body, only }, { sharedKey, signatureHeader = DATA_HEADER }, now) {
  const envelope = readEnvelope(body);
  const checks = [envelopeCheck(envelope, body)];
  if (checks[0].state !== "pass") return checks;
  const at = { body, now: Math.floor(now / 1000) };
  const given = [
    { title: DATA, header: only(headers, signatureHeader), call: (value) => ({ op: "verify", data: envelope.data, signature: value }) },
    { title: BODY, header: only(headers, BODY_HEADER), call: (value) => ({ op: "verifyBody", id: envelope.id, signature: value, ...at }), time: (value) => /^t=(\d+)/.exec(value)?.[1] },
  ];
  const made = (each) => signatureCheck(each, sharedKey, { body, now });
  if (!STANDARD_HEADERS.some((name) => headers.has(name))) return [...checks, ...given.map(made)];
  const standard = made(standardSignature({ headers, only }, at));
  const beside = given.filter(({ header }) => !isAbsent(header)).map((each) => ({ ...made(each), isThereOnce: each.header.fault === undefined }));
  return [...checks, standard, ...beside.map((each) => besideStandard(each, standard))];
}

/** The signature in three headers; a fault of one of these is its fault. */
function standardSignature({ headers, only }, at) {
  const all = STANDARD_HEADERS.map((name) => only(headers, name));
  const [id, timestamp, signed] = all;
  return {
    title: STANDARD,
    header: all.find(({ fault }) => fault !== undefined) ?? signed,
    call: (value) => ({ op: "verifyStandard", id: id.value, timestamp: timestamp.value, signature: value, ...at }),
    time: () => timestamp.value,
  };
}

/** Another signature than that of Standard Webhooks: it decides nothing if that one passes. */
function besideStandard({ isThereOnce, ...check }, standard) {
  if (standard.state !== "pass" || check.state !== "fail" || !isThereOnce) return check;
  return { ...check, state: "open", detail: `${check.detail} ${BESIDE}` };
}

const isAbsent = ({ fault }) => fault?.startsWith("There is no") ?? false;

function envelopeCheck(envelope, body) {
  const title = ENVELOPE;
  if (body === "") return { title, state: "open", detail: "Paste the body." };
  if (envelope === undefined) return { title, state: "fail", detail: "The body is not a JSON object." };
  const missing = ["id", "data"].filter((name) => typeof envelope[name] !== "string");
  if (missing.length > 0) return { title, state: "fail", detail: `The body has no ${missing.join(" and no ")}.` };
  if (!isAccepted(body)) return { title, state: "fail", detail: "A receiver rejects it: a member occurs twice, time or type is missing, or data is not plain base64." };
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

function signatureCheck({ title, header, call, time }, sharedKey, { body, now }) {
  if (!sharedKey) {
    const isSigned = header.fault === undefined;
    return { title, state: "open", detail: isSigned ? "Enter the shared key." : `${header.fault} Webhooks without a shared key send none.` };
  }
  // Receivers need not check the body's signature, and older requests have none.
  if (header.fault !== undefined) return { title, state: title === BODY && isAbsent(header) ? "open" : "fail", detail: header.fault };
  const verify = (key) => verified(call(header.value), key);
  const answer = verify(sharedKey);
  const ago = time && agoText(time(header.value), now);
  if (answer.valid) return { title, state: "pass", detail: ago ? `It matches, and was made ${ago}.` : "It matches." };
  return { title, state: "fail", detail: reasonText(answer.reason, { title, body, ago, isTrimmed: isRightWhenTrimmed(sharedKey, verify) }) };
}

/** The module's answer under a shared key, or under the one in a secret; an invalid key is a reason too. */
function verified(call, sharedKey) {
  const answers = keysIn(sharedKey).map((key) => answerOf({ ...call, sharedKey: key }));
  return answers.find(({ valid }) => valid) ?? answers.at(-1);
}

/** The shared key as typed, and the key in it if it is a secret of Standard Webhooks. */
function keysIn(text) {
  const bytes = text.startsWith(SECRET) ? fromBase64(text.slice(SECRET.length)) : undefined;
  return bytes === undefined ? [text] : [text, new TextDecoder().decode(bytes)];
}

function answerOf(call) {
  try {
    return signature(call);
  } catch (error) {
    if (!(error instanceof TillgateError) || error.status !== 400) throw error;
    const isKey = error.faults.some(({ path }) => path === "$.sharedKey");
    return { valid: false, reason: isKey ? "key" : "unreadable" };
  }
}

/** True if the key is right without the spaces or line breaks at its ends, which are often copied with it. */
function isRightWhenTrimmed(sharedKey, verify) {
  const trimmed = sharedKey.trim();
  return trimmed !== sharedKey && verify(trimmed).valid;
}

function reasonText(reason, { title, body, ago, isTrimmed }) {
  if (isTrimmed) return "It matches without the spaces around the shared key.";
  switch (reason) {
    case "key":
      return "A shared key has 16 to 128 printable characters.";
    case "malformed":
      return FORMS[title];
    case "too_old":
      return `It matches, but was made ${ago}. Receivers reject what is older than 5 minutes.`;
    case "too_new":
      return `It matches, but was made ${ago}. One of the clocks is wrong.`;
    case "unreadable":
      return "The event’s id is not valid.";
    default:
      return title !== DATA && /[\r\n]/.test(body.trim()) ? `${MISMATCH} ${REFORMATTED}` : MISMATCH;
  }
}

/** The age of a signature; `seconds` is when it was made. */
function agoText(seconds, now) {
  const ms = now - 1000 * Number(seconds);
  return ms >= 0 ? `${durationText(ms)} ago` : `${durationText(-ms)} in the future`;
}
