/**
 * The start of a tenant without rules: three templates, each of which opens the dialog of a new rule or project.
 */

import { button, h } from "../shared/dom.js";
import { icon } from "../shared/icon.js";
import { editCondition } from "./condition-editor.js";
import { editProject } from "./project-editor.js";

const condition = (id, rule, value) => ({ id, rule, enabled: true, condition_value: value });

const CONDITIONS = [
  { title: "Alcohol at 18", about: "Customers must be 18 or older.", image: "check", given: condition("alcohol", "AGE_RESTRICTION", { minimum_age: 18 }) },
  { title: "Tobacco license", about: "Customers need the license “tobacco”.", image: "license", given: condition("tobacco", "LICENSE_REQUIREMENT", {}) },
];

const PROJECT = {
  title: "A project with product groups",
  about: "Only items of these groups may be bought for it.",
  image: "basket",
  given: {
    name: "New building",
    restrictions: [{ type: "WHITELIST", propertyName: "productGroup", allowedValues: ["timber", "fasteners", "insulation"], exclusive: false }],
  },
};

/** The templates of conditions as buttons; undefined if the user may not create one. */
export function conditionTemplates(session) {
  if (!session.may("ecs.condition.write")) return undefined;
  return templates(CONDITIONS.map((each) => template(each, () => editCondition(session, undefined, { given: each.given, isNew: true }))));
}

/** The template of a project as a button; undefined if the user may not create one. */
export function projectTemplates(session) {
  if (!session.may("crs.project.write")) return undefined;
  return templates([template(PROJECT, () => editProject(session, undefined, { given: PROJECT.given }))]);
}

/** The first screen of a tenant without rules. `onskip` shows the preview itself. */
export function guide(session, onskip) {
  const offered = [conditionTemplates(session), projectTemplates(session)].flatMap((list) => [...(list?.children ?? [])]);
  const about = offered.length > 0 ? "Start from one of these, and change it as you need." : "You may view rules, but not create them. That needs the role ecs.editor.";
  return h(
    "section",
    { class: "guide" },
    h("h2", {}, "There are no rules yet"),
    h("p", {}, "A rule tells every till what may be sold: from which age, with which license, or for which project. ", about),
    templates(offered),
    h("p", {}, button("Try a rule without saving it", { class: "plain", image: "eye", onclick: onskip })),
  );
}

const templates = (list) => h("div", { class: "templates" }, list);

const template = ({ title, about, image }, onclick) =>
  h("button", { type: "button", class: "template", onclick }, icon(image), h("b", {}, title), h("span", { class: "hint" }, about));
