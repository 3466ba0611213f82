/**
 * Schemas and parameters as trees of rows. The content of a row is drawn when it is opened; recursion ends.
 */

import { button, h } from "../shared/dom.js";
import { figure } from "../shared/locale.js";
import { prose } from "./prose.js";
import { MAX_VALUES, inside, namesIn, read, rulesOf, typeText } from "./schema.js";

/** A schema: its type and its members. `above` are the names of the schemas around it. */
export function schemaTree(document, schema, above = []) {
  const names = [...above, ...namesIn(document, schema)];
  const members = inside(document, schema);
  return h(
    "div",
    { class: "schema" },
    h("p", { class: "schema-type" }, ruleParts([[typeText(document, schema)], ...rulesOf(document, schema)])),
    members.length > 0 && rows(document, members, names),
  );
}

/** Rows of `{ name, phrase, schema, isRequired, description }`; parameters also have a `place`. */
export const rows = (document, members, above = []) => h("ul", { class: "members" }, members.map((member) => row(document, member, above)));

function row(document, { name, phrase, place, schema, isRequired, description, deprecated }, above) {
  const { schema: said } = read(document, schema);
  const names = namesIn(document, schema);
  const isAgain = names.some((each) => above.includes(each));
  const members = isAgain ? [] : inside(document, schema);
  const label = [phrase && `${phrase} `, name && h("code", {}, name)];
  const type = typeText(document, schema);
  const about = description ?? said.description;
  const inner = members.length > 0 && opener(label, () => rows(document, members, [...above, ...names]));
  const tags = [place, isRequired && "required", (deprecated ?? said.deprecated) && "deprecated", said.readOnly && "in answers only", said.writeOnly && "in requests only", isAgain && "as above"];
  return h(
    "li",
    {},
    h("div", { class: "member" }, inner ? inner.button : h("span", { class: "name" }, label), type !== phrase && h("span", { class: "type" }, type), tags.filter(Boolean).map((text) => h("span", { class: text === "required" ? "tag needed" : "tag" }, text))),
    about && prose(about),
    ruleLine(rulesOf(document, schema), said),
    inner && inner.place,
  );
}

let places = 0;

/** A button, and the place for what it opens, which is drawn at the first click. */
function opener(label, draw) {
  const place = h("div", { hidden: true, id: `inside-${(places += 1)}` });
  const onclick = () => {
    if (!place.firstChild) place.append(draw());
    place.hidden = !place.hidden;
    opens.setAttribute("aria-expanded", String(!place.hidden));
  };
  const opens = button("", { class: "name opens", "aria-expanded": "false", "aria-controls": place.id, onclick });
  opens.append(...label.filter(Boolean));
  return { button: opens, place };
}

/** The rules of a row in one line, with an example unless the rules include it. */
const ruleLine = (rules, { examples: [first] = [], example = first, const: only }) => {
  const text = JSON.stringify(example);
  const isNew = example !== undefined && example !== only && !rules.some(([rule, ...codes]) => rule === "one of" || codes.includes(text));
  const all = isNew ? [...rules, ["for example", text]] : rules;
  return all.length > 0 && h("p", { class: "hint" }, ruleParts(all));
};

/** Joins rules into one text. */
const ruleParts = (rules) => rules.flatMap((rule, at) => [at > 0 && h("span", { "aria-hidden": "true" }, " · "), ...ruleText(rule)]);

function ruleText([text, ...codes]) {
  const written = (list) => list.flatMap((code, at) => [at > 0 && ", ", h("code", {}, code)]);
  if (codes.length <= MAX_VALUES) return [`${text}${codes.length > 0 ? " " : ""}`, ...written(codes)];
  const rest = h("span", { hidden: true }, ", ", written(codes.slice(MAX_VALUES)));
  const more = button(`and ${figure(codes.length - MAX_VALUES)} more`, { class: "link", onclick: () => (more.remove(), (rest.hidden = false)) });
  return [`${text} `, ...written(codes.slice(0, MAX_VALUES)), rest, " ", more];
}
