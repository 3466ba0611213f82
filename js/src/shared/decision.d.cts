// What is asked about an item or a basket, and what is decided: the requests and answers of the host's HTTP API.

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
