/**
 * The preview of one item on a project.
 */

import { h } from "../shared/dom.js";
import { picker, pickerField } from "../shared/picker.js";
import { attempt, decisionCard, exchangeDetails, verdict } from "./decision.js";
import { hostCheck } from "./host-check.js";
import { propertyFields } from "./item-properties.js";
import { itemFields } from "./item.js";
import { keepButton } from "./keep-button.js";
import { ordinary } from "./why.js";
import { projectName } from "./wording.js";

const WRITE = "crs.project.write";

/** A mode of the preview: its inputs and outputs, `refresh` for a new catalog, and `close`. */
export function projectMode(session, { id: first, state, remember }) {
  const card = decisionCard();
  const check = hostCheck(session);
  const exchange = exchangeDetails();
  const keep = keepButton(session);
  const select = picker({
    read: () => session.projects().map((project) => [project.projectId, projectName(project)]),
    textOf: (id) => projectName(session.project(id) ?? { projectId: id }),
    onchange: choose,
  });
  const item = itemFields(decide, { item: "screws-4x40", ...state });
  const properties = propertyFields(decide, state?.properties);
  const noProjects = h("p", { class: "rule" });

  function choose(id) {
    const project = session.project(id);
    select.show(project?.projectId);
    properties.offer(project?.restrictions ?? []);
    noProjects.textContent = project ? "" : "There are no projects yet. Create one under Projects.";
    noProjects.hidden = project !== undefined;
    decide();
  }

  function decide() {
    // Without any project, the decision is that for an unknown one.
    const projectId = select.value ?? "00000000-0000-0000-0000-000000000000";
    const request = { projectId, item: { ...item.value(), ...properties.ofItem() } };
    const answer = attempt(() => session.catalog([], projectId).evaluateProjectRestrictions(request, { explain: true }));
    item.showFaults(answer.faults);
    const project = session.project(projectId);
    card.show(verdict(answer, { by: project ? projectName(project) : "The project", ontry, onrule: project && session.may(WRITE) ? showRule : undefined }));
    exchange.show("/api/v1/project-restrictions/evaluate", request, answer);
    check.compare("evaluateProjectRestrictions", [request], ordinary(answer));
    const mayKeep = project && !(answer instanceof Error) && session.may("crs.project.write");
    keep.show(mayKeep ? { project, request, answer } : undefined);
    remember(select.value, { ...item.state(), properties: properties.value() });
  }

  function ontry(change) {
    if (change.item !== undefined) item.set(change.item);
    else properties.enter(change.property, change.value);
  }

  async function showRule({ explanation }) {
    const { editProject } = await import("./project-editor.js");
    await editProject(session, session.project(select.value), { at: explanation?.restrictionIndex });
  }

  return {
    inputs: [pickerField("Project", select), noProjects, h("div", { class: "stack" }, item.element, properties.element)],
    outputs: [card.element, check.element, keep.element, exchange.element],
    close: check.close,
    refresh() {
      const wanted = session.project(select.value ?? first) ?? session.projects()[0];
      choose(wanted?.projectId);
    },
  };
}
