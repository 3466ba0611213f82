// A catalog that keeps itself up to date, and asking the host.

import type {
  BasketDecision,
  BasketRequest,
  Catalog,
  CatalogDocument,
  ConditionRequest,
  ConditionResult,
  ItemDecision,
  ProjectRequest,
  RestrictionResult,
  TillgateError,
} from "./index.js";

/** Answers a token; with `fresh`, another than the last, which was refused. */
export type TokenSource = (options?: { fresh?: boolean }) => string | Promise<string>;

/** A token source: a client's credentials, exchanged when a token is needed. */
export function clientCredentials(options: {
  tokenUrl: string | URL;
  clientId: string;
  clientSecret: string;
  audience: string;
  fetch?: typeof fetch;
}): (options?: { fresh?: boolean }) => Promise<string>;

export interface HostOptions {
  /** Where the host is: `https://till.example`. */
  url: string | URL;
  token: string | TokenSource;
  fetch?: typeof fetch;
}

/** A decision of the host's, and the SHA-256 of the module that made it. */
export interface HostDecision<D> {
  decision: D;
  engine: string | null;
}

/** The host, asked by HTTP. */
export class Host {
  constructor(options: HostOptions);
  /** Sends a request; answers a response of success or 304. @throws {TillgateError} for any other. */
  request(
    path: string,
    options?: { method?: string; headers?: Record<string, string>; body?: string; signal?: AbortSignal },
  ): Promise<Response>;
  evaluateCondition(
    conditionId: string,
    request: ConditionRequest,
    options?: { signal?: AbortSignal },
  ): Promise<HostDecision<ItemDecision<ConditionResult>>>;
  evaluateProjectRestrictions(
    request: ProjectRequest,
    options?: { signal?: AbortSignal },
  ): Promise<HostDecision<ItemDecision<RestrictionResult>>>;
  evaluateBasket(request: BasketRequest, options?: { signal?: AbortSignal }): Promise<HostDecision<BasketDecision>>;
}

/** STARTING until the first catalog, READY while changes are followed, STALE while they are not. */
export type CatalogState = "STARTING" | "READY" | "STALE" | "CLOSED";

export interface CatalogClientEvents {
  state: Event & { readonly state: CatalogState };
  change: Event & { readonly document: Required<CatalogDocument> };
  error: Event & { readonly error: TillgateError | Error };
}

/** A catalog that keeps itself up to date. Decides here; asks the host while there is no catalog. */
export class CatalogClient extends EventTarget {
  constructor(
    options: HostOptions & {
      /** How long to decide with a catalog whose changes are not followed before the host is asked: 15 minutes. */
      maxStaleMs?: number;
    },
  );
  readonly state: CatalogState;
  readonly catalog: Catalog | undefined;
  readonly document: Required<CatalogDocument> | undefined;
  readonly host: Host;
  /** Resolves at the first catalog; rejects when this caller may not have one, or at the end. */
  ready(): Promise<void>;
  /** Tries at once what would be tried later. */
  retry(): void;
  /** Stops following for a while, as a page may that nobody looks at; it is STALE until it is resumed. */
  pause(): void;
  /** Follows again. */
  resume(): void;
  evaluateCondition(conditionId: string, request: ConditionRequest): Promise<ItemDecision<ConditionResult>>;
  evaluateProjectRestrictions(request: ProjectRequest): Promise<ItemDecision<RestrictionResult>>;
  evaluateBasket(request: BasketRequest): Promise<BasketDecision>;
  close(): void;
  addEventListener<Type extends keyof CatalogClientEvents>(
    type: Type,
    listener: ((event: CatalogClientEvents[Type]) => void) | null,
    options?: boolean | AddEventListenerOptions,
  ): void;
  addEventListener(
    type: string,
    listener: EventListenerOrEventListenerObject | null,
    options?: boolean | AddEventListenerOptions,
  ): void;
}
