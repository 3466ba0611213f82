/**
 * Preview: one item by a condition or on a project, or a basket; decided in the page at each keystroke, with the same
 * module as the host's. A condition can be changed here without saving it, to see what the change would do.
 */

import { Catalog, TillgateError } from "../js/src/browser.js";
import { agreement } from "./agreement.js";
import { basket } from "./basket.js";
import { conditionFields, editCondition, fresh } from "./conditions.js";
import { customer } from "./customer.js";
import { button, choice, field, h } from "./dom.js";
import { item } from "./item.js";
import { strip } from "./strip.js";
import { verdict, wire } from "./verdict.js";
import { conditionRule, projectName, worst } from "./words.js";

const NEW = "\n new";
const TRY = "Try a change";

/** The view; `[kind, id]` is what to begin with. */
export function preview(session, [kind = "condition", id] = []) {
  const modes = { condition: () => byCondition(session, id), project: () => onProject(session, id), basket: () => basket(session) };
  const stage = h("div", { class: "stage" });
  let mode;
  const show = (chosen) => {
    mode = modes[chosen]();
    stage.replaceChildren(...mode.panes);
    mode.refresh();
  };
  const begin = kind in modes ? kind : "condition";
  const options = [["condition", "A condition"], ["project", "A project"], ["basket", "A basket"]];
  const element = h(
    "div",
    {},
    h("div", { class: "heading" }, h("h1", { tabindex: "-1" }, "Preview"), choice("Decide by", options, begin, show)),
    stage,
  );
  show(begin);
  return { title: "Preview", element, refresh: () => mode.refresh() };
}

/** What a mode shows: the questions on one side, the decision on the other. */
function panes(questions, answers) {
  return [
    h("section", { class: "card questions", "aria-label": "Question" }, questions),
    h("div", { class: "answers" }, answers),
  ];
}

function byCondition(session, first) {
  const shown = verdict();
  const badge = agreement(session);
  const talk = wire();
  const select = h("select", { onchange: () => choose(select.value) });
  const about = h("p", { class: "rule" });
  const things = item(decide, "beer-0.5l");
  things.offer(undefined);
  const buyer = customer(decide);
  const ages = strip((age) => buyer.setAge(age));
  const fields = conditionFields(decide);
  const change = h("details", { class: "draft" }, h("summary", {}, TRY));
  const undo = button("Discard", { class: "plain", onclick: () => choose(select.value) });
  const save = button("Save this rule…", { class: "primary", onclick: keep });
  const actions = h("div", { class: "actions", hidden: true }, undo, save);
  change.append(h("div", { class: "stack" }, fields.element, actions));

  let stored;
  let sandbox;
  let wanted = first;
  let begun = false;

  /** Saves the draft; what was new is then the condition that one looks at. */
  async function keep() {
    const { id } = fields.value();
    if (!(await editCondition(session, stored, fields.value()))) return;
    wanted = id;
    refresh();
  }

  /** Takes a condition as it is stored, and forgets the draft. */
  const choose = (id) => {
    stored = session.conditions().find((condition) => condition.id === id);
    fields.show(stored ?? fresh(), { named: stored !== undefined });
    change.open = stored === undefined || change.open;
    change.querySelector("summary").textContent = stored ? TRY : "Your new rule";
    decide();
  };

  function decide() {
    const draft = fields.value();
    const isDraft = stored === undefined || fields.differs(stored);
    const rule = isDraft ? draft : stored;
    const needs = { age: rule.rule === "AGE_RESTRICTION", licenses: rule.rule === "LICENSE_REQUIREMENT" };
    about.textContent = `${conditionRule(rule)}${rule.enabled ? "." : ". Switched off."}`;
    buyer.show(needs);
    change.classList.toggle("is-draft", isDraft);
    actions.hidden = !isDraft;
    save.hidden = stored?.scope === "GLOBAL";

    const request = { item: things.value(), context: { customer: buyer.value() } };
    const catalog = isDraft ? drafted(draft) : session.catalog;
    const answer = catalog instanceof Error ? catalog : attempt(() => catalog.evaluateCondition(rule.id, request));
    if (answer instanceof Error) shown.fail(answer);
    else shown.show(answer);
    talk.show(`/api/v1/conditions/${encodeURIComponent(rule.id)}/evaluate`, request, answer);
    if (isDraft) badge.draft();
    else badge.ask("evaluateCondition", [rule.id, request], answer);

    ages.element.hidden = !needs.age || answer instanceof Error;
    if (ages.element.hidden) return;
    const at = (age) => ({ item: request.item, context: { customer: { ...request.context.customer, customer_age: age } } });
    ages.draw((age) => worst(catalog.evaluateCondition(rule.id, at(age)).results.map(({ decision }) => decision)), buyer.age());
  }

  /** A catalog of the draft alone. */
  const drafted = (draft) => {
    sandbox?.free?.();
    sandbox = attempt(() => new Catalog({ global: [], tenant: [{ ...draft, scope: "TENANT" }] }));
    return sandbox;
  };

  return {
    panes: panes(
      [field("Condition", select), about, change, things.element, buyer.element],
      [shown.element, badge.element, ages.element, talk.element],
    ),
    refresh,
  };

  /** Takes a new catalog. What one is trying out stays when others change things. */
  function refresh() {
    const conditions = session.conditions();
    const find = (id) => conditions.find((condition) => condition.id === id);
    const isKept = begun && (stored === undefined ? find(wanted) === undefined : find(stored.id) && select.value === stored.id && fields.differs(stored));
    const chosen = find(wanted)?.id ?? (select.value === NEW || find(select.value) ? select.value : (conditions[0]?.id ?? NEW));
    const options = conditions.map(({ id, enabled }) => h("option", { value: id }, enabled ? id : `${id} (off)`));
    select.replaceChildren(...options, h("option", { value: NEW }, "A new condition…"));
    select.value = chosen;
    buyer.offer(conditions.filter(({ rule }) => rule === "LICENSE_REQUIREMENT").map(({ id }) => id));
    begun = true;
    if (find(wanted)) wanted = undefined;
    if (!isKept) return choose(chosen);
    stored = find(stored?.id);
    decide();
  }
}

function onProject(session, first) {
  const shown = verdict();
  const badge = agreement(session);
  const talk = wire();
  const select = h("select", { onchange: () => choose(select.value) });
  const things = item(decide, "screws-4x40");
  const none = h("p", { class: "rule" });

  const choose = (id) => {
    const project = session.projects().find(({ projectId }) => projectId === id);
    things.offer(project?.restrictions ?? []);
    none.textContent = project ? "" : "There are no projects yet. Make one under Projects.";
    none.hidden = project !== undefined;
    decide();
  };

  function decide() {
    // Without any project, the answer for one that is not known is the true one.
    const projectId = select.value || "00000000-0000-0000-0000-000000000000";
    const request = { projectId, item: things.value() };
    const answer = attempt(() => session.catalog.evaluateProjectRestrictions(request));
    if (answer instanceof Error) shown.fail(answer);
    else shown.show(answer, "The project has nothing against it.");
    talk.show("/api/v1/project-restrictions/evaluate", request, answer);
    badge.ask("evaluateProjectRestrictions", [request], answer);
  }

  return {
    panes: panes([field("Project", select), none, things.element], [shown.element, badge.element, talk.element]),
    refresh() {
      const wanted = select.value || first;
      const projects = session.projects();
      select.replaceChildren(...projects.map((project) => h("option", { value: project.projectId }, projectName(project))));
      if (projects.some(({ projectId }) => projectId === wanted)) select.value = wanted;
      choose(select.value);
    },
  };
}

/** What a call answers, or the error that it throws. */
function attempt(call) {
  try {
    return call();
  } catch (error) {
    if (error instanceof TillgateError) return error;
    throw error;
  }
}
