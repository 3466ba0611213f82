// A prepared catalog, and the document that it is made from.

/// <reference lib="esnext.disposable" />

import type {
  BasketDecision,
  BasketRequest,
  ConditionRequest,
  ConditionResult,
  ItemDecision,
  ProjectRequest,
  RestrictionResult,
} from "../shared/decision.cjs";

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
