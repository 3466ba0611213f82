/**
 * Reads the two documents of the API: operations, messages, examples, permissions. Knows no elements.
 */

/** The address of the host, and the audience of its tokens. This page is at `/docs` of it. */
export const HOST = new URL(".", location.href).href.replace(/\/$/, "");
export const AUDIENCE = document.querySelector("meta[name=tillgate-audience]").content;

/** Media types that are text. */
export const TEXT = /^(text\/|application\/([\w.-]+\+)?(json|xml|x-ndjson|javascript))/;

const METHODS = ["get", "put", "post", "delete", "patch", "head", "options"];

/** Loads a document. An error is a sentence about what is wrong and what to do. */
export async function load(name) {
  let response;
  try {
    response = await fetch(`${HOST}/${name}`);
  } catch (cause) {
    throw new Error(`${HOST}/${name} cannot be reached. Try again once the host answers.`, { cause });
  }
  if (!response.ok) throw new Error(`${HOST}/${name} returned ${response.status}, although every host has this document. Is something in front of the host blocking it?`);
  try {
    return await response.json();
  } catch (cause) {
    throw new Error(`${HOST}/${name} did not return JSON, so the answer is not from a host. Is something in front of the host answering instead?`, { cause });
  }
}

/** Resolves a reference within a document; undefined if there is no such part. */
export function resolve(document, reference) {
  const keys = reference.replace(/^#\/?/, "").split("/").map((key) => decodeURIComponent(key).replaceAll("~1", "/").replaceAll("~0", "~"));
  return keys.reduce((part, key) => (part && Object.hasOwn(part, key) ? part[key] : undefined), document);
}

/** Returns a part of a document, or the part that it refers to. */
export const follow = (document, part) => (part?.$ref ? { ...resolve(document, part.$ref), ...part } : part);

/** The operations in the order of the tags: `{ id, method, path, tag, title, parameters, permissions, roles, scheme, body, ... }`. */
export function operationsOf(document) {
  const paths = Object.entries(document.paths ?? {});
  const all = paths.flatMap(([path, item]) => METHODS.filter((method) => item[method]).map((method) => operationOf(document, path, method, item)));
  const tags = tagsOf(document, all).map(({ name }) => name);
  return all.sort((one, other) => tags.indexOf(one.tag) - tags.indexOf(other.tag));
}

function operationOf(document, path, method, item) {
  const operation = item[method];
  const known = new Map([...(item.parameters ?? []), ...(operation.parameters ?? [])].map((part) => follow(document, part)).map((each) => [`${each.in} ${each.name}`, each]));
  const security = operation.security ?? document.security ?? [];
  const id = operation.operationId ?? `${method}${path.replace(/\W+/g, "-")}`;
  const title = operation.summary ?? `${method.toUpperCase()} ${path}`;
  return {
    ...operation,
    id,
    title,
    path,
    permissions: permissionsOf(security),
    roles: rolesOf(document, permissionsOf(security)),
    method: method.toUpperCase(),
    tag: operation.tags?.[0] ?? "other",
    parameters: [...known.values()].filter(({ name, in: place }) => place !== "header" || !/^(accept|authorization|content-type)$/i.test(name)),
    body: follow(document, operation.requestBody),
    scheme: schemeOf(document, security),
    sought: sought(method, path, title, id, operation.tags, permissionsOf(security)),
    alsoSought: () => sought(operation.description, [...known.values()].map(({ name, description }) => [name, description]), rolesOf(document, permissionsOf(security)), membersOf(document, [operation.requestBody, successesOf(operation)])),
  };
}

/** Joins texts for the search. */
const sought = (...texts) => texts.flat(3).join(" ").toLowerCase();

/** The statuses of success; the errors are alike for all operations. */
const successesOf = ({ responses = {} }) => Object.keys(responses).filter((status) => status.startsWith("2")).map((status) => responses[status]);

/** The names of the members of all schemas in a part of a document, and in the parts that it refers to. */
function membersOf(document, part, seen = new Set()) {
  if (part === null || typeof part !== "object" || seen.has(part)) return [];
  seen.add(part);
  const inside = [...Object.values(part), part.$ref && resolve(document, part.$ref)];
  return [...Object.keys(part.properties ?? {}), ...inside.flatMap((each) => membersOf(document, each, seen))];
}

/** The scheme of a request's credentials, `bearer` or `basic`; undefined if anyone may ask. */
function schemeOf(document, security) {
  if (security.length === 0 || security.some((each) => Object.keys(each).length === 0)) return undefined;
  const schemes = security.flatMap(Object.keys).map((name) => follow(document, document.components?.securitySchemes?.[name]));
  return schemes.every((scheme) => scheme?.scheme?.toLowerCase() === "basic") ? "basic" : "bearer";
}

/** The permissions that are needed: alternatives, each a complete list. Empty if any token will do. */
function permissionsOf(security) {
  const all = security.map((each) => Object.values(each).flat());
  return all.some((each) => each.length === 0) ? [] : all;
}

/** The names of the roles with the permissions that are needed. */
const rolesOf = ({ "x-roles": roles = [] }, permissions) =>
  roles.filter((role) => permissions.some((all) => all.every((each) => role.permissions.includes(each)))).map(({ name }) => name);

/** True if the user has the permissions that are needed; undefined if there are none, or no user. */
export const isHeld = (permissions, session) =>
  session && permissions.length > 0 ? permissions.some((all) => all.every((each) => session.permissions.has(each))) : undefined;

/** The tags of a document, and those that only operations name: `{ name, description }`. */
export function tagsOf(document, operations) {
  const named = document.tags ?? [];
  const others = new Set(operations.map(({ tag }) => tag).filter((tag) => !named.some(({ name }) => name === tag)));
  return [...named, ...[...others].map((name) => ({ name }))].filter(({ name }) => operations.some(({ tag }) => tag === name));
}

/** The channels of the other document: `{ id, title, address, messages, operations, ... }`. */
export function channelsOf(document) {
  const operations = Object.values(document.operations ?? {});
  return Object.entries(document.channels ?? {}).map(([id, given]) => {
    const channel = follow(document, given);
    const title = channel.title ?? channel.summary ?? channel.address ?? id;
    const own = operations.filter((each) => each.channel?.$ref === `#/channels/${id}`);
    // In the order in which the operations list them.
    const names = own.flatMap((each) => each.messages ?? []).map(({ $ref = "" }) => $ref.split("/").at(-1));
    const messages = Object.entries(channel.messages ?? {})
      .sort(([one], [other]) => names.indexOf(one) - names.indexOf(other))
      .map(([name, message]) => messageOf(document, name, message));
    const texts = messages.map((each) => [each.summary, each.description, membersOf(document, [each.payload, each.headers])]);
    return {
      ...channel,
      id,
      title,
      messages,
      operations: own,
      sought: sought(id, title, channel.address, messages.map((each) => [each.name, each.title])),
      alsoSought: () => sought(channel.description, texts),
    };
  });
}

/** A message with its schemas, each with its format if it names one. */
function messageOf(document, name, given) {
  const message = follow(document, follow(document, given));
  const schema = (part) => (part?.schemaFormat ? part.schema : part);
  return { name, ...message, title: message.title ?? message.name ?? name, payload: schema(message.payload), headers: schema(message.headers) };
}

/** The examples of a body, a parameter or a message: `[name, value]`. */
export function examplesOf(document, { examples, example, schema }) {
  if (Array.isArray(examples)) return examples.map((each) => [each.summary ?? each.name ?? "Example", each.payload]);
  if (examples) return Object.entries(examples).map(([name, each]) => [capital(follow(document, each).summary ?? name), follow(document, each).value]);
  const { example: one, examples: [first] = [], default: usual } = follow(document, schema) ?? {};
  return [example, one, first, usual].filter((value) => value !== undefined).slice(0, 1).map((value) => ["Example", value]);
}

const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/** The text of an example as sent. */
export const exampleText = (value) => (typeof value === "string" ? value : JSON.stringify(value, null, 2));
