/**
 * Projects: the list, and the dialogs that create, change and delete them.
 */

import { Catalog } from "../js/src/runtime/browser.js";
import { changeList, projectChanges, ruleLabel } from "./difference.js";
import { button, confirmed, h, icon, notify } from "./dom.js";
import { edit } from "./editor.js";
import { draftTag, list } from "./list.js";
import { counted, errorText, projectName, restrictionText, valueText } from "./messages.js";
import { projectFields, projectKey } from "./project-fields.js";
import { projectPath } from "./session.js";
import { projectTemplates } from "./templates.js";

const WRITE = "crs.project.write";

/** The view. */
export function projects(session) {
  return list({
    read: () => session.projects(),
    key: ({ projectId }) => projectId,
    text: searched,
    row: (project, sought) => row(session, project, sought),
    create: () => session.may(WRITE) && (() => editProject(session)),
    templates: () => projectTemplates(session),
    labels: {
      title: "Projects",
      noun: "project",
      empty: "No projects yet",
      about: "A project says what may be bought for it: which product groups, which items, and which items never.",
      refused: `You may view projects, but not change them. That needs the permission ${WRITE}.`,
    },
  });
}

/** All values that a rule names. */
const listed = ({ allowedValues, deniedValues, itemIds }) => allowedValues ?? deniedValues ?? itemIds ?? [];

const texts = new WeakMap();

/** What the filter searches: the names, the rules, and every value in their lists. */
function searched(project) {
  if (!texts.has(project)) {
    const values = project.restrictions.flatMap((rule) => [restrictionText(rule), ...listed(rule)]);
    texts.set(project, [projectName(project), project.projectId, ...values].join("\n"));
  }
  return texts.get(project);
}

/** Where the lists of a project have what was sought, for those that its rules do not show. */
function findings({ restrictions }, sought) {
  if (sought === "") return [];
  return restrictions.flatMap((rule) => {
    if (restrictionText(rule).toLowerCase().includes(sought)) return [];
    const found = listed(rule).filter((value) => String(value).toLowerCase().includes(sought)).map(valueText);
    if (found.length === 0) return [];
    const more = found.length > 3 ? ` and ${counted(found.length - 3, "value")} more` : "";
    return [`Found in “${ruleLabel(rule)}”: ${found.slice(0, 3).join(", ")}${more}`];
  });
}

function row(session, project, sought = "") {
  const { projectId, restrictions } = project;
  const name = projectName(project);
  const rules = restrictions.slice(0, 3).map((restriction) => h("li", { dir: "auto" }, restrictionText(restriction)));
  const more = restrictions.length - rules.length;
  const mayWrite = session.may(WRITE);
  return h(
    "li",
    { class: "row tall" },
    h("span", { class: "row-mark" }, String(restrictions.length)),
    h(
      "div",
      { class: "row-text" },
      h("h2", { dir: "auto" }, name),
      h("p", { class: "id" }, projectId),
      rules.length > 0 ? h("ul", { class: "rules" }, rules, more > 0 && h("li", {}, `and ${counted(more, "rule")} more`)) : h("p", {}, "Everything may be bought."),
      findings(project, sought).map((text) => h("p", { class: "finding", dir: "auto" }, icon("search"), text)),
    ),
    h("div", { class: "tags" }, session.memory.get(projectKey(projectId)) && draftTag()),
    h(
      "div",
      { class: "row-actions" },
      h("a", { class: "button plain", href: `#/preview/project/${projectId}`, "aria-label": `Preview ${name}` }, icon("eye"), h("span", {}, "Preview")),
      mayWrite && button("Edit", { image: "pencil", class: "plain", "aria-label": `Edit ${name}`, onclick: () => editProject(session, project) }),
      mayWrite && button(`Delete ${name}`, { image: "trash", iconOnly: true, class: "plain", onclick: () => remove(session, project) }),
    ),
  );
}

/** Edits a project, or creates one; a new one starts with `given`. */
export async function editProject(session, project, { given } = {}) {
  const { memory } = session;
  const key = projectKey(project?.projectId);
  const id = project?.projectId ?? newId();
  const read = () => session.read(projectPath(id));
  let stored;
  try {
    stored = project && (await read());
  } catch (error) {
    return notify(errorText(error));
  }
  const fields = projectFields();
  const begin = stored?.body ?? { restrictions: [] };
  fields.show(begin);
  const before = JSON.stringify(fields.value());
  const kept = given === undefined ? memory.get(key) : undefined;
  if (given ?? kept) fields.show(given ?? kept);
  const startOver = () => {
    note.remove();
    fields.show(begin);
  };
  const note = kept && h("p", { class: "draft-note" }, "This is your draft, which was not saved. ", button("Start over", { class: "link", onclick: startOver }));
  const isSaved = await edit({
    title: project ? `Edit ${projectName(project)}` : "New project",
    note,
    wide: true,
    fields,
    etag: stored?.etag,
    base: stored?.body,
    before,
    draft: given ? undefined : { keep: (value) => memory.set(key, value), discard: () => memory.delete(key) },
    review(value, theirs) {
      checkProject(id, value);
      const changes = projectChanges(theirs ?? stored?.body, value);
      if (changes.length === 0 && stored !== undefined) return "You have not changed anything.";
      const title = stored ? "What changes" : "A new project";
      const rules = value.restrictions.length === 0 && h("p", { class: "hint" }, "Without rules, everything may be bought.");
      return h("div", { class: "stack" }, h("h3", { dir: "auto" }, title), changeList(changes), rules);
    },
    compare: (one, other) => changeList(projectChanges(one, other)),
    save: (body, version) => session.write(projectPath(id), body, version),
    latest: () =>
      read().catch((error) => {
        if (error.code !== "not_found") throw error;
      }),
  });
  if (!isSaved) session.changed();
  return isSaved;
}

/** Fails with the faults that the host would find. */
function checkProject(projectId, value) {
  try {
    new Catalog({ global: [], tenant: [], projects: [{ projectId, ...value }] }).free();
  } catch (error) {
    for (const fault of error.faults ?? []) fault.path = fault.path.replace("$.projects[0]", "$");
    throw error;
  }
}

async function remove(session, { projectId, ...project }) {
  const name = projectName({ projectId, ...project });
  try {
    const { etag } = await session.read(projectPath(projectId));
    const detail = "Tills that use it will be told that the project is unknown.";
    if (!(await confirmed(`Delete ${name}?`, detail, "Delete"))) return;
    await session.remove(projectPath(projectId), etag);
    notify(`${name} was deleted.`);
  } catch (error) {
    notify(error.code === "outdated" ? "It was not deleted, because someone else has just changed it. Check it again." : errorText(error));
  }
}

/** A random UUID. `crypto.randomUUID` exists only on pages that were loaded over TLS. */
function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}
