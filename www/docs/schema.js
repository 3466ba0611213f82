/**
 * Describes a JSON Schema in words: its type, its rules and its content. Knows no elements.
 */

import { figure } from "../shared/locale.js";
import { resolve } from "./documents.js";

/** The most values of an enumeration that are listed. */
export const MAX_VALUES = 12;

const isNull = ({ type, const: value }) => type === "null" || value === null;

/**
 * Returns a schema with its references and `allOf` merged in: `{ schema, names }`, with the names of the references. A choice
 * between a type and null becomes that type, `isNullable`; one of bare values becomes an enumeration.
 */
export function read(document, given, followed = []) {
  if (given === false) return { schema: { isNothing: true }, names: [] };
  const { $ref, allOf = [], ...own } = given === true || !given ? {} : given;
  const parts = $ref && !followed.includes($ref) ? [resolve(document, $ref), ...allOf] : allOf;
  const all = parts.map((part) => read(document, part, [...followed, $ref]));
  const schema = [...all.map((each) => each.schema), own].reduce(joined, {});
  const names = [$ref, ...all.flatMap((each) => each.names)].filter(Boolean);
  const among = schema.anyOf ?? schema.oneOf;
  const { anyOf, oneOf, ...rest } = schema;
  if (among?.every((each) => each.const !== undefined && !each.description)) return { schema: { ...rest, enum: among.map((each) => each.const) }, names };
  if (among?.length !== 2 || !among.some(isNull)) return { schema, names };
  const other = read(document, among.find((each) => !isNull(each)), followed);
  return { schema: { ...joined(other.schema, rest), isNullable: true }, names: [...names, ...other.names] };
}

const joined = (one, other) => ({
  ...one,
  ...other,
  ...((one.properties ?? other.properties) && { properties: { ...one.properties, ...other.properties } }),
  ...((one.required ?? other.required) && { required: [...(one.required ?? []), ...(other.required ?? [])] }),
});

/** The schema of an array's entries, through nested arrays. */
function innermost(document, given) {
  const { schema, names } = read(document, given);
  if (schema.items === undefined || schema.prefixItems) return { schema, names, depth: 0 };
  const inner = innermost(document, schema.items);
  return { ...inner, names: [...names, ...inner.names], depth: inner.depth + 1 };
}

/** The type: `string (date-time)`, `array of Rate`, `integer or null`. */
export function typeText(document, given) {
  const { schema, names } = read(document, given);
  const types = typesOf(document, schema, names);
  if (schema.isNullable && !types.includes("null")) types.push("null");
  return types.join(" or ");
}

function typesOf(document, schema, names) {
  if (schema.isNothing) return ["nothing"];
  if (schema.const !== undefined) return [JSON.stringify(schema.const)];
  const among = alternatives(schema);
  if (among.length > 0 && among.every((each) => each.const !== undefined)) return [`one of ${figure(among.length)} values`];
  const values = schema.enum?.map((value) => (value === null ? "null" : Array.isArray(value) ? "array" : typeof value));
  const guess = values ? [...new Set(values)] : schema.properties || schema.additionalProperties ? "object" : (schema.items ?? schema.prefixItems) ? "array" : undefined;
  const types = [schema.type ?? guess ?? []].flat();
  if (types.length === 0) return [among.length > 0 ? `one of ${figure(among.length)} forms` : "any value"];
  return types.map((type) => {
    if (type === "array" && schema.items !== undefined) return `array of ${typeText(document, schema.items)}`;
    if (type === "object" && names.length > 0) return names[0].split("/").at(-1);
    return schema.format && type !== "null" ? `${type} (${schema.format})` : type;
  });
}

const choices = ({ oneOf, anyOf }) => oneOf ?? anyOf ?? [];

/** Choices that only say which members are required are a rule. */
const isDemand = (schema) => choices(schema).length > 0 && choices(schema).every((each) => each.required && Object.keys(each).length === 1);

const alternatives = (schema) => (isDemand(schema) ? [] : choices(schema));

const number = (value) => figure(value, { maximumFractionDigits: 20 });

/** A range in words; undefined without one. */
function range(least, most, noun = "") {
  const last = noun && ` ${(most ?? least) === 1 ? noun : noun.replace(/y$/, "ie").concat("s")}`;
  if (least !== undefined && least === most) return `exactly ${number(least)}${last}`;
  if (least !== undefined && most !== undefined) return `${number(least)} to ${number(most)}${last}`;
  if (least !== undefined) return `at least ${number(least)}${last}`;
  return most === undefined ? undefined : `at most ${number(most)}${last}`;
}

/**
 * The rules of a schema, each a text and the code after it: `["1 to 64 characters"]`, `["matches", "^a+$"]`.
 */
export function rulesOf(document, given) {
  const { schema } = read(document, given);
  const { minLength, maxLength, minimum, maximum, exclusiveMinimum: above, exclusiveMaximum: below } = schema;
  const texts = [
    range(minLength || undefined, maxLength, "character"),
    above !== undefined && `more than ${number(above)}`,
    range(minimum, maximum),
    below !== undefined && `less than ${number(below)}`,
    schema.multipleOf !== undefined && `a multiple of ${number(schema.multipleOf)}`,
    range(schema.minItems || undefined, schema.maxItems, "entry"),
    schema.uniqueItems && "no duplicate entries",
    range(schema.minProperties || undefined, schema.maxProperties, "member"),
    (schema.additionalProperties === false || schema.unevaluatedProperties === false) && "no other members",
    schema.contentEncoding && `encoded as ${schema.contentEncoding}`,
    schema.contentMediaType && `holds ${schema.contentMediaType}`,
    schema.if && "other rules apply in some cases; see the document",
  ];
  const rules = texts.filter(Boolean).map((text) => [text]);
  if (schema.pattern !== undefined) rules.push(["matches", schema.pattern]);
  if (schema.enum) rules.push(["one of", ...schema.enum.map((value) => JSON.stringify(value))]);
  if (schema.not?.enum ?? schema.not?.const) rules.push(["not", ...[schema.not.enum ?? schema.not.const].flat().map((value) => JSON.stringify(value))]);
  if (isDemand(schema)) rules.push([schema.oneOf ? "exactly one of" : "at least one of", ...choices(schema).map(({ required }) => required.join(" and "))]);
  for (const [name, others] of Object.entries(schema.dependentRequired ?? {})) rules.push([`if ${name} is present, also`, ...others]);
  if (schema.default !== undefined && schema.default !== null) rules.push(["default", JSON.stringify(schema.default)]);
  if (schema.propertyNames) rules.push(...rulesOf(document, schema.propertyNames).map(([text, ...code]) => [`each name: ${text}`, ...code]));
  if (schema.items) rules.push(...entryRules(document, schema.items));
  return rules;
}

const entryRules = (document, items) => rulesOf(document, items).filter(([text]) => text !== "no other members").map(([text, ...code]) => [`each entry: ${text}`, ...code]);

/**
 * The members of a schema: `{ name, schema, isRequired }`. A name that no document has, such as that of a choice, is a
 * `phrase`. An array has the members of its entries.
 */
export function inside(document, given) {
  const { schema } = innermost(document, given);
  const all = Object.entries(schema.properties ?? {}).map(([name, each]) => ({ name, schema: each, isRequired: schema.required?.includes(name) ?? false }));
  const named = all.sort((one, other) => other.isRequired - one.isRequired);
  const matching = Object.entries(schema.patternProperties ?? {}).map(([pattern, each]) => ({ phrase: "each name that matches", name: pattern, schema: each }));
  const other = schema.additionalProperties;
  const others = other && other !== true ? [{ phrase: named.length > 0 ? "each other name" : "each name", schema: other }] : [];
  const places = (schema.prefixItems ?? []).map((each, at) => ({ phrase: `entry ${at + 1}`, schema: each }));
  const rest = schema.prefixItems && schema.items ? [{ phrase: "each other entry", schema: schema.items }] : [];
  const held = schema.contentSchema === undefined ? [] : [{ phrase: "what it holds", schema: schema.contentSchema }];
  const either = alternatives(schema).map((each, at) => ({ phrase: `${named.length > 0 ? "where " : ""}${nameOf(document, each) ?? `form ${at + 1}`}`, schema: each }));
  return [...named, ...matching, ...others, ...places, ...rest, ...held, ...either];
}

/** The name of a choice: its own, or the values of the member that identifies it. */
function nameOf(document, given) {
  const { schema, names } = read(document, given);
  if (schema.title) return schema.title;
  const [fixed] = Object.entries(schema.properties ?? {}).map(([name, each]) => [name, valuesOf(each)]).filter(([, values]) => values);
  if (fixed) return `${fixed[0]} ${fixed[1].map((value) => JSON.stringify(value)).join(" or ")}`;
  const type = typeText(document, given);
  return names[0]?.split("/").at(-1) ?? (type === "object" ? undefined : type);
}

const valuesOf = ({ const: value, enum: values = value === undefined ? undefined : [value] }) => values;

/** The names of the references that lead into a schema: a name that is open already means recursion. */
export const namesIn = (document, given) => innermost(document, given).names;
