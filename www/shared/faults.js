/**
 * The faults of a request in a rule owner's words: the place and the requirement, without JSON paths.
 */

/** The characters of a condition's id. */
export const ID_FAULT = "The id may hold letters, digits, . _ : and -";
export const AGE_FAULT = "Enter a whole number from 0 to 150.";
export const ITEM_FAULT = "Enter an item id of at most 256 characters.";

/** The length of a value, after “a value”: the host counts UTF-8 bytes. */
export const VALUE_LENGTH = "may have 256 characters; some, such as ä, count more than once";

/** The rule for an id in an address: browsers drop segments that are only dots. */
export const DOTS_RULE = "must be more than one or two dots";

/** True if an id is only dots. */
export const isDots = (id) => id === "." || id === "..";

/** Whole sentences, by path and message. */
const SENTENCES = [
  [/^\$\.(conditionId|tenant\[0\]\.id) /, `${ID_FAULT}, at most 64 of them.`],
  [/condition_value\.minimum_age /, "Enter the minimum age: a whole number from 0 to 150."],
  [/^\$\.context\.customer\.customer_age /, "The customer’s age must be a whole number from 0 to 150."],
  [/^\$\.item\.id /, ITEM_FAULT],
  [/^\$\.items\[\d+\]\.id /, (path) => `Enter the item id of line ${Number(/\d+/.exec(path)[0]) + 1}, at most 256 characters.`],
  [/^\$\.restrictions\[\d+\]\.propertyName /, "The property’s name is missing or too long."],
  [/^\$\.restrictions\[\d+\]\.(allowed|denied)Values/, "A value is too long."],
  [/^\$\.restrictions\[\d+\]\.itemIds/, "An item id is too long."],
  [/^\$\.restrictions must have at most 1000 /, "A project may have at most 1,000 rules."],
  [/^\$\.restrictions must have at most 100000 /, "The rules of a project may have at most 100,000 values in all."],
  [/^\$\.filter\[\d+\]\.path /, "For each condition, enter the member of the event’s data that it checks, such as businessUnitId."],
  [/^\$\.filter\[\d+\]\.in must be numbers/, "Enter numbers only, one per line."],
  [/^\$\.filter\[\d+\]\.in\[/, "A value of a condition is too long."],
  [/^\$\.filter\[\d+\]\.in /, "Enter 1 to 100 values for each condition."],
  [/^\$\.filter /, "There are too many conditions, or their values are too long in total."],
  [/^\$\.name must be a string/, "The name may have at most 256 characters."],
];

/** The names of places in a request, the most specific first. */
const PLACES = [
  [/^\$\.item\.additionalProperties/, "A property of the item"],
  [/^\$\.items\[\d+\]\.conditionIds/, "An item’s conditions"],
  [/^\$\.items\[\d+\]/, "An item"],
  [/^\$\.items/, "The basket"],
  [/^\$\.context\.customer\.licenses/, "The licenses"],
  [/^\$\.restrictions\[\d+\]\.propertyName/, "The property"],
  [/^\$\.restrictions\[\d+\]\.(allowed|denied)Values/, "Each value"],
  [/^\$\.restrictions\[\d+\]\.itemIds/, "Each item id"],
  [/^\$\.restrictions\[\d+\]/, "The rule"],
  [/^\$\.(restrictions|projectId)/, "The project"],
  [/^\$\.name/, "The name"],
  [/^\$\.tests\[\d+\]\.name/, "The name of a test"],
  [/^\$\.tests\[\d+\]/, "A test"],
  [/^\$\.tests/, "The list of tests"],
  [/\.exchangeRateType$/, "The type of the rate"],
  [/\.currencyId(From|To)$/, "The currency"],
  [/\.rateValue$/, "The rate"],
  [/markupPercentage$/, "The markup"],
  [/^\$\.markups/, "The markup of a pair"],
  [/tolerancePercentage$/, "The largest step"],
  [/^\$\.tolerances/, "The largest step of a pair"],
  [/^\$\.(set|delete)\[\d+\]/, "The rate"],
  [/^\$\.(set|delete)/, "The list of rates"],
  [/^\$\.callbackUrl/, "The address"],
  [/^\$\.eventType$/, "The event type"],
  [/^\$\.eventTypes$/, "The list of events"],
  [/^\$\.eventTypes/, "An event type"],
  [/^\$\.authentication\.username/, "The user name"],
  [/^\$\.authentication\.password/, "The password"],
  [/^\$\.authentication/, "How it signs in"],
  [/^\$\.sharedKey/, "The shared key"],
  [/^\$\.signatureHeader/, "The header of the signature"],
  [/^\$\.maxPerSecond/, "The limit per second"],
  [/^\$\.parentId/, "The unit above"],
  [/^\$\.(businessUnitId|id)/, "The id"],
  [/^\$\.type/, "The kind of unit"],
];

/** The rules of values, in a rule owner's words. */
const RULES = [
  [/^must be a string of (.*?), true or false$/, "must be $1 long"],
  [/^must be a string of (.*)$/, "must be $1 long"],
  ["must be an integer", "must be a whole number"],
  [/^must be 1 to (\d+) of (A-Z a-z 0-9|letters, digits,)/, "must be 1 to $1 letters, digits,"],
  ["must be the ISO 4217 code of a currency, in capitals", "must be a three-letter code, such as EUR"],
  ["must differ from currencyIdFrom", "must differ from the other currency"],
  ["has an opposite that rounds to 0.000000: set the opposite too", "is so large that its opposite would be zero: set the opposite too"],
  ["must be SALES, PURCHASE or INTERCOMPANY", "must be sales, purchase or intercompany"],
  ["is set twice", "is listed twice"],
  ["must be an absolute URL", "must be a whole address, such as https://erp.example/events"],
  ["must be an https or http URL", "must begin with https:// or http://"],
  ["must be an https URL", "must begin with https://"],
  ["must not have a fragment", "must not have a # or anything after it"],
  [": use authentication BASIC", ": enter them below"],
  [/^must not be the topic of rate changes.*$/, "must not be the topic of rate changes, which are not events: subscribe to the topic instead"],
  [/^must be an event type such as ([^,]*).*$/, "must have names in lower case with dots between them and a version at the end, such as $1"],
  [/^must be "generate" or /, "must be "],
];

/** A fault of a request as a sentence, which names the place without its JSON path. */
export function faultText({ path, message }) {
  const [, sentence] = SENTENCES.find(([pattern]) => pattern.test(`${path} ${message}`)) ?? [];
  if (sentence) return typeof sentence === "function" ? sentence(path) : sentence;
  const [, place] = PLACES.find(([pattern]) => pattern.test(path)) ?? [undefined, "The request"];
  const rule = RULES.reduce((text, [from, to]) => text.replace(from, to), message);
  return `${place} ${rule}.`;
}
