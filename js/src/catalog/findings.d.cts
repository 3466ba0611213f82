// What is wrong with a rule, and what a change of it does.

import type { EntityCondition, Held, Project } from "./catalog.cjs";
import type { Context, Decision, Properties } from "../shared/decision.cjs";

/** A condition with that of the other scope, or a project: in force, or a draft. */
export type Rule =
  | {
      /** `null` when there is none, as before its creation. */
      condition: EntityCondition | null;
      /** The condition of the other scope with the same id. */
      other?: EntityCondition | null;
    }
  | {
      /** `null` when there is none. */
      project: Omit<Project, "projectId"> | null;
    };

/** The body of an evaluate call without its `projectId`: an item, for a condition also its customer. */
export interface Witness {
  readonly item: { readonly id: string; readonly additionalProperties?: Properties };
  readonly context?: Context;
}

/** Something that is wrong with a rule, or probably is. */
export interface Finding {
  /**
   * `UNSATISFIABLE`: nothing can be allowed. `PARTLY_DEAD`: a value is in a list that allows, and never allowed.
   * `INEFFECTIVE`: without it, nothing would be decided in another way. `SUSPICIOUS`: it is probably a mistake. `SHADOWED`: the
   * other scope has a condition with this id.
   */
  readonly kind: "UNSATISFIABLE" | "PARTLY_DEAD" | "INEFFECTIVE" | "SUSPICIOUS" | "SHADOWED";
  /** A sentence for the owner of the rule. */
  readonly message: string;
  /** The lines that are part of it, as JSON paths in the condition or project: `$.restrictions[1]`. */
  readonly places: readonly string[];
  /** What shows it, where something does. */
  readonly witness?: Witness;
}

/** How two versions of a rule compare. `NOT_FOUND`: a condition that is not in force. */
export type Comparison =
  | { readonly same: true }
  | { readonly same: false; readonly witness: Witness; readonly before: Decision | "NOT_FOUND"; readonly after: Decision | "NOT_FOUND" };

/**
 * What is wrong with a rule, the most serious first; at most 100, and then one that says how many more.
 *
 * @throws {TillgateError} `invalid`, with every fault of the rule.
 */
export function findings(rule: Held<Rule>): readonly Finding[];

/**
 * Whether two versions of a rule decide the same about everything, or a request that they decide differently.
 *
 * @throws {TillgateError} `invalid`, with every fault of both.
 */
export function compare(before: Held<Rule> | null, after: Held<Rule> | null): Comparison;
