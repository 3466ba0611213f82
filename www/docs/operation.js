/**
 * An operation: its purpose, the permissions, the parameters and each answer, beside a request to try.
 */

import { button, h } from "../shared/dom.js";
import { figure } from "../shared/locale.js";
import { examplesOf, exampleText, follow, isHeld } from "./documents.js";
import { codeBlock, folded, inline, prose } from "./prose.js";
import { requestPanel } from "./request.js";
import { rows, schemaTree } from "./tree.js";

/** The method of an operation, in its color. */
export const methodTag = (method) => h("span", { class: "method", "data-method": method }, method);

/** A path that may break at its slashes. */
export const pathText = (path) => h("code", { class: "path" }, path.split(/(?=\/)/).flatMap((part, at) => (at > 0 ? [h("wbr"), part] : [part])));

/** The view. `account` holds the session. */
export function operationView(document, operation, account) {
  const { title, method, path, tag, description, deprecated, parameters, body } = operation;
  const request = requestPanel(document, operation, account);
  const facts = h("dl", { class: "facts" });
  const refresh = () => {
    facts.replaceChildren(...factsOf(operation, account.session));
    request.refresh();
  };
  refresh();
  const element = h(
    "div",
    { class: "operation" },
    h(
      "article",
      { class: "stack" },
      h("div", { class: "operation-head" }, h("p", { class: "kicker" }, tag), h("h1", { tabindex: "-1" }, title), h("p", { class: "route" }, methodTag(method), pathText(path)), button("Try it", { image: "send", class: "to-request", onclick: () => request.focus() })),
      deprecated && h("p", { class: "warning" }, "Deprecated: existing users can keep using it until it is removed. Do not start using it."),
      description && h("div", { class: "prose" }, prose(description)),
      facts,
      parameters.length > 0 && parametersOf(document, parameters),
      body && bodyOf(document, body),
      answersOf(document, operation.responses ?? {}),
    ),
    request.element,
  );
  return { title, element, refresh, close: request.close };
}

const fact = (name, ...value) => [h("dt", {}, name), h("dd", {}, value.flat())];

function factsOf({ id, permissions, roles, scheme, "x-max-body-bytes": size }, session) {
  return [
    ...fact("Permission", permissionText(permissions, scheme), heldText(isHeld(permissions, session))),
    ...(roles.length > 0 ? fact(roles.length === 1 ? "Role that has it" : "Roles that have it", codes(roles)) : []),
    ...(size ? fact("Limit", `A body of at most ${sizeText(size)}`) : []),
    ...fact("Name", h("code", {}, id)),
  ];
}

function permissionText(permissions, scheme) {
  if (permissions.length > 0) return between(" or ", permissions.map((all) => between(" and ", all.map((each) => [h("code", {}, each)]))));
  if (scheme === "basic") return "None; the id and the secret of a client";
  return scheme ? "None; any token that is valid" : "None; anyone may ask";
}

const codes = (names) => names.flatMap((name, at) => [at > 0 && ", ", h("code", {}, name)]);

/** Joins lists of elements, with a text between them. */
const between = (text, lists) => lists.flatMap((list, at) => (at > 0 ? [text, ...list] : list));

function sizeText(bytes) {
  const [size, unit] = [[2 ** 20, "MiB"], [2 ** 10, "KiB"], [1, "bytes"]].find(([each]) => bytes % each === 0);
  return `${figure(bytes / size)} ${unit}`;
}

const heldText = (held) => held !== undefined && h("span", { class: "held", "data-tone": held ? "allow" : "soft" }, held ? "You have it." : "You do not have it.");

/** A part of the view with a heading. */
const part = (title, ...content) => h("section", { class: "stack tight", "aria-label": title }, h("h2", {}, title), content.flat());

function parametersOf(document, parameters) {
  const members = parameters.map((each) => {
    const examples = examplesOf(document, each).map(([, value]) => value);
    return { ...each, place: each.in, isRequired: each.required, schema: { ...each.schema, examples } };
  });
  return part("Parameters", rows(document, members));
}

function bodyOf(document, { description, content = {}, required = false }) {
  return part(required ? "Body" : "Body (optional)", description && h("div", { class: "prose" }, prose(description)), contentsOf(document, content, "the body"));
}

/** The contents of a body by media type: the schema and its examples; `noun` names them. */
export const contentsOf = (document, content, noun) =>
  Object.entries(content).flatMap(([type, media]) => [
    h("p", { class: "media-type" }, h("code", {}, type)),
    media.schema !== undefined && schemaTree(document, media.schema),
    ...examplesOf(document, media).map(([name, value]) => folded(name, codeBlock(`Example of ${noun}`, exampleText(value)))),
  ]);

function answersOf(document, responses) {
  const all = Object.entries(responses).map(([status, answer]) => [status, follow(document, answer)]).sort(([one], [other]) => one.localeCompare(other));
  const first = all.findIndex(([status]) => status.startsWith("2"));
  return part("Answers", h("div", { class: "answers" }, all.map(([status, answer], at) => answerOf(document, status, answer, at === first))));
}

/** The tone of a status, by its first digit. */
const toneOf = (status) => ({ 2: "allow", 4: "soft", 5: "deny" })[status.charAt(0)];

function answerOf(document, status, { description = "", headers = {}, content = {} }, isOpen) {
  const sent = Object.entries(headers).map(([name, header]) => ({ name, ...follow(document, header) }));
  const isEmpty = Object.keys(content).length === 0;
  return h(
    "details",
    { class: "answer", open: isOpen, "data-tone": toneOf(status) },
    h("summary", {}, h("b", { class: "status" }, status), h("span", {}, inline(description))),
    h("div", { class: "stack tight" }, isEmpty && h("p", { class: "hint" }, "It has no body."), ...contentsOf(document, content, `the answer ${status}`), sent.length > 0 && h("div", {}, h("h3", {}, "Headers"), rows(document, sent))),
  );
}
