// The requests and answers of the host's HTTP API, and the package. Written by hand; `tests/package.test.mjs` compiles
// programs against it.

/// <reference lib="esnext.disposable" />

import type { WebhookErrorCode } from "./webhook.js";

/** May it be sold? A soft denial means that asking the customer may change the decision. */
export type Decision = "ALLOW" | "SOFT_DENY" | "HARD_DENY";

/** Why a check does not allow. */
export type Reason =
  | "age_restriction.missing_context"
  | "age_restriction.underage"
  | "license_requirement.missing_context"
  | "license_requirement.license_missing"
  | "project_restriction.whitelist_not_met"
  | "project_restriction.blacklist_met"
  | "project_restriction.boolean_not_met"
  | "project_restriction.blacklisted_item"
  | "project_restriction.project_unreachable";

/** Whether a check allows. */
export type Outcome =
  | { readonly allow: true; readonly decision: "ALLOW"; readonly reason: null }
  | { readonly allow: false; readonly decision: "SOFT_DENY" | "HARD_DENY"; readonly reason: Reason };

/** The result of a condition. */
export type ConditionResult = Outcome & {
  /** The condition's id. */
  readonly id: string;
  readonly rule: "AGE_RESTRICTION" | "LICENSE_REQUIREMENT";
};

/** The result of a restriction of a project. */
export type RestrictionResult = Outcome & {
  readonly rule: "PROJECT_RESTRICTION";
  readonly source: "PROJECT_RESTRICTION";
  /** The property that was checked, or `itemId`; null when the project is unknown. */
  readonly restriction: string | null;
};

/** The decision about one item. */
export interface ItemDecision<Result = ConditionResult | RestrictionResult> {
  /** The item's id, as sent. */
  readonly id: string;
  /** Whether every result allows. */
  readonly allow: boolean;
  /** One entry for each check that ran. */
  readonly results: readonly Result[];
}

/** The decision about one item of a basket. */
export interface BasketItemDecision extends ItemDecision {
  /** The conditions of the item that are not in force. */
  readonly errors?: readonly { readonly conditionId: string; readonly status: 404 }[];
}

/** The decision about a basket. */
export interface BasketDecision {
  readonly allow: boolean;
  /** The worst decision of all items. */
  readonly decision: Decision;
  /** In the order of the request. */
  readonly items: readonly BasketItemDecision[];
}

/** The customer. What is absent or null has not been asked yet. */
export interface Customer {
  /** Whole years, 0 to 150. */
  customer_age?: number | null;
  /** License ids, or objects with one. */
  licenses?: readonly (string | { readonly id: string; readonly [member: string]: unknown })[] | null;
  [member: string]: unknown;
}

export interface Context {
  customer?: Customer | null;
  [member: string]: unknown;
}

/** A request about one item and one condition. */
export interface ConditionRequest {
  item: { id: string; [member: string]: unknown };
  context: Context;
}

/** The properties of an item. A number is accepted and matches nothing. */
export type Properties = Readonly<Record<string, string | boolean | number>>;

/** A request about one item on a project. */
export interface ProjectRequest {
  /** A UUID. */
  projectId: string;
  item: { id: string; additionalProperties?: Properties; [member: string]: unknown };
}

/** A request about a basket. */
export interface BasketRequest {
  /** 1 to 1,000 items. */
  items: readonly { id: string; conditionIds?: readonly string[]; additionalProperties?: Properties }[];
  projectId?: string;
  context: Context;
}

interface ConditionBase {
  id: string;
  scope?: "GLOBAL" | "TENANT";
  /** True when absent. */
  enabled?: boolean;
}

/** A condition. */
export type EntityCondition = ConditionBase &
  (
    | { rule: "AGE_RESTRICTION"; condition_value: { minimum_age: number } }
    | { rule: "LICENSE_REQUIREMENT"; condition_value: Record<string, never> }
  );

/** What a project requires of its items. */
export type Restriction = { exclusive?: boolean } & (
  | { type: "WHITELIST"; propertyName: string; allowedValues: readonly (string | boolean)[] }
  | { type: "BLACKLIST"; propertyName: string; deniedValues: readonly (string | boolean)[] }
  | { type: "BOOLEAN"; propertyName: string; value: boolean }
  | { type: "WHITELISTEDITEMS"; itemIds: readonly string[] }
  | { type: "BLACKLISTEDITEMS"; itemIds: readonly string[] }
);

/** A project. */
export interface Project {
  projectId: string;
  name?: string;
  restrictions: readonly Restriction[];
}

/** The answer of `GET /api/v1/catalog`. The conditions alone are enough to decide. */
export interface CatalogDocument {
  global: readonly EntityCondition[];
  tenant: readonly EntityCondition[];
  projects?: readonly Project[];
  tenantId?: string;
  digest?: string;
  engine?: { version: string; sha256: string };
}

/** A prepared catalog, to be evaluated many times. */
export class Catalog {
  /** @throws {TillgateError} `invalid`, with every fault of the document. */
  constructor(document: CatalogDocument);
  /** @throws {TillgateError} `not_found` when no condition with this id is in force; `invalid`. */
  evaluateCondition(conditionId: string, request: ConditionRequest): ItemDecision<ConditionResult>;
  /** @throws {TillgateError} `invalid`. */
  evaluateProjectRestrictions(request: ProjectRequest): ItemDecision<RestrictionResult>;
  /** @throws {TillgateError} `invalid`. */
  evaluateBasket(request: BasketRequest): BasketDecision;
  /** Releases the module's memory at once instead of at garbage collection. */
  free(): void;
  [Symbol.dispose](): void;
}

/** What the caller can do about an error. */
export type ErrorCode =
  /** Correct the input. */
  | "invalid"
  /** Use another id. */
  | "not_found"
  /** Call `await init()` first; of a client of rates, wait for `ready()`. */
  | "not_ready"
  /** Load the module of this package. */
  | "wrong_module"
  /** Try again: the next call uses a new instance. */
  | "trap"
  /** Send a smaller request. */
  | "too_large"
  /** Do not use it after it was freed or closed. */
  | "freed"
  | "closed"
  /** Get a token, or a permission. */
  | "unauthenticated"
  | "denied"
  /** Read it again, then decide. */
  | "conflict"
  | "outdated"
  /** Try again later. */
  | "unavailable"
  /** The host rejected the request for another reason. */
  | "refused"
  | "unknown_handle"
  /** Of `tillgate/webhook`: a delivery is not to be accepted. */
  | WebhookErrorCode;

/** The error that this package throws. */
export class TillgateError extends Error {
  readonly code: ErrorCode;
  /** Where the first fault is, as a JSON path. */
  readonly path: string;
  /** Every fault. `message` of the error itself names them all, each with its path. */
  readonly faults: readonly { readonly path: string; readonly message: string }[];
  /** The HTTP status with which the host answers the same request, if there is one. */
  readonly status?: number;
  /** For errors from the host: the id of the request in the host's log. */
  readonly correlationId?: string;
  /** For errors from the host: the SHA-256 of the module that decided. */
  readonly engine?: string;
  /** For errors from the host: how long it asks to wait. */
  readonly retryAfterMs?: number;
  constructor(error: {
    code: ErrorCode;
    path?: string;
    message: string;
    faults?: readonly { path: string; message: string }[];
    status?: number;
    cause?: unknown;
  });
}

/** The sources that the module can be loaded from. */
export type ModuleSource = string | URL | Request | Response | ArrayBuffer | ArrayBufferView | CompiledModule;

/** A `WebAssembly.Module`, where the libraries of the program declare it: those of Node alone do not. */
export type CompiledModule = typeof globalThis extends { WebAssembly: { Module: new (...bytes: never) => infer Module } } ? Module : never;

/**
 * Loads the module. In Node and in workers that compile at deployment it is loaded on import, and this does nothing.
 */
export function init(source?: ModuleSource | Promise<ModuleSource>): Promise<void>;

/** Loads the module synchronously. */
export function initSync(source: ArrayBuffer | ArrayBufferView | CompiledModule): void;

/** 1 ÷ rate, to six decimals: `"0.090498"` for `"11.05"`. */
export function oppositeRate(rate: string): string;

/** A rate reduced by a markup in percent: `"10.77375"` for `"11.05"`, `"2.5"`. */
export function rateWithMarkup(rate: string, markupPercentage: string): string;

/** An amount times a rate, rounded to the minor unit of a currency or to `minorUnit` decimals; to two by default. */
export function convert(
  amount: string,
  rate: string,
  options?: { currency: string; minorUnit?: never } | { minorUnit: number; currency?: never },
): string;

export type RateType = "SALES" | "PURCHASE" | "INTERCOMPANY";

/** A rate that is set: 1 `currencyIdTo` = `rateValue` `currencyIdFrom`. */
export interface SetRate {
  exchangeRateType: RateType;
  currencyIdFrom: string;
  currencyIdTo: string;
  rateValue: string;
  createdBy?: string | null;
}

/** The markup of one pair, in both directions. */
export interface PairMarkup {
  exchangeRateType: RateType;
  currencyIdFrom: string;
  currencyIdTo: string;
  markupPercentage: string;
}

/** What is set at a business unit: the shop's own level, or one above it. */
export interface Level {
  businessUnitId: string;
  rates: readonly SetRate[];
  /** The markup of all pairs that are not in `markups`. */
  markupPercentage?: string | null;
  markups?: readonly PairMarkup[] | null;
}

/** A rate that a shop uses. */
export interface UsedRate extends SetRate {
  rateValueWithMarkup: string;
  /** The business unit at which it is set. */
  setAt: string;
}

/** A rate that a shop uses, with its times. */
export interface HeldRate extends UsedRate {
  createdDate: string;
  lastModified?: string | null;
}

/** One computation on decimal strings. */
export type RateCall =
  | { op: "opposite"; rate: string }
  | { op: "markup"; rate: string; markupPercentage: string; opposite?: boolean }
  | { op: "convert"; amount: string; rate: string; currency: string }
  | { op: "convert"; amount: string; rate: string; minorUnit: number }
  | { op: "cross"; rate: string; per: string }
  | { op: "used"; levels: readonly Level[] }
  | { op: "difference"; before: readonly HeldRate[]; levels: readonly Level[]; at: string }
  | { op: "check"; rates: readonly SetRate[] };

/** The answer to one computation. */
export type RateAnswer<Call extends RateCall = RateCall> = Call extends { op: "opposite" | "markup" | "cross" }
  ? { rate: string }
  : Call extends { op: "convert" }
    ? { amount: string }
    : Call extends { op: "used" }
      ? { rates: UsedRate[] }
      : Call extends { op: "difference" }
        ? { createdRates: HeldRate[]; updatedRates: HeldRate[]; deletedRates: HeldRate[]; rates: HeldRate[] }
        : Record<string, never>;

/** Several computations at once, answered in order. @throws {TillgateError} with every fault of every call. */
export function calculate<const Calls extends readonly RateCall[]>(
  calls: Calls,
): { [Index in keyof Calls]: RateAnswer<Calls[Index]> };

/** A sentence for the cashier about a reason; undefined when the reason is unknown. */
export function describe(reason: Reason): string;
export function describe(reason: string): string | undefined;

/** The version of the package and of its module. */
export const version: string;

/** The SHA-256 of the module; equal to the host's `Tillgate-Engine` header when both are of the same release. */
export const sha256: string;
