// What a till asks and is answered, as the host's HTTP API has it. Written by hand; `tests/package.test.mjs` compiles
// programs against it.

/** May it be sold? A soft denial says that asking may turn the decision. */
export type Decision = "ALLOW" | "SOFT_DENY" | "HARD_DENY";

/** Why not. */
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
export type Verdict =
  | { readonly allow: true; readonly decision: "ALLOW"; readonly reason: null }
  | { readonly allow: false; readonly decision: "SOFT_DENY" | "HARD_DENY"; readonly reason: Reason };

/** What a condition says. */
export type ConditionResult = Verdict & {
  /** The condition's id. */
  readonly id: string;
  readonly rule: "AGE_RESTRICTION" | "LICENSE_REQUIREMENT";
};

/** What a project's restriction says. */
export type RestrictionResult = Verdict & {
  readonly rule: "PROJECT_RESTRICTION";
  readonly source: "PROJECT_RESTRICTION";
  /** The property checked, or `itemId`; null when the project is not known. */
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
  /** The conditions asked for that are not in force. */
  readonly errors?: readonly { readonly conditionId: string; readonly status: 404 }[];
}

/** The decision about a basket. */
export interface BasketDecision {
  readonly allow: boolean;
  /** The worst of all. */
  readonly decision: Decision;
  /** In the order sent. */
  readonly items: readonly BasketItemDecision[];
}

/** Who buys. What is absent or null was not asked yet. */
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

/** A question about one item and one condition. */
export interface ConditionRequest {
  item: { id: string; [member: string]: unknown };
  context: Context;
}

/** An item's properties; a number is taken and matches nothing. */
export type Properties = Readonly<Record<string, string | boolean | number>>;

/** A question about one item on a project. */
export interface ProjectRequest {
  /** A UUID. */
  projectId: string;
  item: { id: string; additionalProperties?: Properties; [member: string]: unknown };
}

/** A question about a basket. */
export interface BasketRequest {
  /** 1 to 1,000. */
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

/** What a project demands of its items. */
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

/** The answer of `GET /api/v1/catalog`; to decide, the conditions are enough. */
export interface CatalogDocument {
  global: readonly EntityCondition[];
  tenant: readonly EntityCondition[];
  projects?: readonly Project[];
  tenantId?: string;
  digest?: string;
  engine?: { version: string; sha256: string };
}

/** A catalog that was prepared, to be asked many times. */
export class Catalog {
  /** @throws {TillgateError} `invalid`, naming all that is wrong with the document. */
  constructor(document: CatalogDocument);
  /** @throws {TillgateError} `not_found` when no condition with this id is in force; `invalid`. */
  evaluateCondition(conditionId: string, request: ConditionRequest): ItemDecision<ConditionResult>;
  /** @throws {TillgateError} `invalid`. */
  evaluateProjectRestrictions(request: ProjectRequest): ItemDecision<RestrictionResult>;
  /** @throws {TillgateError} `invalid`. */
  evaluateBasket(request: BasketRequest): BasketDecision;
  /** Gives back the module's memory at once, rather than when nobody holds this any more. */
  free(): void;
  [Symbol.dispose](): void;
}

/** What a caller can do about an error. */
export type ErrorCode =
  /** Mend the input. */
  | "invalid"
  /** Ask for another. */
  | "not_found"
  /** Await `init()` first. */
  | "not_ready"
  /** Load the module of this package. */
  | "wrong_module"
  /** Ask again: there is a new instance. */
  | "trap"
  /** Ask for less at once. */
  | "too_large"
  /** Do not use what was freed, or closed. */
  | "freed"
  | "closed"
  /** Get a token, or a permission. */
  | "unauthenticated"
  | "denied"
  /** Read again, then decide. */
  | "conflict"
  | "outdated"
  /** Try later. */
  | "unavailable"
  /** The host did not take it. */
  | "refused"
  | "unknown_handle";

/** The one error that this package throws. */
export class TillgateError extends Error {
  readonly code: ErrorCode;
  /** Where the first fault is, as a JSON path. */
  readonly path: string;
  /** Every fault. */
  readonly faults: readonly { readonly path: string; readonly message: string }[];
  /** The HTTP status that the host answers for the same question, when it has one. */
  readonly status?: number;
  /** What the host refused: how to find it in the host's log. */
  readonly correlationId?: string;
  /** What the host refused: the SHA-256 of the module that decided. */
  readonly engine?: string;
  /** What the host refused: how long it asks to wait. */
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

/** Where the module can be loaded from. */
export type ModuleSource = string | URL | Request | Response | ArrayBuffer | ArrayBufferView | WebAssembly.Module;

/** Loads the module; in Node and in workers that compile at deployment it already exists, and this does nothing. */
export function init(source?: ModuleSource | Promise<ModuleSource>): Promise<void>;

/** The same at once. */
export function initSync(source: ArrayBuffer | ArrayBufferView | WebAssembly.Module): void;

/** 1 ÷ rate, to six decimals: `"0.090498"` for `"11.05"`. */
export function oppositeRate(rate: string): string;

/** A rate with a markup of so many percent taken off: `"10.77375"` for `"11.05"`, `"2.5"`. */
export function rateWithMarkup(rate: string, markupPercentage: string): string;

/** An amount times a rate, rounded to a currency's minor unit or to so many decimals; to two when nothing is said. */
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

/** A rate that a shop uses. */
export interface UsedRate extends SetRate {
  rateValueWithMarkup: string;
  /** The business unit that decided it. */
  setAt: string;
}

/** A rate that a shop uses, with its times. */
export interface HeldRate extends UsedRate {
  createdDate: string;
  lastModified?: string | null;
}

/** One computation; all of them are on decimal strings. */
export type RateCall =
  | { op: "opposite"; rate: string }
  | { op: "markup"; rate: string; markupPercentage: string; opposite?: boolean }
  | { op: "convert"; amount: string; rate: string; currency: string }
  | { op: "convert"; amount: string; rate: string; minorUnit: number }
  | { op: "used"; levels: readonly { businessUnitId: string; rates: readonly SetRate[] }[]; markupPercentage?: string | null }
  | { op: "difference"; before: readonly HeldRate[]; after: readonly UsedRate[]; at: string }
  | { op: "check"; rates: readonly SetRate[] };

/** What one computation gives. */
export type RateAnswer<Call extends RateCall = RateCall> = Call extends { op: "opposite" | "markup" }
  ? { rate: string }
  : Call extends { op: "convert" }
    ? { amount: string }
    : Call extends { op: "used" }
      ? { rates: UsedRate[] }
      : Call extends { op: "difference" }
        ? { createdRates: HeldRate[]; updatedRates: HeldRate[]; deletedRates: HeldRate[]; rates: HeldRate[] }
        : Record<string, never>;

/** Many computations at once, answered in their order. @throws {TillgateError} with every fault of every call. */
export function calculate<const Calls extends readonly RateCall[]>(
  calls: Calls,
): { [Index in keyof Calls]: RateAnswer<Calls[Index]> };

/** A sentence for an operator about a reason; undefined when it is none. */
export function describe(reason: Reason): string;
export function describe(reason: string): string | undefined;

/** The version of the package and of its module. */
export const version: string;

/** The module's SHA-256: that of the host's `Tillgate-Engine`, when both are of one release. */
export const sha256: string;
