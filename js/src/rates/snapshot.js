/**
 * What a `RatesClient` knows, as a value that can be written as JSON and given to a later one: after a restart a till
 * goes on with it, even offline. Where it is stored is left to the caller.
 */

import { TillgateError } from "../shared/error.js";
import { HeldRates } from "./held-rates.js";

const VERSION = 1;

/** A cursor is sent in a header. */
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
    // Without a cursor all rates are read again, as they must be if this was not finished.
    cursor: isComplete ? cursor : undefined,
    initialState: isComplete ? initialState?.correlationId : undefined,
    ...held.toJSON(),
  };
}

/** `{ asOf, held, cursor, initialState }` of a snapshot; without one, or if it has no rates yet, those of the start. */
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
