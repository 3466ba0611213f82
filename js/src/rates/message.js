/**
 * Reads the host's texts about rates: the messages of the topic and the answer of `GET /api/v1/exchange-rates`. Both become
 * rates of one shape. Their numbers are decimal strings, taken from the text of the JSON and never through a float. Unknown
 * members are ignored (`given.md`, 6.1).
 */

import { TillgateError } from "../shared/error.js";

const DECIMAL = /^(?:0|[1-9]\d*)(?:\.\d+)?$/;
const CURRENCY = /^[A-Z]{3}$/;

/** Publish times are compared as text, which requires that all have the same width. */
export const PUBLISH_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;

/** A string, or a number outside a string: a string is matched as a whole, whatever it contains. */
const STRING_OR_NUMBER = /("[^"\\]*(?:\\.[^"\\]*)*")|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?/g;

/** Parses JSON; every number becomes a string with its text. */
export function parseExactly(text) {
  try {
    return JSON.parse(text.replace(STRING_OR_NUMBER, (token, string) => string ?? `"${token}"`));
  } catch (cause) {
    throw unreadable("$", "must be JSON", cause);
  }
}

/** Reads the text of a message of the topic. Lists that are missing or null are empty. */
export function readMessage(text) {
  const { messageId, publishTime, attributes, data } = members(parseExactly(text), "$");
  const { tenantId, businessUnitId, ...lists } = members(data, "$.data");
  const list = (name, read) => readList(lists[name], businessUnitId, `$.data.${name}`, read);
  return {
    messageId: matching(/./s, messageId, "$.messageId", "must be a string"),
    publishTime: matching(PUBLISH_TIME, publishTime, "$.publishTime", "must be a time with six decimals"),
    correlationId: attributes?.["Correlation-Id"],
    tenantId: matching(/./s, tenantId, "$.data.tenantId", "must be a string"),
    businessUnitId: matching(/./s, businessUnitId, "$.data.businessUnitId", "must be a string"),
    createdRates: list("createdRates", readRate),
    updatedRates: list("updatedRates", readRate),
    // A deleted rate needs only its key.
    deletedRates: list("deletedRates", readKey),
  };
}

/** Reads the rates of a shop from the text of the host's answer. */
export function readRates(text, businessUnitId) {
  return readList(parseExactly(text), businessUnitId, "$", readRate);
}

/** Reads a rate of a shop, with either pair of names for its currencies; `path` is its place in the text. */
export function readRate(row, businessUnitId, path) {
  const { rateValue, rateValueWithMarkup, createdDate, createdBy, lastModified } = members(row, path);
  const decimal = (value, name) => matching(DECIMAL, value, `${path}.${name}`, "must be a decimal");
  return Object.freeze({
    ...readKey(row, businessUnitId, path),
    rateValue: decimal(rateValue, "rateValue"),
    // Without a markup they are equal (`given.md`, 2.5).
    rateValueWithMarkup: decimal(rateValueWithMarkup ?? rateValue, "rateValueWithMarkup"),
    ...present({ createdDate, createdBy, lastModified }),
  });
}

/** Reads the key of a rate (`given.md`, 2.5). */
function readKey(row, businessUnitId, path) {
  const { exchangeRateType, sourceCurrencyCode, currencyIdFrom, targetCurrencyCode, currencyIdTo } = members(row, path);
  const currency = (code) => matching(CURRENCY, code, path, "must have two currencies");
  return {
    businessUnitId,
    exchangeRateType: matching(/./s, exchangeRateType, `${path}.exchangeRateType`, "must be a string"),
    currencyIdFrom: currency(sourceCurrencyCode ?? currencyIdFrom),
    currencyIdTo: currency(targetCurrencyCode ?? currencyIdTo),
  };
}

function readList(list, businessUnitId, path, read) {
  if (!Array.isArray(list ?? [])) throw unreadable(path, "must be an array");
  return (list ?? []).map((row, at) => read(row, businessUnitId, `${path}[${at}]`));
}

function members(value, path) {
  if (typeof value !== "object" || value === null) throw unreadable(path, "must be an object");
  return value;
}

export function matching(pattern, value, path, message) {
  if (typeof value !== "string" || !pattern.test(value)) throw unreadable(path, message);
  return value;
}

const present = (object) => Object.fromEntries(Object.entries(object).filter(([, value]) => value != null));

const unreadable = (path, message, cause) => new TillgateError({ code: "invalid", path, message, cause });
