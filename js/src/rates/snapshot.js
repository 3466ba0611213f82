/**
 * The data of a `RatesClient`, as a value that can be written as JSON and given to a later one: after a restart a till
 * continues with it, even offline. The caller chooses where it is stored.
 */

import { TillgateError } from "../shared/error.js";
import { HeldRates } from "./held-rates.js";

const VERSION = 1;

/** The characters of a cursor, which is sent in a header. */
const CURSOR = /^[\x21-\x7e]+$/;

/** `asOf` is in milliseconds since 1970. */
export function snapshot({ url, businessUnitId, tenantId }, { asOf, held, cursor, initialState }) {
  const isComplete = initialState?.isComplete ?? true;
  return {
    version: VERSION,
    url: addressOf(url),
    businessUnitId,
    tenantId,
    asOf: asOf === undefined ? undefined : new Date(asOf).toISOString(),
    // Without a cursor all rates are read again, which is necessary if the initial state was not complete.
    cursor: isComplete ? cursor : undefined,
    initialState: isComplete ? initialState?.correlationId : undefined,
    ...held.toJSON(),
  };
}

/** Returns `{ asOf, held, cursor, initialState }` of a snapshot; the initial values if there is none, or none with rates. */
export function restore(snapshot, { url, businessUnitId, tenantId }) {
  if (snapshot === undefined || snapshot === null) return { held: new HeldRates() };
  const { version, asOf, cursor, initialState } = snapshot;
  if (version !== VERSION) throw invalid("version", `must be ${VERSION}`);
  const subject = { url: addressOf(url), businessUnitId, tenantId };
  for (const [name, value] of Object.entries(subject)) {
    if (snapshot[name] !== value) throw invalid(name, "must be the same as this client's");
  }
  if (asOf === undefined) return { held: new HeldRates() };
  if (Number.isNaN(Date.parse(asOf))) throw invalid("asOf", "must be a time");
  if (cursor !== undefined && !CURSOR.test(cursor)) throw invalid("cursor", "must be a cursor");
  return {
    asOf: Date.parse(asOf),
    held: restoreRates(snapshot),
    cursor,
    initialState: initialState === undefined ? undefined : { correlationId: initialState, isComplete: true },
  };
}

function restoreRates(snapshot) {
  try {
    return HeldRates.from(snapshot);
  } catch (cause) {
    throw invalid("shops", "cannot be read", cause);
  }
}

const addressOf = (url) => String(url).replace(/\/+$/, "");

const invalid = (name, message, cause) => new TillgateError({ code: "invalid", path: `$.snapshot.${name}`, message, cause });
