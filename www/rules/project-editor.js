/**
 * The dialog that creates or changes a project.
 */

import { randomId } from "../shared/caller.js";
import { changeList } from "../shared/difference.js";
import { button, h, notify } from "../shared/dom.js";
import { edit } from "../shared/editor.js";
import { isolated } from "../shared/locale.js";
import { errorText } from "../shared/messages.js";
import { call, isLong } from "./apart.js";
import { historyButton, lastBy } from "./history-link.js";
import { draftKey, projectFields } from "./project-fields.js";
import { isSameProject, projectChanges } from "./rule-changes.js";
import { projectChecks } from "./rule-checks.js";
import { whatIf, whatIfReviewed } from "./what-if.js";
import { projectName } from "./wording.js";

/** Where the host has a project. */
export const projectPath = (id) => `/api/v1/projects/${encodeURIComponent(id)}`;

/**
 * Edits a project, or creates one. A new one starts with `given`; an existing one with its rule `at` this position, if any.
 * `restored` means that `given` is an earlier version, which is reviewed at once, and `isTried` that Preview shows the draft.
 */
export async function editProject(session, project, { given, restored, at, isTried = false } = {}) {
  const { memory } = session;
  const key = draftKey(project?.projectId);
  const id = project?.projectId ?? given?.projectId ?? randomId();
  const read = () => session.read(projectPath(id));
  let stored;
  try {
    stored = project && (await read());
  } catch (error) {
    return notify(errorText(error));
  }
  const checks = projectChecks(session, projectFields(), { id, stored: () => stored?.body });
  const { fields } = checks;
  const begin = stored?.body ?? { restrictions: [] };
  fields.show(begin);
  const before = JSON.stringify(fields.value());
  const kept = given === undefined ? memory.get(key) : undefined;
  if (given ?? kept) fields.show(given ?? kept, begin);
  fields.beginAt(at);
  const documents = (value, theirs) => {
    const of = (project) => project && { project: { ...project, projectId: id } };
    return { before: of(theirs ?? stored?.body) ?? null, after: of(value) };
  };
  const effects = whatIf(session, () => documents(fields.value()));
  // Rules and values are removed by clicks.
  for (const type of ["input", "change", "click"]) fields.element.addEventListener(type, effects.refresh);
  const startOver = () => {
    note.remove();
    fields.show(begin);
  };
  const history = stored && !restored && historyButton(session, { kind: "project", name: isolated(projectName(project)), path: projectPath(id), mayRestore: () => true }, (version) => {
    fields.show(version, begin);
    fields.element.dispatchEvent(new Event("change", { bubbles: true }));
  });
  const note = restored ? h("p", { class: "draft-note" }, restored) : kept && !isTried && h("p", { class: "draft-note" }, "This is your unsaved draft. ", button("Start over", { class: "link", onclick: startOver }));
  const isSaved = await edit({
    title: project ? `Edit ${isolated(projectName(project))}` : "New project",
    note,
    wide: true,
    fields: { ...fields, element: h("div", { class: "stack" }, history, fields.element, effects.element, checks.tests) },
    etag: stored?.etag,
    base: stored?.body,
    follow: stored && ((look) => session.on("change", look)),
    before,
    reviewFirst: restored !== undefined,
    hasReason: true,
    lastBy: () => lastBy(session, projectPath(id)),
    draft: given ? undefined : { keep: (value) => memory.set(key, checks.kept(value)), discard: () => memory.delete(key), stays: isTried },
    async review(value, theirs) {
      await checkProject({ projectId: id, ...value });
      await pause();
      const changes = projectChanges(theirs ?? stored?.body, value);
      if (changes.length === 0 && stored !== undefined) return "You have not changed anything.";
      const title = stored ? "What changes" : "A new project";
      await pause();
      const rules = value.restrictions.length === 0 && h("p", { class: "hint" }, "Without rules, everything may be bought.");
      return checks.review(h("div", { class: "stack" }, h("h3", {}, title), changeList(changes), rules, whatIfReviewed(session, documents(value, theirs))));
    },
    action: () => checks.action(),
    confirm: () => checks.question(),
    compare: (one, other) => changeList(projectChanges(one, other)),
    save: (body, version, reason) => checks.write(projectPath(id), body, version, reason),
    latest: () =>
      read().catch((error) => {
        if (error.status !== 404) throw error;
      }),
    isSaved: isSameProject,
  });
  session.changed();
  return isSaved;
}

/** Lets the browser draw: with 100,000 values, each part of a review takes a while. */
const pause = () => new Promise((resolve) => setTimeout(resolve));

/** Throws the faults that the host would find. */
async function checkProject(project) {
  try {
    await call("check", project, { isApart: isLong(project) });
  } catch (error) {
    for (const fault of error.faults ?? []) fault.path = fault.path.replace("$.projects[0]", "$");
    throw error;
  }
}
