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

/** What an age condition has compared; null is not known. */
export interface AgeExplanation {
  readonly minimumAge: number;
  readonly customerAge: number | null;
}

/** What a license condition has compared; null is not known. */
export interface LicenseExplanation {
  /** The license that is required. */
  readonly licenseId: string;
  /** The customer's licenses: the first ten, in the order in which they were sent. */
  readonly licenses: readonly string[] | null;
  /** How many there are. */
  readonly licensesCount: number | null;
}

/** What a restriction has compared. Restrictions of the same type and target that are not exclusive are compared as one. */
export interface RestrictionExplanation {
  /** The position in the project's restrictions of the first that lists the value; if none does, of the first. */
  readonly restrictionIndex: number;
  /** The property, or `itemId`. */
  readonly propertyName: string;
  /** The property's value, or the item's id; null when the item has no such property. */
  readonly value: string | boolean | number | null;
  /** The first ten of the values that the restrictions list: those that are denied, for a list of denied values. */
  readonly wants: readonly (string | boolean)[];
  /** How many there are. */
  readonly wantsCount: number;
}

/** A result that says what was compared. */
export type Explained<Result> = Result extends { readonly rule: "PROJECT_RESTRICTION" }
  ? Result & {
      /** Null when the project is unknown. */
      readonly explanation: RestrictionExplanation | null;
    }
  : Result & { readonly explanation: AgeExplanation | LicenseExplanation };

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
export interface BasketItemDecision<Result = ConditionResult | RestrictionResult> extends ItemDecision<Result> {
  /** The conditions of the item that are not in force. */
  readonly errors?: readonly { readonly conditionId: string; readonly status: 404 }[];
}

/** The decision about a basket. */
export interface BasketDecision<Result = ConditionResult | RestrictionResult> {
  readonly allow: boolean;
  /** The worst decision of all items. */
  readonly decision: Decision;
  /** In the order of the request. */
  readonly items: readonly BasketItemDecision<Result>[];
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

/** One of many items that are decided at once: with its customer for a condition, with its properties for a project. */
export interface Row {
  id: string;
  additionalProperties?: Properties;
  customer_age?: Customer["customer_age"];
  licenses?: Customer["licenses"];
  [member: string]: unknown;
}

/** What is decided about a row. */
export interface RowOutcome<Result = ConditionResult | RestrictionResult> {
  readonly allow: boolean;
  /** The worst decision of all results. */
  readonly decision: Decision;
  readonly results: readonly Result[];
}
