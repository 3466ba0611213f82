/**
 * A request of an operation, to fill in, copy as a curl command, or send: with the user's token, and to this host only.
 */

import { curlOf } from "../shared/curl.js";
import { button, confirmed, field, h } from "../shared/dom.js";
import { figure } from "../shared/locale.js";
import { HOST, TEXT, examplesOf, exampleText, follow, isHeld } from "./documents.js";
import { exchange } from "./exchange.js";
import { codeBlock, folded } from "./prose.js";
import { inside, read } from "./schema.js";

const FORM = "application/x-www-form-urlencoded";
const MULTIPART = "multipart/form-data";

/** The panel: `{ element, refresh, focus, close }`. `account` has the `session`, and `signIn` to get one. */
export function requestPanel(document, operation, account) {
  const { method, path, scheme, parameters, responses = {} } = operation;
  const command = codeBlock("The curl command", "");
  const contents = operation.body?.content ?? {};
  const parts = contents[MULTIPART] ? inside(document, contents[MULTIPART].schema) : [];
  const places = parameters.map((each) => {
    const part = parts.find(({ name }) => name === each.name);
    const required = Boolean(each.required || part?.isRequired);
    return { ...each, isPart: part !== undefined, required, input: inputOf(document, { ...each, required }, changed) };
  });
  const body = bodyOf(document, contents, changed);
  // A part of the form is not asked for again as a parameter.
  const asking = () => places.filter(({ isPart }) => !(isPart && body.type() === MULTIPART));
  const submit = button("", { type: "submit", class: "primary" });
  const note = h("p", { class: "hint" });
  const answer = exchange();
  const needsSignIn = () => scheme === "bearer" && !account.session;
  const asked = () => requestOf(method, path, asking(), body.read());

  function changed() {
    const shown = asking();
    for (const each of places) each.input.element.hidden = !shown.includes(each);
    command.firstChild.textContent = commandOf(operation, asked());
  }

  function refresh() {
    submit.replaceChildren(needsSignIn() ? "Sign in to send" : "Send");
    submit.hidden = scheme === "basic";
    for (const { name, input } of places) if (name === "tenantId") input.suggest(account.session?.tenant);
    changed();
    note.textContent = noteOf(operation, account.session);
  }

  async function onsubmit(event) {
    event.preventDefault();
    const missing = asking().filter(({ input }) => input.isMissing());
    if (missing.length > 0) return missing[0].input.control.focus();
    if (needsSignIn()) return account.signIn();
    const { url, headers, content } = asked();
    if (changes(operation, places) && !(await confirmed(...questionOf(operation, url, places, account.session)))) return;
    await answer.send(url, { method, headers, body: content }, scheme && account.session.token, (status) => meaningOf(document, responses, status));
  }

  const fieldsOf = (isRequired) => places.filter(({ required }) => required === isRequired).map(({ input }) => input.element);
  const optional = fieldsOf(false);
  const more = optional.length > 0 && folded(optional.length === 1 ? "1 more parameter" : `${figure(optional.length)} more parameters`, h("div", { class: "stack tight" }, optional));
  const curl = h("div", { class: "stack tight" }, h("h3", {}, "With curl"), command);
  const form = h("form", { class: "card stack", onsubmit, novalidate: true }, h("h2", {}, "Try it"), fieldsOf(true), more, body.element, curl, note, h("div", { class: "actions" }, submit, answer.stop));
  const element = h("section", { class: "request", "aria-label": "Try it" }, form, answer.element);
  return { element, refresh, focus: () => [...form.querySelectorAll("summary, input, select, textarea, button")].find((each) => each.checkVisibility()).focus(), close: answer.close };
}

/** The meaning of a status, from the document. */
const meaningOf = (document, responses, status) => follow(document, responses[status] ?? responses[`${String(status)[0]}XX`] ?? responses.default)?.description;

/** True if a request may change something: not if the document says otherwise, nor if it is a dry run. */
const changes = ({ method, "x-changes-nothing": isSafe }, places) =>
  !/^(GET|HEAD|OPTIONS)$/.test(method) && !isSafe && !places.some(({ name, input }) => name === "dryRun" && input.value() === "true");

function noteOf({ scheme, permissions }, session) {
  if (scheme === "basic") return "This takes a client’s id and secret instead of a token. Signing in here with them sends it.";
  if (scheme && !session) return "It is sent with a token, so sign in first. The page keeps it in its memory only, and sends it to this host only.";
  return isHeld(permissions, session) === false ? "You do not have the permission, so expect 403." : "";
}

/** The confirmation before a change: the question, what changes in whose data, and the button. */
function questionOf({ title, method, path, permissions }, url, places, session) {
  const tenant = places.find(({ name }) => name === "tenantId")?.input.value() ?? session?.tenant;
  const isForAll = path.includes("/global-") || permissions.flat().some((each) => each.includes(".global-"));
  const whose = isForAll ? "every tenant" : tenant ? `the tenant “${tenant}”` : "this host";
  const does = method === "DELETE" ? "deletes" : "changes";
  return [`${title}?`, `${method} ${url.slice(HOST.length)} is sent to ${new URL(url).host} for real. It ${does} data of ${whose} at once.`, `Send ${method}`];
}

/** The field of a parameter or of a form's member. It starts with its example if `isFilled` or required. */
function inputOf(document, { name, required, isFilled = required, isFile, ...about }, onchange) {
  const { schema } = read(document, about.schema);
  const [[, example] = []] = examplesOf(document, about);
  const text = example === undefined ? "" : String(example);
  const values = schema.enum ?? (schema.type === "boolean" ? [true, false] : undefined);
  const oninput = () => (element.showFault(), onchange());
  const control = values
    ? h("select", { onchange: oninput }, [...(required ? [] : [""]), ...values].map((each) => h("option", { selected: isFilled && String(each) === text }, String(each))))
    : h("input", { type: isFile ? "file" : undefined, spellcheck: "false", autocomplete: "off", placeholder: text, value: isFilled && !isFile ? text : undefined, oninput });
  const element = field(name, control, { hint: schema.type === "array" ? "Several, with commas between them" : undefined });
  const isMissing = () => {
    const isEmpty = required && control.value === "";
    if (isEmpty) element.showFault(`Enter ${name}.`);
    return isEmpty;
  };
  let suggested = text;
  /** Enters another value, or the example, unless the user entered one. */
  const suggest = (value = text) => {
    if (isFilled && control.value === suggested) control.value = value;
    control.placeholder = suggested = value;
  };
  return { element, control, isMissing, suggest, value: () => control.value, file: () => control.files?.[0] };
}

/** The fields of a body: `read` returns its `type`, its `content`, and its arguments for curl. */
function bodyOf(document, contents, onchange) {
  const types = Object.keys(contents);
  if (types.length === 0) return { element: undefined, type() {}, read: () => ({}) };
  const place = h("div", { class: "stack tight" });
  let chosen, type;
  const choose = (other) => {
    type = other;
    const fieldsOf = type === FORM || type === MULTIPART ? formOf : TEXT.test(type) ? textOf : fileOf;
    chosen = fieldsOf(document, contents[type], onchange, type);
    place.replaceChildren(...chosen.elements);
  };
  choose(types[0]);
  const select = h("select", { onchange: () => (choose(select.value), onchange()) }, types.map((type) => h("option", {}, type)));
  return { element: h("div", { class: "stack tight" }, types.length > 1 && field("Media type", select), place), type: () => type, read: () => chosen.read() };
}

function textOf(document, media, onchange, type) {
  const examples = examplesOf(document, media);
  const area = h("textarea", { spellcheck: "false", class: "id", oninput: onchange });
  const fill = (at) => {
    area.value = examples[at] ? exampleText(examples[at][1]) : "";
    area.rows = Math.min(Math.max(area.value.split("\n").length, 3), 18);
  };
  fill(0);
  const select = h("select", { onchange: () => (fill(select.value), onchange()) }, examples.map(([name], at) => h("option", { value: at }, name)));
  const elements = [examples.length > 1 && field("Example", select), field("Body", area)].filter(Boolean);
  return { elements, read: () => (area.value === "" ? {} : { type, content: area.value, body: area.value }) };
}

function fileOf(document, media, onchange, type) {
  const input = inputOf(document, { name: "File", isFile: true }, onchange);
  return { elements: [input.element], read: () => ({ type, content: input.file(), file: input.file()?.name ?? "FILE" }) };
}

function formOf(document, media, onchange, type) {
  const [[, example = {}] = []] = examplesOf(document, media);
  const inputs = inside(document, media.schema).filter(({ phrase }) => !phrase).map(({ name, schema, isRequired }) => {
    const { schema: said } = read(document, schema);
    const isFile = type === MULTIPART && (said.format === "binary" || said.contentMediaType !== undefined);
    return { name, isFile, ...inputOf(document, { name, schema, isFile, required: isRequired, isFilled: true, example: example[name] ?? said.const }, onchange) };
  });
  const filled = () => inputs.filter(({ isFile, value }) => isFile || value() !== "");
  const readForm = () => {
    const content = new URLSearchParams(filled().map(({ name, value }) => [name, value()]));
    return { type, content, body: String(content) };
  };
  const readParts = () => {
    const content = new FormData();
    for (const { name, value, file } of filled()) content.append(name, file() ?? value());
    // The type includes the boundary of the parts, which the browser and curl choose.
    return { content, parts: filled().map(({ name, isFile, value, file }) => ({ name, value: value(), file: isFile && (file()?.name ?? "FILE") })) };
  };
  return { elements: inputs.map(({ element }) => element), read: type === FORM ? readForm : readParts };
}

/** The request as filled in. Missing parts of the path stay in braces. */
function requestOf(method, path, places, { type, ...body }) {
  const filled = (place) => places.filter((each) => each.in === place && each.input.value() !== "").map((each) => ({ ...each, value: each.input.value() }));
  const place = filled("path").reduce((all, { name, value }) => all.replaceAll(`{${name}}`, encodeURIComponent(value)), path);
  const valuesOf = ({ value, explode = true, schema }) => (explode && schema?.type === "array" ? value.split(",") : [value]);
  const query = filled("query").flatMap((each) => valuesOf(each).map((value) => `${encodeURIComponent(each.name)}=${encodeURIComponent(value)}`));
  const headers = Object.fromEntries(filled("header").map(({ name, value }) => [name, value]));
  if (type) headers["Content-Type"] = type;
  return { method, url: `${HOST}${place}${query.length > 0 ? `?${query.join("&")}` : ""}`, headers, ...body };
}

/** The curl command, with shell variables in place of secrets. Events are printed as they arrive. */
function commandOf({ scheme, responses = {} }, { headers, ...request }) {
  const isStream = Object.values(responses).some(({ content = {} }) => "text/event-stream" in content);
  const options = [scheme === "basic" && '--user "$CLIENT_ID:$CLIENT_SECRET"', isStream && "--no-buffer"].filter(Boolean);
  return curlOf({ ...request, headers: { ...(scheme === "bearer" && { Authorization: "Bearer" }), ...headers }, options });
}
