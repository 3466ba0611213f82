// Rate math on decimal strings.

/** 1 ÷ rate, to six decimals: `"0.090498"` for `"11.05"`. */
export function oppositeRate(rate: string): string;

/** A rate reduced by a markup in percent: `"10.77375"` for `"11.05"`, `"2.5"`. */
export function rateWithMarkup(rate: string, markupPercentage: string): string;

/** An amount times a rate, rounded to the minor unit of a currency or to `minorUnit` decimals, by default two. */
export function convert(
  amount: string,
  rate: string,
  options?: { currency: string; minorUnit?: never } | { minorUnit: number; currency?: never },
): string;

export type RateType = "SALES" | "PURCHASE" | "INTERCOMPANY";

/** A rate as set: 1 `currencyIdTo` = `rateValue` `currencyIdFrom`. */
export interface SetRate {
  exchangeRateType: RateType;
  currencyIdFrom: string;
  currencyIdTo: string;
  rateValue: string;
  createdBy?: string | null;
  /** The reference rate that it was taken from; its day becomes `asOf`. */
  reference?: { readonly date: string } | null;
}

/** The markup of one pair, in both directions. */
export interface PairMarkup {
  exchangeRateType: RateType;
  currencyIdFrom: string;
  currencyIdTo: string;
  markupPercentage: string;
}

/** The rates and markups set at a business unit: the shop itself, or one above it. */
export interface Level {
  businessUnitId: string;
  rates: readonly SetRate[];
  /** The markup of all pairs without an entry in `markups`. */
  markupPercentage?: string | null;
  markups?: readonly PairMarkup[] | null;
}

/** A rate that a shop uses. */
export interface UsedRate extends SetRate {
  rateValueWithMarkup: string;
  /** The business unit at which it is set. */
  setAt: string;
  /** The day of the reference rate that it was taken from, if any. */
  asOf?: string;
}

/** A rate that a shop uses, with its times. */
export interface HeldRate extends UsedRate {
  createdDate: string;
  lastModified?: string | null;
}

/** One computation on decimal strings. */
export type RateCall =
  | { op: "opposite"; rate: string }
  | { op: "markup"; rate: string; markupPercentage: string; opposite?: boolean }
  | { op: "convert"; amount: string; rate: string; currency: string }
  | { op: "convert"; amount: string; rate: string; minorUnit: number }
  | { op: "cross"; rate: string; per: string }
  | { op: "deviation"; old: string; new: string; tolerancePercentage: string }
  | { op: "used"; levels: readonly Level[] }
  | { op: "difference"; before: readonly HeldRate[]; levels: readonly Level[]; at: string }
  | { op: "check"; rates: readonly SetRate[] };

/** The answer to one computation. */
export type RateAnswer<Call extends RateCall = RateCall> = Call extends { op: "opposite" | "markup" | "cross" }
  ? { rate: string }
  : Call extends { op: "convert" }
    ? { amount: string }
    : Call extends { op: "deviation" }
      ? { percent: string; exceeds: boolean; hint?: "INVERTED" | "DECIMAL_POINT" }
      : Call extends { op: "used" }
        ? { rates: UsedRate[] }
        : Call extends { op: "difference" }
          ? { createdRates: HeldRate[]; updatedRates: HeldRate[]; deletedRates: HeldRate[]; rates: HeldRate[] }
          : Record<string, never>;

/** Makes several computations at once and answers in order. @throws {TillgateError} with every fault of every call. */
export function calculate<const Calls extends readonly RateCall[]>(
  calls: Calls,
): { [Index in keyof Calls]: RateAnswer<Calls[Index]> };
