// A prepared catalog.

/// <reference lib="esnext.disposable" />

import type {
  BasketDecision,
  BasketRequest,
  ConditionRequest,
  ConditionResult,
  Explained,
  ItemDecision,
  ProjectRequest,
  RestrictionResult,
  Row,
  RowOutcome,
} from "../shared/decision.cjs";
import type { CatalogDocument, Held } from "./document.cjs";
import type { FailedCatalogTest, TestReport } from "./tests.cjs";

export * from "./document.cjs";

/** A prepared catalog, ready for many evaluations. */
export class Catalog {
  /** @throws {TillgateError} `invalid`, with every fault of the document. */
  constructor(document: Held<CatalogDocument>);
  /** @throws {TillgateError} `condition_not_found` when no condition with this id is in force; `invalid`. */
  evaluateCondition(
    conditionId: string,
    request: ConditionRequest,
    options: { explain: true; lenient?: boolean },
  ): ItemDecision<Explained<ConditionResult>>;
  evaluateCondition(
    conditionId: string,
    request: ConditionRequest,
    options?: { explain?: boolean; lenient?: boolean },
  ): ItemDecision<ConditionResult>;
  /** @throws {TillgateError} `invalid`. */
  evaluateProjectRestrictions(
    request: ProjectRequest,
    options: { explain: true; lenient?: boolean },
  ): ItemDecision<Explained<RestrictionResult>>;
  evaluateProjectRestrictions(request: ProjectRequest, options?: { explain?: boolean; lenient?: boolean }): ItemDecision<RestrictionResult>;
  /** @throws {TillgateError} `invalid`. */
  evaluateBasket(
    request: BasketRequest,
    options: { explain: true; lenient?: boolean },
  ): BasketDecision<Explained<ConditionResult> | Explained<RestrictionResult>>;
  evaluateBasket(request: BasketRequest, options?: { explain?: boolean; lenient?: boolean }): BasketDecision;
  /**
   * Decides about up to 10,000 rows and returns the outcome of each, in order. Rows with the same outcome share one frozen
   * object. @throws {TillgateError} `condition_not_found` when no condition with this id is in force; `invalid`.
   */
  evaluateMany(by: { conditionId: string }, rows: readonly Row[], options?: { lenient?: boolean }): RowOutcome<ConditionResult>[];
  evaluateMany(by: { projectId: string }, rows: readonly Row[], options?: { lenient?: boolean }): RowOutcome<RestrictionResult>[];
  /**
   * Runs the tests of every condition and project of the document.
   *
   * @throws {TillgateError} `invalid`, with every fault of the tests; `freed`.
   */
  test(): TestReport<FailedCatalogTest>;
  /** Releases the module's memory at once instead of at garbage collection. */
  free(): void;
  [Symbol.dispose](): void;
}
