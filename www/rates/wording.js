/**
 * The words of the Rates view: rates, business units and effects of changes, in the terms of a price manager.
 */

import { figure } from "../shared/locale.js";
import { counted, errorText } from "../shared/messages.js";

/** The most shops named where a change failed. */
const MAX_FAILED = 3;

/** The types of rates, in the order of every list. */
export const TYPES = { SALES: "Sales", PURCHASE: "Purchase", INTERCOMPANY: "Intercompany" };

/** The kinds of business units, each with its word and its icon. */
export const KINDS = {
  COMPANY: { word: "Company", image: "company" },
  GROUP: { word: "Group", image: "group" },
  STORE: { word: "Shop", image: "shop" },
};

/** A rate R from S to T: one T is worth R S. */
export const rateText = ({ currencyIdFrom, currencyIdTo, rateValue }) => `1 ${currencyIdTo} = ${rateValue} ${currencyIdFrom}`;

/** The pair without its value. */
export const pairText = ({ currencyIdFrom, currencyIdTo }) => `1 ${currencyIdTo} in ${currencyIdFrom}`;

/** The key of a rate of a business unit. */
export const keyOf = ({ exchangeRateType, currencyIdFrom, currencyIdTo }) => `${exchangeRateType}/${currencyIdFrom}/${currencyIdTo}`;

/** The key of both directions of a pair. */
export const pairKeyOf = ({ exchangeRateType, currencyIdFrom, currencyIdTo }) => [exchangeRateType, ...[currencyIdFrom, currencyIdTo].sort()].join("/");

/** The other direction. */
export const oppositeOf = ({ exchangeRateType, currencyIdFrom, currencyIdTo }) => ({
  exchangeRateType,
  currencyIdFrom: currencyIdTo,
  currencyIdTo: currencyIdFrom,
});

/** Only the members that identify a rate. */
export const identityOf = ({ exchangeRateType, currencyIdFrom, currencyIdTo }) => ({ exchangeRateType, currencyIdFrom, currencyIdTo });

/**
 * The author of a change. The id of a client contains its software (`tokens.md`, "client_id"), which says more than the id;
 * users and other ids are shown as they are.
 */
export function whoText(by) {
  try {
    const [, software] = /^sfw: ?"?([^@"\n]+)@/m.exec(atob(by.replaceAll("-", "+").replaceAll("_", "/"))) ?? [];
    return software ?? by;
  } catch {
    return by;
  }
}

/** The distance of a unit above another: `1 level up`. */
export const levelsText = (levels) => `${counted(levels, "level")} up`;

/** The effect of a change, from the answer of a dry run. */
export function effectText({ businessUnits }, kind) {
  const [total, affected, shielded] = [businessUnits.total, businessUnits.affected, businessUnits.shielded ?? 0].map(Number);
  const own = shielded === 1 ? "1 keeps its own rate" : `${figure(shielded)} keep their own rate`;
  if (total === 0) return "No shop is below this unit, so no shop changes.";
  if (affected === 0 && shielded > 0) return `Changes no shop: ${own}.`;
  if (affected === 0) return "Changes no shop’s rates.";
  if (kind === "STORE") return "Changes the rates of this shop.";
  return `Changes ${figure(affected)} of ${counted(total, "shop")}${shielded > 0 ? `; ${own}` : ""}.`;
}

/** An error of the host in words. */
export function explain(error) {
  if (error.status === 409) return `${error.message.replace(/^./, (first) => first.toUpperCase())}.`;
  if (error.status === 404) return "This business unit no longer exists, or has no such rate.";
  return errorText(error);
}

/** The result of a change or an initial state: how many of all shops got messages, and for which it failed. */
export function doneText(total, sent, failed = []) {
  const kept = total - sent - failed.length;
  const keep = kept === 1 ? "keeps its rates: nothing changed for it" : "keep their rates: nothing changed for them";
  const all = total === 1 ? "the shop" : `all ${counted(total, "shop")}`;
  const part = `${figure(sent)} of ${counted(total, "shop")}`;
  const sentences = [
    total === 0 && "no shops are affected.",
    sent > 0 && `sent to ${sent === total ? all : part}.`,
    kept > 0 && (sent > 0 ? `The other ${figure(kept)} ${keep}.` : `${counted(kept, "shop")} ${keep}.`),
    failed.length > 0 && `It failed for ${counted(failed.length, "shop")}: ${failed.slice(0, MAX_FAILED).join(", ")}${failed.length > MAX_FAILED ? " and others" : ""}.`,
  ];
  return `Done: ${sentences.filter(Boolean).join(" ").replace(/^It/, "it")}`;
}
