// The exports of every entry. Each declaration is beside the file that it declares. Written by hand;
// `tests/package/package.test.mjs` compiles programs against it.

import type { Reason } from "./shared/decision.cjs";

export * from "./catalog/catalog.cjs";
export * from "./catalog/findings.cjs";
export * from "./catalog/tests.cjs";
export * from "./rates/math.cjs";
export * from "./shared/decision.cjs";
export type { ErrorCode, RateDeviation } from "./shared/error.cjs";
export { TillgateError } from "./shared/error.cjs";
export * from "./shared/load.cjs";

/** Returns a sentence for the cashier about a reason; undefined if the reason is unknown. */
export function describe(reason: Reason): string;
export function describe(reason: string): string | undefined;

/** The version of the package and of its module. */
export const version: string;

/** The SHA-256 of the module; equal to the host's `Tillgate-Engine` header if both are of the same release. */
export const sha256: string;
