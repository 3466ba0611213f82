/**
 * The preview of one item on a project. The project can be changed here without saving, to see the effect: this is a draft,
 * and all that it decides on the page is marked.
 */

import { h } from "../shared/dom.js";
import { isolated } from "../shared/locale.js";
import { picker, pickerField } from "../shared/picker.js";
import { attempt, decisionCard, exchangeDetails, verdict } from "./decision.js";
import { hostCheck } from "./host-check.js";
import { propertyFields } from "./item-properties.js";
import { itemFields } from "./item.js";
import { keepButton } from "./keep-button.js";
import { projectDraft } from "./project-draft.js";
import { draftKey } from "./project-fields.js";
import { whatIf } from "./what-if.js";
import { ordinary } from "./why.js";
import { projectName } from "./wording.js";

const WRITE = "crs.project.write";

const editor = () => import("./project-editor.js");

/** A mode of the preview: its inputs and outputs, `refresh` for a new catalog, and `close`. */
export function projectMode(session, { id: first, state, remember }) {
  const { memory } = session;
  const card = decisionCard();
  const check = hostCheck(session);
  const exchange = exchangeDetails();
  const keep = keepButton(session);
  const optionText = (project) => `${projectName(project)}${memory.get(draftKey(project.projectId)) ? " (draft)" : ""}`;
  const select = picker({
    read: () => session.projects().map((project) => [project.projectId, optionText(project)]),
    textOf: (id) => optionText(session.project(id) ?? { projectId: id }),
    onchange: choose,
  });
  const changed = projectDraft(session, { onchange: decide, onsave: save });
  const effects = whatIf(session, () => {
    const [before, after] = [stored(), { ...changed.draft()?.project, projectId: select.value }].map((project) => ({ project }));
    return { before, after };
  });
  const item = itemFields(decide, { item: "screws-4x40", ...state });
  const properties = propertyFields(decide, state?.properties);
  const noProjects = h("p", { class: "rule" }, "There are no projects yet. Create one under Projects.");

  const stored = () => session.project(select.value);

  function choose(id) {
    const project = session.project(id);
    select.show(project?.projectId);
    changed.show(project, { maySave: session.may(WRITE) });
    noProjects.hidden = project !== undefined;
    decide();
  }

  function decide() {
    const project = stored();
    const draft = changed.draft();
    const { restrictions } = draft?.project ?? project ?? { restrictions: [] };
    properties.offer(restrictions.filter(({ propertyName }) => propertyName !== ""));
    item.show(restrictions.some(({ itemIds }) => itemIds !== undefined));
    // Without any project, the decision is that for an unknown one.
    const projectId = project?.projectId ?? "00000000-0000-0000-0000-000000000000";
    const request = { projectId, item: { ...item.value(), ...properties.ofItem() } };
    const byStored = () => session.catalog([], projectId);
    const answer = decided(draft ? () => draft.catalog : byStored, request);
    item.showFaults(answer.faults);
    const by = project ? isolated(projectName(project)) : "The project";
    const today = draft && verdict(decided(byStored, request), { by });
    card.show(verdict(answer, { by, ontry, onrule: project && (draft || session.may(WRITE)) ? showRule : undefined }), today);
    exchange.show("/api/v1/project-restrictions/evaluate", request, answer, { isDraft: draft !== undefined });
    if (draft) check.draft();
    else check.compare("evaluateProjectRestrictions", [request], ordinary(answer));
    const mayKeep = project && !draft && !(answer instanceof Error) && session.may(WRITE);
    keep.show(mayKeep ? { project, request, answer } : undefined);
    effects.element.hidden = draft === undefined;
    effects.refresh();
    select.show(select.value);
    remember(select.value, { ...item.state(), properties: properties.value(), projectDraft: draft && { ...draft.project, tests: undefined } });
  }

  function ontry(change) {
    if (change.item !== undefined) item.set(change.item);
    else properties.enter(change.property, change.value);
  }

  async function showRule({ explanation }) {
    if (changed.draft()) return changed.focus(explanation?.restrictionIndex);
    const { editProject } = await editor();
    await editProject(session, stored(), { at: explanation?.restrictionIndex });
  }

  async function save() {
    const { editProject } = await editor();
    await editProject(session, stored(), { isTried: true });
  }

  return {
    inputs: [pickerField("Project", select), noProjects, changed.element, h("div", { class: "stack" }, item.element, properties.element)],
    outputs: [card.element, check.element, keep.element, effects.element, exchange.element],
    close: check.close,
    refresh() {
      const wanted = session.project(select.value ?? first) ?? session.projects()[0];
      const key = draftKey(wanted?.projectId);
      // An address does not carry tests.
      if (select.value === undefined && wanted && state?.projectDraft && !memory.get(key)) memory.set(key, { ...state.projectDraft, tests: undefined });
      choose(wanted?.projectId);
    },
  };
}

/** The explained decision of a catalog, or the error of either, in terms of the project. */
function decided(catalogOf, request) {
  const catalog = attempt(catalogOf);
  const answer = catalog instanceof Error ? catalog : attempt(() => catalog.evaluateProjectRestrictions(request, { explain: true }));
  for (const fault of answer.faults ?? []) fault.path = fault.path.replace("$.projects[0]", "$");
  return answer;
}
