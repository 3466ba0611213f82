// Requests to the host.

import type {
  BasketDecision,
  BasketRequest,
  ConditionRequest,
  ConditionResult,
  Explained,
  ItemDecision,
  ProjectRequest,
  RestrictionResult,
} from "./decision.cjs";
import type { TokenSource } from "./token.cjs";

export interface HostOptions {
  /** The address of the host, such as `https://till.example`. */
  url: string | URL;
  token: string | TokenSource;
  fetch?: typeof fetch;
}

/** A decision by the host, and the SHA-256 of the module that made it. */
export interface HostDecision<D> {
  decision: D;
  engine: string | null;
}

/** Sends requests to the host. */
export class Host {
  constructor(options: HostOptions);
  /** Sends a request; returns the response if it is a success or a 304. @throws {TillgateError} otherwise. */
  request(
    path: string,
    options?: { method?: string; headers?: Record<string, string>; body?: string; signal?: AbortSignal },
  ): Promise<Response>;
  evaluateCondition(
    conditionId: string,
    request: ConditionRequest,
    options: { signal?: AbortSignal; explain: true; lenient?: boolean },
  ): Promise<HostDecision<ItemDecision<Explained<ConditionResult>>>>;
  evaluateCondition(
    conditionId: string,
    request: ConditionRequest,
    options?: { signal?: AbortSignal; explain?: boolean; lenient?: boolean },
  ): Promise<HostDecision<ItemDecision<ConditionResult>>>;
  evaluateProjectRestrictions(
    request: ProjectRequest,
    options: { signal?: AbortSignal; explain: true; lenient?: boolean },
  ): Promise<HostDecision<ItemDecision<Explained<RestrictionResult>>>>;
  evaluateProjectRestrictions(
    request: ProjectRequest,
    options?: { signal?: AbortSignal; explain?: boolean; lenient?: boolean },
  ): Promise<HostDecision<ItemDecision<RestrictionResult>>>;
  evaluateBasket(
    request: BasketRequest,
    options: { signal?: AbortSignal; explain: true; lenient?: boolean },
  ): Promise<HostDecision<BasketDecision<Explained<ConditionResult> | Explained<RestrictionResult>>>>;
  evaluateBasket(
    request: BasketRequest,
    options?: { signal?: AbortSignal; explain?: boolean; lenient?: boolean },
  ): Promise<HostDecision<BasketDecision>>;
}
