/**
 * The state of Preview as an address to share: `#/preview/condition/alcohol?age=17`. Anyone can write one, so only values of
 * the right shape are read.
 */

const isText = (value) => typeof value === "string" && value.length <= 256;
const isTexts = (value) => Array.isArray(value) && value.length <= 64 && value.every(isText);
const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const isProperties = (value) => isObject(value) && Object.values(value).every((each) => ["string", "boolean", "number"].includes(typeof each));
const isLine = (value) => isObject(value) && isText(value.id) && isTexts(value.conditionIds) && isProperties(value.properties ?? {});
const isAge = (value) => value === null || value === undefined || Number.isFinite(value);

const isDraft = (value) =>
  isObject(value) &&
  isText(value.id) &&
  ["AGE_RESTRICTION", "LICENSE_REQUIREMENT"].includes(value.rule) &&
  typeof value.enabled === "boolean" &&
  isObject(value.condition_value) &&
  isAge(value.condition_value.minimum_age);

const isValues = (value) => Array.isArray(value) && value.every((each) => isText(each) || typeof each === "boolean");

const isRestriction = (value) =>
  isObject(value) &&
  /^((WHITE|BLACK)LIST(EDITEMS)?|BOOLEAN)$/.test(value.type) &&
  isText(value.propertyName ?? "") &&
  [value.allowedValues, value.deniedValues, value.itemIds].every((values) => isValues(values ?? []));

const isProject = (value) => isObject(value) && isText(value.name ?? "") && Array.isArray(value.restrictions) && value.restrictions.every(isRestriction);

/** The possible members of an address, and how to recognize them. Texts are written as they are, the rest as JSON. */
const TEXTS = { item: isText, age: isText, project: isText };
const OBJECTS = {
  licenses: isTexts,
  properties: isProperties,
  draft: isDraft,
  projectDraft: isProject,
  lines: (value) => Array.isArray(value) && value.length <= 1000 && value.every(isLine),
};

/** A longer address is useless in a message: then the state is only kept in memory. */
const MAX_LENGTH = 6000;

/** The address of a state. */
export function previewAddress(mode, id, state) {
  const given = new URLSearchParams();
  for (const [key, value] of Object.entries(state)) {
    if (value !== undefined) given.set(key, Object.hasOwn(TEXTS, key) ? value : JSON.stringify(value));
  }
  const path = `#/preview/${mode}${id ? `/${encodeURIComponent(id)}` : ""}`;
  const address = `${path}?${given}`;
  return address.length <= MAX_LENGTH ? address : path;
}

/** The state in an address's query; undefined without a query. */
export function previewState(query) {
  if (query === undefined) return undefined;
  const given = new URLSearchParams(query);
  const state = {};
  for (const [key, isRight] of Object.entries(TEXTS)) {
    if (given.has(key) && isRight(given.get(key))) state[key] = given.get(key);
  }
  for (const [key, isRight] of Object.entries(OBJECTS)) {
    const value = parsed(given.get(key));
    if (isRight(value)) state[key] = value;
  }
  return state;
}

function parsed(text) {
  try {
    return text === null ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}
