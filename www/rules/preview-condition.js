/**
 * The preview of one item by a condition. The condition can be changed here without saving it, to see the effect: that
 * is a draft, and everything on the page that it decides says so.
 */

import { Catalog } from "../../js/src/runtime/browser.js";
import { button, field, h } from "../shared/dom.js";
import { icon } from "../shared/icon.js";
import { ageChart } from "./age-chart.js";
import { conditionFields, draftKey, newCondition } from "./condition-fields.js";
import { customerFields } from "./customer.js";
import { attempt, decisionCard, exchangeDetails, verdict } from "./decision.js";
import { hostCheck } from "./host-check.js";
import { itemFields } from "./item.js";
import { conditionText, worst } from "./wording.js";

const NEW = "\n new";
const TRY = "Try a change";

/** Decides for a new rule that has no id yet. */
const UNNAMED = "new-rule";

/** A mode of the preview: its inputs and outputs, `refresh` for a new catalog, and `close`. */
export function conditionMode(session, { id: first, state, remember }) {
  const { memory } = session;
  const card = decisionCard();
  const check = hostCheck(session);
  const exchange = exchangeDetails();
  const select = h("select", { onchange: () => choose(select.value) });
  const about = h("p", { class: "rule" });
  const item = itemFields(decide, { item: "beer-0.5l", ...state });
  const customer = customerFields(decide, { age: "17", ...state });
  const chart = ageChart((age) => customer.setAge(age));
  const fields = conditionFields({ onchange: decide, isTaken, onopen: (id) => choose((select.value = id)) });
  const summary = h("summary", {}, TRY);
  const discard = button("Discard", { class: "plain", onclick: discardDraft });
  const save = button("Save this rule…", { class: "primary", onclick: saveDraft });
  const actions = h("div", { class: "actions", hidden: true }, discard, save);
  const draftForm = h("details", { class: "draft" }, summary, h("div", { class: "stack" }, fields.element, actions));
  const copy = button("Copy as my own rule", { image: "copy", onclick: copyRule });
  const globalNote = h(
    "div",
    { class: "global-note", hidden: true },
    h("p", {}, icon("lock"), h("span", {}, h("b", {}, "A global rule."), " It belongs to the platform and applies to all its tenants. You may see what a change would do, but not save it here.")),
    copy,
  );

  let stored;
  let draftCatalog;
  let wanted = first;
  let isInitialized = false;

  const key = () => draftKey(stored?.id);
  const find = (id) => session.conditions().find((condition) => condition.id === id);
  function isTaken(id) {
    return stored === undefined && find(id) !== undefined;
  }
  const isDraft = () => stored === undefined || fields.differs(stored);
  const mayWrite = () => session.may("ecs.condition.write");

  async function copyRule() {
    const { copyCondition } = await dialogs();
    await copyCondition(session, isDraft() ? fields.value() : stored);
  }

  /** Saves the draft; a new condition is then the one that is shown. */
  async function saveDraft() {
    const { id } = fields.value();
    const { editCondition } = await dialogs();
    if (!(await editCondition(session, stored, { given: fields.value() }))) return refresh();
    wanted = id;
    refresh();
  }

  function discardDraft() {
    memory.delete(key());
    choose(select.value);
  }

  /** Shows a condition, with its draft if there is one. */
  function choose(id) {
    stored = find(id);
    const draft = memory.get(key());
    fields.show(draft ?? stored ?? newCondition(), { named: stored !== undefined });
    draftForm.open = stored === undefined || draft !== undefined || draftForm.open;
    decide();
  }

  /** Keeps the draft while something else is shown. */
  function keepDraft() {
    if (stored === undefined ? fields.differs(newCondition()) : isDraft()) memory.set(key(), fields.value());
    else memory.delete(key());
  }

  function decide() {
    keepDraft();
    const draft = fields.value();
    const ofDraft = isDraft();
    const rule = ofDraft ? draft : stored;
    const needs = { age: rule.rule === "AGE_RESTRICTION", licenses: rule.rule === "LICENSE_REQUIREMENT" };
    customer.show(needs);
    showRule(ofDraft);

    const id = rule.id || UNNAMED;
    const request = { item: item.value(), context: { customer: customer.value() } };
    const catalog = ofDraft ? prepareDraft({ ...draft, id }) : session.catalog;
    const answer = catalog instanceof Error ? catalog : attempt(() => catalog.evaluateCondition(id, request));
    const unnamed = (each) => (rule.id ? each : { ...each, id: undefined });
    const shown = answer instanceof Error ? answer : { ...answer, results: answer.results.map(unnamed) };
    const today = stored && attempt(() => session.catalog.evaluateCondition(stored.id, request));
    const isOff = !rule.enabled;
    card.show(verdict(shown, { isOff }), ofDraft ? (stored ? verdict(today, { isOff: !stored.enabled }) : notYet) : undefined);
    exchange.show(`/api/v1/conditions/${encodeURIComponent(id)}/evaluate`, request, answer, { isDraft: ofDraft });
    if (ofDraft) check.draft();
    else check.compare("evaluateCondition", [id, request], answer);
    const faults = answer.faults ?? [];
    fields.check({ isTyping: true });
    item.showFaults(faults);
    customer.showFaults(faults);

    chart.element.hidden = !needs.age || answer instanceof Error;
    if (!chart.element.hidden) {
      const at = (age) => ({ item: request.item, context: { customer: { ...request.context.customer, customer_age: age } } });
      chart.draw((age) => worst(catalog.evaluateCondition(id, at(age)).results.map(({ decision }) => decision)), customer.age(), ofDraft);
    }
    remember(stored?.id, { ...item.state(), ...customer.state(), draft: memory.get(key()) });
  }

  /** Shows what the rule says: as it is in force, and as the draft would have it. */
  function showRule(ofDraft) {
    about.textContent = stored ? `${conditionText(stored)}${stored.enabled ? "." : ". Switched off."}` : "";
    const isGlobal = stored?.scope === "GLOBAL";
    globalNote.hidden = !isGlobal;
    copy.hidden = !mayWrite();
    summary.textContent = stored ? TRY : "New rule";
    draftForm.classList.toggle("is-draft", ofDraft);
    actions.hidden = !ofDraft;
    save.hidden = isGlobal || !mayWrite();
    const option = select.selectedOptions[0];
    if (option && stored) option.textContent = optionText(stored);
  }

  const optionText = ({ id, enabled }) => `${id}${enabled ? "" : " (off)"}${memory.get(draftKey(id)) ? " (draft)" : ""}`;

  /** Prepares a catalog that holds only the draft. */
  const prepareDraft = (draft) => {
    draftCatalog?.free?.();
    draftCatalog = attempt(() => new Catalog({ global: [], tenant: [{ ...draft, scope: "TENANT" }] }));
    return draftCatalog;
  };

  return {
    inputs: [field("Condition", select), about, globalNote, draftForm, item.element, customer.element],
    outputs: [card.element, check.element, chart.element, exchange.element],
    refresh,
    close: check.close,
  };

  /** Shows a new catalog. A draft stays when others change something else. */
  function refresh() {
    const conditions = session.conditions();
    const isGone = stored !== undefined && find(stored.id) === undefined;
    // The draft of a condition that someone has deleted is now that of a new one.
    if (isGone && memory.get(key()) && !memory.get(draftKey())) {
      memory.set(draftKey(), { ...fields.value(), id: stored.id });
      memory.delete(key());
      wanted = NEW;
    }
    const kept = isInitialized && (select.value === NEW || find(select.value)) ? select.value : undefined;
    const fallback = memory.get(draftKey()) ? NEW : (conditions[0]?.id ?? NEW);
    const chosen = find(wanted)?.id ?? (wanted === NEW ? NEW : (kept ?? fallback));
    select.replaceChildren(...conditions.map((each) => h("option", { value: each.id }, optionText(each))), h("option", { value: NEW }, "A new condition…"));
    select.value = chosen;
    customer.offer(conditions.filter(({ rule }) => rule === "LICENSE_REQUIREMENT").map(({ id }) => id));
    if (!isInitialized && state?.draft && !memory.get(draftKey(find(chosen)?.id))) memory.set(draftKey(find(chosen)?.id), state.draft);
    isInitialized = true;
    if (find(wanted) || wanted === NEW) wanted = undefined;
    choose(chosen);
  }
}

/** The dialogs are loaded when they are first used. */
const dialogs = () => import("./condition-editor.js");

/** What tills answer for a rule that is not saved yet. */
const notYet = { tone: "none", image: "alert", title: "No such condition", why: "Tills that ask for it get an error." };
