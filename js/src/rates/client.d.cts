// Exchange rates that keep themselves up to date.

import type { TillgateError } from "../shared/error.cjs";
import type { Host, HostOptions } from "../shared/host.cjs";
import type { Listener, ListenerOptions } from "../shared/listener.cjs";
import type { ReadyOptions } from "../shared/ready.cjs";
import type { RateType } from "./math.cjs";

export type { HostOptions } from "../shared/host.cjs";
export { Host } from "../shared/host.cjs";
export type { ReadyOptions } from "../shared/ready.cjs";
export type { TokenSource } from "../shared/token.cjs";
export { clientCredentials } from "../shared/token.cjs";

/** A rate that a shop uses: 1 `currencyIdTo` = `rateValue` `currencyIdFrom`. Numbers are decimal strings. */
export interface ShopRate {
  /** The shop. */
  readonly businessUnitId: string;
  readonly exchangeRateType: RateType;
  /** The source: the currency that the rate is a price in. */
  readonly currencyIdFrom: string;
  /** The target: the currency that is priced. */
  readonly currencyIdTo: string;
  /** The rate as it is set. */
  readonly rateValue: string;
  /** The rate reduced by the shop's markup; equal to `rateValue` without markup. */
  readonly rateValueWithMarkup: string;
  /** When the shop first got this rate. */
  readonly createdDate: string;
  readonly createdBy?: string;
  readonly lastModified?: string;
}

/** A message of the topic `cer.public.event.rates-changed.v1`, with the rates that it changed in this client. */
export interface RatesChanged {
  readonly messageId: string;
  /** With six decimals; strictly increasing within a shop. */
  readonly publishTime: string;
  /** The id of the change that the message is about. */
  readonly correlationId?: string;
  readonly tenantId: string;
  readonly businessUnitId: string;
  readonly createdRates: readonly ShopRate[];
  readonly updatedRates: readonly ShopRate[];
  /** With the values that were held before. */
  readonly deletedRates: readonly ShopRate[];
}

/** A client's rates, from `toJSON()`. Only `version` and `asOf` are meant to be read. */
export interface RatesSnapshot {
  readonly version: 1;
  /** When the rates were last known to be up to date; absent if there were none yet. */
  readonly asOf?: string | undefined;
  readonly url: string;
  readonly businessUnitId?: string | undefined;
  readonly tenantId?: string | undefined;
  readonly cursor?: string | undefined;
  readonly initialState?: string | undefined;
  readonly shops: readonly {
    readonly businessUnitId: string;
    readonly floor: string;
    readonly newest: string;
    readonly rates: readonly (ShopRate & { readonly publishTime: string })[];
  }[];
  readonly deleted: readonly (readonly [rate: string, publishTime: string])[];
}

/** What a client follows: a shop, all shops of a tenant, or a shop of a tenant. */
export type RatesSubject =
  | { businessUnitId: string; tenantId?: undefined }
  | { tenantId: string; businessUnitId?: string | undefined };

export type RatesClientOptions = HostOptions &
  RatesSubject & {
    /** The result of `toJSON()` of an earlier client; null or undefined to start without. */
    snapshot?: RatesSnapshot | null | undefined;
  };

/** STARTING until the first rates, READY while they are up to date, STALE while changes are not received. */
export type RatesState = "STARTING" | "READY" | "STALE" | "CLOSED";

export interface RatesClientEvents {
  state: Event & { readonly state: RatesState };
  /** The rates of a shop have changed. There is no message if all of them were read. */
  change: Event & { readonly businessUnitId: string; readonly message?: RatesChanged };
  error: Event & { readonly error: TillgateError };
}

/** The exchange rates of a shop, or of all shops of a tenant, kept up to date. */
export class RatesClient extends EventTarget {
  /**
   * Starts at once. @throws {TillgateError} `invalid`: an option is missing or wrong, or the snapshot is of another host or
   * shop.
   */
  constructor(options: RatesClientOptions);
  readonly state: RatesState;
  /** When the rates were last known to be up to date; undefined while there are none. */
  readonly asOf: Date | undefined;
  /** The time since `asOf`. */
  readonly ageMs: number | undefined;
  /** The shops that rates are held for. */
  readonly businessUnitIds: readonly string[];
  readonly host: Host;
  /**
   * Resolves when there are rates, even if they are those of a snapshot. Rejects if the host refuses them (`invalid`: the unit
   * is a company or a group, not a shop), the client is closed first, the time is over (`unavailable`) or the signal aborts
   * (with its reason).
   */
  ready(options?: ReadyOptions): Promise<void>;
  /** Reconnects at once instead of after the current pause. */
  retry(): void;
  /** Stops receiving changes. The state is STALE until `resume()`. */
  pause(): void;
  /** Receives changes again, starting with the ones that were missed. */
  resume(): void;
  /** The rates of a shop, in both directions, by type, from and to. A client of a tenant needs `businessUnitId`. */
  rates(options?: { businessUnitId?: string | undefined }): ShopRate[];
  /** @throws {TillgateError} `rate_not_found`, `business_unit_not_found`, `not_ready`, `invalid` or `closed`. */
  rate(options: {
    exchangeRateType: RateType;
    currencyIdFrom: string;
    currencyIdTo: string;
    businessUnitId?: string | undefined;
  }): ShopRate;
  /**
   * Converts an amount in `from` to `to`, rounded to the minor unit of `to`. Applies the rate from `to` to `from`, with the
   * shop's markup only if `withMarkup`.
   * @throws {TillgateError} `rate_not_found`, `business_unit_not_found`, `not_ready`, `invalid` or `closed`.
   */
  convert(options: {
    /** A decimal string. */
    amount: string;
    from: string;
    to: string;
    exchangeRateType: RateType;
    businessUnitId?: string | undefined;
    /** False by default. */
    withMarkup?: boolean | undefined;
  }): { amount: string; currency: string; rate: ShopRate };
  /** Returns all that a later client needs to continue with these rates. */
  toJSON(): RatesSnapshot;
  close(): void;
  addEventListener<Type extends keyof RatesClientEvents>(
    type: Type,
    listener: ((event: RatesClientEvents[Type]) => void) | null,
    options?: ListenerOptions,
  ): void;
  addEventListener(
    type: string,
    listener: Listener,
    options?: ListenerOptions,
  ): void;
}
