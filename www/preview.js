/**
 * The preview: one item by a condition or on a project, or a basket, decided in the page after each keystroke with the
 * same module as the host's. A condition can be changed here without saving it, to see the effect.
 */

import { Catalog, TillgateError } from "../js/src/browser.js";
import { ageChart } from "./age-chart.js";
import { basketMode } from "./basket.js";
import { conditionFields, editCondition, newCondition } from "./conditions.js";
import { customerFields } from "./customer.js";
import { decisionCard, exchangeDetails } from "./decision.js";
import { button, choice, field, h } from "./dom.js";
import { hostCheck } from "./host-check.js";
import { itemFields } from "./item.js";
import { conditionText, projectName, worst } from "./messages.js";

const NEW = "\n new";
const TRY = "Try a change";

/** The view; `[kind, id]` is what it starts with. */
export function preview(session, [kind = "condition", id] = []) {
  const modes = { condition: () => conditionMode(session, id), project: () => projectMode(session, id), basket: () => basketMode(session) };
  const panesElement = h("div", { class: "panes" });
  let mode;
  const show = (chosen) => {
    mode = modes[chosen]();
    panesElement.replaceChildren(...mode.panes);
    mode.refresh();
  };
  const begin = kind in modes ? kind : "condition";
  const options = [["condition", "A condition"], ["project", "A project"], ["basket", "A basket"]];
  const element = h(
    "div",
    {},
    h("div", { class: "heading" }, h("h1", { tabindex: "-1" }, "Preview"), choice("Decide by", options, begin, show)),
    panesElement,
  );
  show(begin);
  return { title: "Preview", element, refresh: () => mode.refresh() };
}

/** The panes of a mode: the inputs on one side, the decision on the other. */
function panes(inputs, outputs) {
  return [
    h("section", { class: "card inputs", "aria-label": "Inputs" }, inputs),
    h("div", { class: "outputs" }, outputs),
  ];
}

function conditionMode(session, first) {
  const card = decisionCard();
  const check = hostCheck(session);
  const exchange = exchangeDetails();
  const select = h("select", { onchange: () => choose(select.value) });
  const about = h("p", { class: "rule" });
  const item = itemFields(decide, "beer-0.5l");
  item.offer(undefined);
  const customer = customerFields(decide);
  const chart = ageChart((age) => customer.setAge(age));
  const fields = conditionFields(decide);
  const draftForm = h("details", { class: "draft" }, h("summary", {}, TRY));
  const discard = button("Discard", { class: "plain", onclick: () => choose(select.value) });
  const save = button("Save this rule…", { class: "primary", onclick: saveDraft });
  const actions = h("div", { class: "actions", hidden: true }, discard, save);
  draftForm.append(h("div", { class: "stack" }, fields.element, actions));

  let stored;
  let draftCatalog;
  let wanted = first;
  let isInitialized = false;

  /** Saves the draft; a new condition is then the one that is shown. */
  async function saveDraft() {
    const { id } = fields.value();
    if (!(await editCondition(session, stored, fields.value()))) return;
    wanted = id;
    refresh();
  }

  /** Shows a condition as it is stored, without the draft. */
  const choose = (id) => {
    stored = session.conditions().find((condition) => condition.id === id);
    fields.show(stored ?? newCondition(), { named: stored !== undefined });
    draftForm.open = stored === undefined || draftForm.open;
    draftForm.querySelector("summary").textContent = stored ? TRY : "New rule";
    decide();
  };

  function decide() {
    const draft = fields.value();
    const isDraft = stored === undefined || fields.differs(stored);
    const rule = isDraft ? draft : stored;
    const needs = { age: rule.rule === "AGE_RESTRICTION", licenses: rule.rule === "LICENSE_REQUIREMENT" };
    about.textContent = `${conditionText(rule)}${rule.enabled ? "." : ". Switched off."}`;
    customer.show(needs);
    draftForm.classList.toggle("is-draft", isDraft);
    actions.hidden = !isDraft;
    save.hidden = stored?.scope === "GLOBAL";

    const request = { item: item.value(), context: { customer: customer.value() } };
    const catalog = isDraft ? prepareDraft(draft) : session.catalog;
    const answer = catalog instanceof Error ? catalog : attempt(() => catalog.evaluateCondition(rule.id, request));
    if (answer instanceof Error) card.fail(answer);
    else card.show(answer);
    exchange.show(`/api/v1/conditions/${encodeURIComponent(rule.id)}/evaluate`, request, answer);
    if (isDraft) check.draft();
    else check.compare("evaluateCondition", [rule.id, request], answer);

    chart.element.hidden = !needs.age || answer instanceof Error;
    if (chart.element.hidden) return;
    const at = (age) => ({ item: request.item, context: { customer: { ...request.context.customer, customer_age: age } } });
    chart.draw((age) => worst(catalog.evaluateCondition(rule.id, at(age)).results.map(({ decision }) => decision)), customer.age());
  }

  /** Prepares a catalog that holds only the draft. */
  const prepareDraft = (draft) => {
    draftCatalog?.free?.();
    draftCatalog = attempt(() => new Catalog({ global: [], tenant: [{ ...draft, scope: "TENANT" }] }));
    return draftCatalog;
  };

  return {
    panes: panes(
      [field("Condition", select), about, draftForm, item.element, customer.element],
      [card.element, check.element, chart.element, exchange.element],
    ),
    refresh,
  };

  /** Shows a new catalog. A draft stays when others change something else. */
  function refresh() {
    const conditions = session.conditions();
    const find = (id) => conditions.find((condition) => condition.id === id);
    const keepsDraft = isInitialized && (stored === undefined ? find(wanted) === undefined : find(stored.id) && select.value === stored.id && fields.differs(stored));
    const chosen = find(wanted)?.id ?? (select.value === NEW || find(select.value) ? select.value : (conditions[0]?.id ?? NEW));
    const options = conditions.map(({ id, enabled }) => h("option", { value: id }, enabled ? id : `${id} (off)`));
    select.replaceChildren(...options, h("option", { value: NEW }, "A new condition…"));
    select.value = chosen;
    customer.offer(conditions.filter(({ rule }) => rule === "LICENSE_REQUIREMENT").map(({ id }) => id));
    isInitialized = true;
    if (find(wanted)) wanted = undefined;
    if (!keepsDraft) return choose(chosen);
    stored = find(stored?.id);
    decide();
  }
}

function projectMode(session, first) {
  const card = decisionCard();
  const check = hostCheck(session);
  const exchange = exchangeDetails();
  const select = h("select", { onchange: () => choose(select.value) });
  const item = itemFields(decide, "screws-4x40");
  const noProjects = h("p", { class: "rule" });

  const choose = (id) => {
    const project = session.projects().find(({ projectId }) => projectId === id);
    item.offer(project?.restrictions ?? []);
    noProjects.textContent = project ? "" : "There are no projects yet. Create one under Projects.";
    noProjects.hidden = project !== undefined;
    decide();
  };

  function decide() {
    // Without any project, the decision is that for an unknown one.
    const projectId = select.value || "00000000-0000-0000-0000-000000000000";
    const request = { projectId, item: item.value() };
    const answer = attempt(() => session.catalog.evaluateProjectRestrictions(request));
    if (answer instanceof Error) card.fail(answer);
    else card.show(answer, "The project allows it.");
    exchange.show("/api/v1/project-restrictions/evaluate", request, answer);
    check.compare("evaluateProjectRestrictions", [request], answer);
  }

  return {
    panes: panes([field("Project", select), noProjects, item.element], [card.element, check.element, exchange.element]),
    refresh() {
      const wanted = select.value || first;
      const projects = session.projects();
      select.replaceChildren(...projects.map((project) => h("option", { value: project.projectId }, projectName(project))));
      if (projects.some(({ projectId }) => projectId === wanted)) select.value = wanted;
      choose(select.value);
    },
  };
}

/** The result of a call, or the error that it throws. */
function attempt(call) {
  try {
    return call();
  } catch (error) {
    if (error instanceof TillgateError) return error;
    throw error;
  }
}
