/**
 * The changes between two versions of a condition or a project.
 */

import { change, listChange, shownValues } from "../shared/difference.js";
import { isolated } from "../shared/locale.js";
import { testChanges } from "./test-changes.js";

const ORDER = "Order of the rules or values";

const REQUIRES = { AGE_RESTRICTION: "an age", LICENSE_REQUIREMENT: "a license" };

/**
 * The changes between two versions of a condition and its tests: `[{ label, removed, added }]`. Without `before`, it is new.
 */
export function conditionChanges(before, after) {
  const changes = [
    change("Id", before?.id, after.id ?? before?.id),
    change("Customers need", before && REQUIRES[before.rule], REQUIRES[after.rule]),
    change("Minimum age", before?.condition_value.minimum_age, after.condition_value.minimum_age),
    change("In force", before?.enabled, after.enabled),
    ...testChanges(before?.tests, after.tests),
  ];
  return changes.filter(Boolean);
}

/** The changes between two versions of a project and its tests. */
export function projectChanges(before, after) {
  const old = before?.restrictions ?? [];
  const pairs = paired(old, after.restrictions);
  const changes = [
    change("Name", before?.name, after.name),
    ...pairs.flatMap(([one, other]) => ruleChanges(one, other)),
    ...old.filter((rule) => !pairs.some(([one]) => one === rule)).flatMap((rule) => ruleChanges(rule, undefined)),
    ...testChanges(before?.tests, after.tests),
  ].filter(Boolean);
  if (changes.length > 0 || before === undefined || JSON.stringify(old) === JSON.stringify(after.restrictions)) return changes;
  return [{ label: ORDER, removed: ["as it was"], added: ["as in the form"] }];
}

/** True if two versions of a project differ at most in the order of rules and values, which decides nothing. */
export const isSameProject = (one, other) => projectChanges(one, other).every(({ label }) => label === ORDER);

/** Each rule of `after` with its predecessor in `before`: the same rule, or else one that checks the same thing. */
function paired(before, after) {
  const left = new Set(before);
  const take = (isSame) => {
    const found = [...left].find(isSame);
    left.delete(found);
    return found;
  };
  const texts = new Map([...before, ...after].map((rule) => [rule, JSON.stringify(rule)]));
  const same = after.map((rule) => take((each) => texts.get(each) === texts.get(rule)));
  return after.map((rule, at) => [same[at] ?? take((each) => each.type === rule.type && each.propertyName === rule.propertyName), rule]);
}

/** The changes in one rule; without `before` it is new, without `after` it is removed. */
function ruleChanges(before, after) {
  const label = ruleLabel(after ?? before);
  const [old, now] = [before, after].map((rule) => rule && listed(rule));
  if (before === undefined || after === undefined) {
    const values = (rule, list) => rule && (list.length > 0 ? shownValues(list) : ["no value"]);
    const kind = (after ?? before).exclusive ? "Rule, checked separately" : "Rule";
    return [{ label: `${kind}: ${label}`, removed: values(before, old) ?? [], added: values(after, now) ?? [] }];
  }
  return [
    listChange(before.exclusive && after.exclusive ? `${label}, checked separately` : label, old, now),
    change(`${label}: checked separately`, Boolean(before.exclusive), Boolean(after.exclusive)),
  ].filter(Boolean);
}

/** The values that a rule names. */
const listed = ({ allowedValues, deniedValues, itemIds, value }) => allowedValues ?? deniedValues ?? itemIds ?? [value];

/** The checked property of a rule, without its values. */
export function ruleLabel({ type, propertyName = "" }) {
  const property = isolated(propertyName);
  const labels = {
    WHITELIST: `${property} must be one of`,
    BLACKLIST: `${property} must not be one of`,
    BOOLEAN: `${property} must be`,
    WHITELISTEDITEMS: "Only these items",
    BLACKLISTEDITEMS: "Never these items",
  };
  return labels[type];
}
