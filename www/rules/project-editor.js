/**
 * The dialog that creates or changes a project.
 */

import { Catalog } from "../../js/src/index.js";
import { changeList } from "../shared/difference.js";
import { button, h, notify } from "../shared/dom.js";
import { edit } from "../shared/editor.js";
import { errorText } from "../shared/messages.js";
import { randomId } from "../shared/random-id.js";
import { draftKey, projectFields } from "./project-fields.js";
import { isSameProject, projectChanges } from "./rule-changes.js";
import { projectName } from "./wording.js";

/** Where the host has a project. */
export const projectPath = (id) => `/api/v1/projects/${encodeURIComponent(id)}`;

/** Edits a project, or creates one; a new one starts with `given`. */
export async function editProject(session, project, { given } = {}) {
  const { memory } = session;
  const key = draftKey(project?.projectId);
  const id = project?.projectId ?? randomId();
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
    follow: stored && ((look) => session.on("change", look)),
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
    isSaved: isSameProject,
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
