// A catalog that keeps itself up to date.

import type {
  BasketDecision,
  BasketRequest,
  ConditionRequest,
  ConditionResult,
  Explained,
  ItemDecision,
  ProjectRequest,
  RestrictionResult,
} from "../shared/decision.cjs";
import type { TillgateError } from "../shared/error.cjs";
import type { Host, HostOptions } from "../shared/host.cjs";
import type { Listener, ListenerOptions } from "../shared/listener.cjs";
import type { ReadyOptions } from "../shared/ready.cjs";
import type { Catalog, CatalogDocument } from "./catalog.cjs";

export type { HostDecision, HostOptions } from "../shared/host.cjs";
export { Host } from "../shared/host.cjs";
export type { Listener, ListenerOptions } from "../shared/listener.cjs";
export type { ReadyOptions } from "../shared/ready.cjs";
export type { TokenSource } from "../shared/token.cjs";
export { clientCredentials } from "../shared/token.cjs";

/** STARTING until the first catalog, READY while it is up to date, STALE while changes are not received. */
export type CatalogState = "STARTING" | "READY" | "STALE" | "CLOSED";

export interface CatalogClientEvents {
  state: Event & { readonly state: CatalogState };
  change: Event & { readonly document: Required<CatalogDocument> };
  error: Event & { readonly error: TillgateError };
}

/** Hands decisions that are made here in to the host, which records them. The client needs `ecs.decision.report`. */
export interface ReportOptions {
  /** The till's name, unique in the tenant: 1 to 64 of `A-Z a-z 0-9 . _ -`. */
  till: string;
  /** The shop, if the client has not registered for one. */
  businessUnitId?: string;
  /** The most decisions that wait in memory while the host cannot be reached; 10,000 by default. */
  maxDecisions?: number;
}

/** A client's catalog, in a form that can be written as JSON. Only `version` and `asOf` are meant to be read. */
export interface CatalogSnapshot {
  readonly version: 1;
  readonly url: string;
  /** When the catalog was last known to be up to date. */
  readonly asOf: string;
  readonly document: Required<CatalogDocument>;
}

/** Where a client keeps its catalog for the next run. Both may return a promise. */
export interface CatalogStorage {
  /** The snapshot that was set last; null or undefined if there is none. */
  get(): CatalogSnapshot | null | undefined | Promise<CatalogSnapshot | null | undefined>;
  /** Replaces the snapshot. Called for each new catalog, and every ten minutes while that stays up to date. */
  set(snapshot: CatalogSnapshot): unknown;
}

/** A catalog that keeps itself up to date. Decides locally; while there is no catalog, the host decides. */
export class CatalogClient extends EventTarget {
  /** Starts at once. @throws {TillgateError} `invalid`, when an option is missing or wrong. */
  constructor(
    options: HostOptions & {
      /** The age at which the host decides instead of a stale catalog; 15 minutes by default, no limit with a `snapshot`. */
      maxStaleMs?: number;
      report?: ReportOptions;
      /** Keeps the catalog, so that the next run can decide without the host. */
      snapshot?: CatalogStorage | null;
    },
  );
  readonly state: CatalogState;
  readonly catalog: Catalog | undefined;
  readonly document: Required<CatalogDocument> | undefined;
  /** When the catalog was last known to be up to date; undefined while there is none. */
  readonly asOf: Date | undefined;
  /** The time since `asOf`. */
  readonly ageMs: number | undefined;
  readonly host: Host;
  /**
   * Resolves when there is a catalog, even if it is that of the last run. Rejects if this caller may not read it, the client
   * is closed first, the time is over (`unavailable`) or the signal aborts (with its reason).
   */
  ready(options?: ReadyOptions): Promise<void>;
  /**
   * Uploads the decisions that were made here and waits until that is done, for example before closing the client.
   * @throws {TillgateError} if the host does not take them, in which case they go on waiting; `invalid` without `report`.
   */
  upload(): Promise<void>;
  /** Reconnects at once instead of after the current pause. */
  retry(): void;
  /** Stops receiving changes, for example while a page is hidden. The state is STALE until `resume()`. */
  pause(): void;
  /** Receives changes again. */
  resume(): void;
  evaluateCondition(
    conditionId: string,
    request: ConditionRequest,
    options: { explain: true; lenient?: boolean },
  ): Promise<ItemDecision<Explained<ConditionResult>>>;
  evaluateCondition(
    conditionId: string,
    request: ConditionRequest,
    options?: { explain?: boolean; lenient?: boolean },
  ): Promise<ItemDecision<ConditionResult>>;
  evaluateProjectRestrictions(
    request: ProjectRequest,
    options: { explain: true; lenient?: boolean },
  ): Promise<ItemDecision<Explained<RestrictionResult>>>;
  evaluateProjectRestrictions(
    request: ProjectRequest,
    options?: { explain?: boolean; lenient?: boolean },
  ): Promise<ItemDecision<RestrictionResult>>;
  evaluateBasket(
    request: BasketRequest,
    options: { explain: true; lenient?: boolean },
  ): Promise<BasketDecision<Explained<ConditionResult> | Explained<RestrictionResult>>>;
  evaluateBasket(request: BasketRequest, options?: { explain?: boolean; lenient?: boolean }): Promise<BasketDecision>;
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
