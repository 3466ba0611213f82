// A catalog that keeps itself up to date, and requests to the host.

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

/** Returns a token; with `fresh`, a new one, because the last one was refused. */
export type TokenSource = (options?: { fresh?: boolean }) => string | Promise<string>;

/** A token source that exchanges the credentials of a client when a token is needed. */
export function clientCredentials(options: {
  tokenUrl: string | URL;
  clientId: string;
  clientSecret: string;
  audience: string;
  fetch?: typeof fetch;
}): (options?: { fresh?: boolean }) => Promise<string>;

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
  /** Sends a request; returns the response if it is successful or a 304. @throws {TillgateError} otherwise. */
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

/** As the program's libraries declare them: those of browsers and those of Node have other names for them. */
export type Listener = Parameters<EventTarget["addEventListener"]>[1];
export type ListenerOptions = Parameters<EventTarget["addEventListener"]>[2];

/** STARTING until the first catalog, READY while it is up to date, STALE while changes are not received. */
export type CatalogState = "STARTING" | "READY" | "STALE" | "CLOSED";

export interface CatalogClientEvents {
  state: Event & { readonly state: CatalogState };
  change: Event & { readonly document: Required<CatalogDocument> };
  error: Event & { readonly error: TillgateError | Error };
}

/** A catalog that keeps itself up to date. Decides locally; while there is no catalog, the host decides. */
export class CatalogClient extends EventTarget {
  constructor(
    options: HostOptions & {
      /** How long a stale catalog is used before the host decides instead; 15 minutes by default. */
      maxStaleMs?: number;
    },
  );
  readonly state: CatalogState;
  readonly catalog: Catalog | undefined;
  readonly document: Required<CatalogDocument> | undefined;
  readonly host: Host;
  /** Resolves when there is a catalog; rejects when this caller may not read it or the client is closed first. */
  ready(): Promise<void>;
  /** Reconnects at once instead of after the current pause. */
  retry(): void;
  /** Stops receiving changes, for example while a page is hidden. The state is STALE until `resume()`. */
  pause(): void;
  /** Receives changes again. */
  resume(): void;
  evaluateCondition(conditionId: string, request: ConditionRequest): Promise<ItemDecision<ConditionResult>>;
  evaluateProjectRestrictions(request: ProjectRequest): Promise<ItemDecision<RestrictionResult>>;
  evaluateBasket(request: BasketRequest): Promise<BasketDecision>;
  close(): void;
  addEventListener<Type extends keyof CatalogClientEvents>(
    type: Type,
    listener: ((event: CatalogClientEvents[Type]) => void) | null,
    options?: ListenerOptions,
  ): void;
  addEventListener(
    type: string,
    listener: Listener,
    options?: ListenerOptions,
  ): void;
}
