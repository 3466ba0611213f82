/**
 * A change of a project that is tried in Preview without saving: its form, made when it is opened, and the actions on the
 * draft. The editor continues with the same draft.
 */

import { Catalog } from "../../js/src/index.js";
import { button, debounce, h } from "../shared/dom.js";
import { isLong } from "./apart.js";
import { attempt } from "./decision.js";
import { draftKey, projectFields } from "./project-fields.js";
import { projectChanges } from "./rule-changes.js";

/** With very many values, the draft is only read when typing pauses. */
const PAUSE_MS = 250;

/**
 * The form. `onchange` is called when the draft has changed, and `onsave` to review and save it. `show` takes the stored
 * project, if any, and whether the user may save it.
 */
export function projectDraft(session, { onchange, onsave }) {
  const { memory } = session;
  const fields = projectFields();
  const discard = () => {
    memory.delete(draftKey(stored.projectId));
    fill();
    onchange();
  };
  const save = button("Save this project…", { class: "primary", onclick: () => (read(), onsave()) });
  const actions = h("div", { class: "actions" }, button("Discard", { class: "plain", onclick: discard }), save);
  const summary = h("summary", {}, "Try a change");
  const element = h("details", { class: "draft", ontoggle: () => element.open && !isFilled && fill() }, summary, h("div", { class: "stack" }, fields.element, actions));
  let stored;
  /** The draft, as it is kept; undefined without one. And the catalog with only the draft. */
  let draft;
  let catalog;
  let isFilled = false;

  /** Fills the form with the draft or the stored project. An unopened form is not made: it may be long. */
  function fill() {
    take(stored && memory.get(draftKey(stored.projectId)));
    isFilled = stored !== undefined && (element.open || draft !== undefined);
    if (isFilled) fields.show(draft ?? stored, stored);
    if (draft) element.open = true;
  }

  function take(next) {
    draft = next;
    catalog?.free?.();
    catalog = draft && attempt(() => new Catalog({ global: [], tenant: [], projects: [{ ...draft, tests: undefined, projectId: stored.projectId }] }));
    element.classList.toggle("is-draft", draft !== undefined);
    actions.hidden = draft === undefined;
  }

  /** Keeps the form's content as the draft, with the tests changed in the editor, if it differs from the stored project. */
  function read() {
    if (!isFilled || !element.isConnected) return;
    const value = fields.value();
    const { tests } = draft ?? {};
    if (JSON.stringify(value) === JSON.stringify({ ...draft, tests: undefined })) return;
    const isDraft = tests !== undefined || projectChanges(stored, { ...value, tests: stored.tests }).length > 0;
    if (isDraft) memory.set(draftKey(stored.projectId), { ...value, ...(tests && { tests }) });
    else if (draft) memory.delete(draftKey(stored.projectId));
    else return;
    take(memory.get(draftKey(stored.projectId)));
    onchange();
  }
  const readLater = debounce(PAUSE_MS, read);
  // Rules and values are removed by clicks.
  for (const type of ["input", "change", "click"]) fields.element.addEventListener(type, () => (isLong(draft ?? stored) ? readLater() : read()));

  return {
    element,
    /** The current draft, and the catalog that decides by it, or why there is none; undefined without a draft. */
    draft: () => draft && { project: draft, catalog },
    show(project, { maySave }) {
      const isSame = project === stored && draft === (project && memory.get(draftKey(project.projectId)));
      if (project?.projectId !== stored?.projectId) element.open = false;
      stored = project;
      element.hidden = project === undefined;
      save.hidden = !maySave;
      if (!isSame) fill();
    },
    /** Shows a rule in the form, by its position. */
    focus(at) {
      element.open = true;
      fields.placeOf(`$.restrictions[${at}]`)?.element.querySelector("select").focus();
    },
  };
}
