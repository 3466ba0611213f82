// The results of running the tests of rules.

import type { Decision, Reason } from "../shared/decision.cjs";
import type { EntityCondition, Expectation, Held, Project } from "./document.cjs";

/** A document to run the tests of. It may be a draft. */
export type TestedDocument =
  /** `other` is the condition of the other scope with the same id. */
  | { condition: EntityCondition; other?: EntityCondition | null }
  | { project: Omit<Project, "projectId"> & { projectId?: string } };

/** A test whose result differs from what it expects. */
export interface FailedTest {
  /** Its position among the tests of its document, starting with 0. */
  readonly index: number;
  readonly name: string;
  readonly expected: Readonly<Expectation>;
  /** `NOT_FOUND` when the condition is not in force. */
  readonly actual: { readonly decision: Decision | "NOT_FOUND"; readonly reasons: readonly Reason[] };
  /** For example `expected HARD_DENY, is ALLOW`. */
  readonly message: string;
}

/** The results of running tests. */
export interface TestReport<Failed = FailedTest> {
  readonly passed: number;
  readonly failed: readonly Failed[];
}

/** A failed test of a catalog, with the document that it belongs to. */
export interface FailedCatalogTest extends FailedTest {
  readonly kind: "condition" | "project";
  /** The id of the condition or project. */
  readonly id: string;
}

/**
 * Runs the tests of one document.
 *
 * @throws {TillgateError} `invalid`, with every fault of the document and its tests.
 */
export function runTests(document: Held<TestedDocument>): TestReport;
