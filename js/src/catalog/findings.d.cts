// The faults of a rule, and the effect of a change.

import type { EntityCondition, Held, Project } from "./catalog.cjs";
import type { Context, Decision, Properties } from "../shared/decision.cjs";

/** A condition together with the one of the other scope, or a project. It may be in force or a draft. */
export type Rule =
  | {
      /** `null` if there is none, for example before its creation. */
      condition: EntityCondition | null;
      /** The condition of the other scope with the same id. */
      other?: EntityCondition | null;
    }
  | {
      /** `null` if there is none. */
      project: Omit<Project, "projectId"> | null;
    };

/** The body of an evaluate call without its `projectId`: an item and, for a condition, its customer. */
export interface Witness {
  readonly item: { readonly id: string; readonly additionalProperties?: Properties };
  readonly context?: Context;
}

/** Something that is wrong with a rule, or probably is. */
export interface Finding {
  /**
   * `UNSATISFIABLE`: nothing can be allowed. `PARTLY_DEAD`: a value in a list that allows is never allowed. `INEFFECTIVE`:
   * without it, every decision would be the same. `SUSPICIOUS`: it is probably a mistake. `SHADOWED`: the other scope has a
   * condition with this id.
   */
  readonly kind: "UNSATISFIABLE" | "PARTLY_DEAD" | "INEFFECTIVE" | "SUSPICIOUS" | "SHADOWED";
  /** A sentence for the rule's owner. */
  readonly message: string;
  /** The lines that are involved, as JSON paths in the condition or project: `$.restrictions[1]`. */
  readonly places: readonly string[];
  /** A request that shows it, if there is one. */
  readonly witness?: Witness;
}

/** The comparison of two versions of a rule. `NOT_FOUND`: the condition is not in force. */
export type Comparison =
  | { readonly same: true }
  | { readonly same: false; readonly witness: Witness; readonly before: Decision | "NOT_FOUND"; readonly after: Decision | "NOT_FOUND" };

/**
 * Returns the faults of a rule, the most serious first; at most 100, and then one that says how many more there are.
 *
 * @throws {TillgateError} `invalid`, with every fault of the rule.
 */
export function findings(rule: Held<Rule>): readonly Finding[];

/**
 * Says that two versions of a rule decide everything the same way, or returns a request that they decide differently.
 *
 * @throws {TillgateError} `invalid`, with every fault of both.
 */
export function compare(before: Held<Rule> | null, after: Held<Rule> | null): Comparison;
