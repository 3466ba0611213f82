// The document that a catalog is made from: conditions and projects, with their tests.

import type { ConditionRequest, Decision, ProjectRequest, Reason } from "../shared/decision.cjs";

/** A document as JavaScript may hold it: an object may be a Map, an array a Set, and an integer a BigInt. */
export type Held<T> = T extends number
  ? T | bigint
  : T extends readonly (infer Element)[]
    ? readonly Held<Element>[] | ReadonlySet<Held<Element>>
    : T extends object
      ? { [Name in keyof T]: Held<T[Name]> } | ReadonlyMap<string, unknown>
      : T;

/** What a test expects. Without `reasons`, any will do; their order does not matter. */
export interface Expectation {
  decision: Decision;
  reasons?: readonly Reason[];
}

interface Test<Request> {
  /** The name, unique among the tests of the document. */
  name: string;
  request: Request;
  expect: Expectation;
}

/** A test of a condition: `request` is what `evaluateCondition` takes. */
export type ConditionTest = Test<ConditionRequest>;

/** A test of a project: `request` is what `evaluateProjectRestrictions` takes; its `projectId` may be left out. */
export type ProjectTest = Test<Omit<ProjectRequest, "projectId"> & { projectId?: string }>;

interface ConditionBase {
  id: string;
  scope?: "GLOBAL" | "TENANT";
  /** True when absent. */
  enabled?: boolean;
  /** Tests decide nothing; `GET /api/v1/catalog?tests=true` includes them. */
  tests?: readonly ConditionTest[];
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
  /** Tests decide nothing; `GET /api/v1/catalog?tests=true` includes them. */
  tests?: readonly ProjectTest[];
}

/** The answer of `GET /api/v1/catalog`. The conditions alone are enough for a decision. */
export interface CatalogDocument {
  global: readonly EntityCondition[];
  tenant: readonly EntityCondition[];
  projects?: readonly Project[];
  tenantId?: string;
  digest?: string;
  engine?: { version: string; sha256: string };
}
