/**
 * The list of projects, in which they are created, changed and deleted.
 */

import { button, h } from "../shared/dom.js";
import { icon } from "../shared/icon.js";
import { draftTag, list } from "../shared/list.js";
import { figure, isolated } from "../shared/locale.js";
import { counted, valueText } from "../shared/messages.js";
import { reasonField, withReason } from "../shared/reason.js";
import { removeAfterAsking } from "../shared/remove.js";
import { markForbidding } from "./forbidding.js";
import { historyLink, historyOfDeleted, lastBy, restoredText, withHistory } from "./history-link.js";
import { editProject, projectPath } from "./project-editor.js";
import { draftKey } from "./project-fields.js";
import { ruleLabel } from "./rule-changes.js";
import { valuesOf } from "./rule-values.js";
import { projectTemplates } from "./templates.js";
import { projectName, restrictionText } from "./wording.js";

const WRITE = "crs.project.write";

/** The name of this list in addresses. */
const LIST = "projects";

const DELETED = { noun: "project", groups: [{ path: "/api/v1/deleted-projects", args: [] }] };

export function projects(session, rest = [], query) {
  const marks = import("./failing.js").then(({ failingMarks }) => failingMarks(session));
  const view = list({
    read: () => session.projects(),
    key: ({ projectId }) => projectId,
    text: searched,
    row: (project, sought) => row(session, project, marks, sought),
    shown: (project, sought) => [session.may(WRITE), session.memory.get(draftKey(project.projectId)) !== undefined, ...findings(project, sought)],
    hasDraft: (project) => session.memory.get(draftKey(project?.projectId)) !== undefined,
    create: () => session.may(WRITE) && (() => editProject(session)),
    templates: () => projectTemplates(session),
    href: `#/${LIST}`,
    query,
    labels: {
      title: "Projects",
      noun: "project",
      empty: "No projects yet",
      about: "A project says what may be bought for it: which product groups, which items, and which items never.",
      refused: `You may view projects, but not change them. That needs the permission ${WRITE}.`,
    },
  });
  return withHistory(view, { session, list: LIST, rest, subjectOf: (id) => historyOf(session, id), deleted: () => DELETED });
}

/** The history of a project; a deleted one is created again. */
function historyOf(session, projectId) {
  const project = session.project(projectId);
  const restore = ({ document, at }) => editProject(session, session.project(projectId), { given: document, restored: restoredText({ at }) });
  return { kind: "project", name: project ? isolated(projectName(project)) : projectId, path: projectPath(projectId), mayRestore: () => session.may(WRITE), restore };
}

/** The text that the filter searches: the names, the rules, and every value in their lists. */
function searched(project) {
  const values = project.restrictions.flatMap((rule) => [restrictionText(rule), ...valuesOf(rule)]);
  return [projectName(project), project.projectId, ...values].join("\n");
}

/** The matches in a project's lists that its rules do not show. */
function findings({ restrictions }, sought) {
  if (sought === "") return [];
  return restrictions.flatMap((rule) => {
    if (restrictionText(rule).toLowerCase().includes(sought)) return [];
    const found = valuesOf(rule).filter((value) => String(value).toLowerCase().includes(sought)).map(valueText);
    if (found.length === 0) return [];
    const more = found.length > 3 ? ` and ${counted(found.length - 3, "value")} more` : "";
    return [`Found in “${ruleLabel(rule)}”: ${found.slice(0, 3).join(", ")}${more}`];
  });
}

function row(session, project, marks, sought = "") {
  const { projectId, restrictions } = project;
  const name = projectName(project);
  const rules = restrictions.slice(0, 3).map((restriction) => h("li", {}, restrictionText(restriction)));
  const more = restrictions.slice(rules.length);
  const apart = more.filter(({ exclusive }) => exclusive).length;
  const mayWrite = session.may(WRITE);
  const tags = h("div", { class: "tags" }, session.memory.get(draftKey(projectId)) && draftTag());
  markForbidding(tags, project);
  marks.then((mark) => mark(tags, { rule: project, key: projectId, path: projectPath(projectId), document: (tests) => ({ project: { ...project, tests } }) }));
  return h(
    "li",
    { class: "row tall" },
    h("span", { class: "row-mark" }, figure(restrictions.length)),
    h(
      "div",
      { class: "row-text" },
      h("h2", { dir: "auto" }, name),
      h("p", { class: "id" }, projectId),
      tags,
      rules.length > 0 ? h("ul", { class: "rules" }, rules, more.length > 0 && h("li", {}, `and ${counted(more.length, "rule")} more${apart > 0 ? `, ${apart === more.length ? "" : `${apart} of them `}checked separately` : ""}`)) : h("p", {}, "Everything may be bought."),
      findings(project, sought).map((text) => h("p", { class: "finding" }, icon("search"), text)),
    ),
    h(
      "div",
      { class: "row-actions" },
      h("a", { class: "button plain", href: `#/preview/project/${projectId}`, "aria-label": `Preview ${name}` }, icon("eye"), h("span", {}, "Preview")),
      historyLink(LIST, [projectId], name),
      mayWrite && button("Edit", { image: "pencil", class: "plain", "aria-label": `Edit ${name}`, onclick: () => editProject(session, project) }),
      mayWrite && button(`Delete ${name}`, { image: "trash", iconOnly: true, class: "plain", onclick: () => remove(session, project) }),
    ),
  );
}

function remove(session, project) {
  const path = projectPath(project.projectId);
  const detail = "Tills that use it will be told that the project is unknown.";
  return removeAfterAsking({
    name: projectName(project),
    detail,
    read: () => session.read(path),
    remove: (etag, reason) => session.remove(withReason(path, reason), etag),
    more: () => historyOfDeleted(LIST, [project.projectId]),
    reason: reasonField(),
    lastBy: () => lastBy(session, path),
  });
}
