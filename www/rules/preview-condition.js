/**
 * The preview of one item by a condition. The condition can be changed here without saving, to see the effect: this is a
 * draft, and all that it decides on the page is marked.
 */

import { Catalog } from "../../js/src/index.js";
import { button, h } from "../shared/dom.js";
import { icon } from "../shared/icon.js";
import { picker, pickerField } from "../shared/picker.js";
import { ageChart } from "./age-chart.js";
import { conditionFields, draftKey, newCondition } from "./condition-fields.js";
import { customerFields } from "./customer.js";
import { attempt, decisionCard, exchangeDetails, verdict } from "./decision.js";
import { hostCheck } from "./host-check.js";
import { ANY_ITEM } from "./item.js";
import { keepButton } from "./keep-button.js";
import { ordinary } from "./why.js";
import { conditionText, worst } from "./wording.js";

const NEW = "\n new";
const NEW_TEXT = "A new condition…";
const TRY = "Try a change";

/** The id with which a new rule without one decides. */
const UNNAMED = "new-rule";

/** The tills' answer for an unsaved rule. */
const NOT_YET = { tone: "none", image: "alert", title: "No such condition", why: "Tills that ask for it get an error." };

/** The dialogs are loaded on first use. */
const dialogs = () => import("./condition-editor.js");

/** A mode of the preview: its inputs and outputs, `refresh` for a new catalog, and `close`. */
export const conditionMode = (session, given) => new ConditionMode(session, given);

class ConditionMode {
  #session;
  #given;
  #card = decisionCard();
  #exchange = exchangeDetails();
  #check;
  #keep;
  #picker = picker({
    read: () => this.#session.conditions().map((condition) => [condition.id, this.#optionText(condition)]),
    textOf: (id) => (id === NEW ? NEW_TEXT : this.#optionText(this.#find(id) ?? { id, enabled: true })),
    last: [[NEW, NEW_TEXT]],
    onchange: (id) => this.#choose(id),
  });
  #customer;
  #chart = ageChart((age) => this.#customer.setAge(age));
  #fields;
  #rule;
  /** The current condition; undefined if it is a new one. */
  #stored;
  /** The catalog with only the draft. */
  #draftCatalog;
  #wanted;
  /** The effects of a draft, loaded with the first one. */
  #effects;
  #effectsPlace = h("div", { hidden: true });
  #isInitialized = false;

  constructor(session, given) {
    const { id, state } = given;
    const onchange = () => this.#decide();
    this.#session = session;
    this.#given = given;
    this.#wanted = id;
    this.#check = hostCheck(session);
    this.#keep = keepButton(session);
    this.#customer = customerFields(onchange, { age: "17", ...state });
    const isTaken = (typed) => this.#stored === undefined && this.#find(typed) !== undefined;
    this.#fields = conditionFields({ onchange, isTaken, onopen: (existing) => this.#choose(existing) });
    this.#rule = rulePane(this.#fields.element, { oncopy: () => this.#copy(), ondiscard: () => this.#discard(), onsave: () => this.#save() });
    this.inputs = [pickerField("Condition", this.#picker), ...this.#rule.elements, this.#customer.element];
    this.outputs = [this.#card.element, this.#check.element, this.#keep.element, this.#chart.element, this.#effectsPlace, this.#exchange.element];
  }

  close() {
    this.#check.close();
  }

  /** Shows a new catalog. A draft stays when others change something else. */
  refresh() {
    const { memory } = this.#session;
    this.#keepDeleted();
    const chosen = this.#chosen(this.#session.conditions());
    this.#customer.offer(this.#session.licenses());
    const key = draftKey(this.#find(chosen)?.id);
    const { draft } = this.#given.state ?? {};
    // An address does not carry tests.
    if (!this.#isInitialized && draft && !memory.get(key)) memory.set(key, { ...draft, tests: undefined });
    this.#isInitialized = true;
    if (this.#find(this.#wanted) || this.#wanted === NEW) this.#wanted = undefined;
    this.#choose(chosen);
  }

  /** The draft of a condition that another user deleted becomes that of a new one. */
  #keepDeleted() {
    const { memory } = this.#session;
    const isGone = this.#stored !== undefined && this.#find(this.#stored.id) === undefined;
    if (!isGone || !memory.get(this.#key()) || memory.get(draftKey())) return;
    memory.set(draftKey(), { ...this.#fields.value(), id: this.#stored.id });
    memory.delete(this.#key());
    this.#wanted = NEW;
  }

  /** The condition to show: the wanted one, the current one, or the first. */
  #chosen(conditions) {
    const { value } = this.#picker;
    const kept = this.#isInitialized && (value === NEW || this.#find(value)) ? value : undefined;
    const fallback = this.#session.memory.get(draftKey()) ? NEW : (conditions[0]?.id ?? NEW);
    return this.#find(this.#wanted)?.id ?? (this.#wanted === NEW ? NEW : (kept ?? fallback));
  }

  #key() {
    return draftKey(this.#stored?.id);
  }

  #find(id) {
    return this.#session.condition(id);
  }

  #isDraft() {
    return this.#stored === undefined || this.#fields.differs(this.#stored);
  }

  #optionText({ id, enabled }) {
    return `${id}${enabled ? "" : " (off)"}${this.#session.memory.get(draftKey(id)) ? " (draft)" : ""}`;
  }

  async #copy() {
    const { copyCondition } = await dialogs();
    await copyCondition(this.#session, this.#isDraft() ? this.#fields.value() : this.#stored);
  }

  /** Saves the draft, and shows a new condition afterwards. */
  async #save() {
    const { id } = this.#fields.value();
    const { editCondition } = await dialogs();
    if (await editCondition(this.#session, this.#stored, { given: this.#session.memory.get(this.#key()) ?? this.#fields.value() })) this.#wanted = id;
    this.refresh();
  }

  #discard() {
    this.#session.memory.delete(this.#key());
    this.#choose(this.#picker.value);
  }

  /** Shows a condition, with its draft if there is one. */
  #choose(id) {
    this.#picker.show(id);
    this.#stored = this.#find(id);
    const draft = this.#session.memory.get(this.#key());
    this.#fields.show(draft ?? this.#stored ?? newCondition(), { named: this.#stored !== undefined });
    if (this.#stored === undefined || draft !== undefined) this.#rule.open();
    this.#decide();
  }

  /** Keeps the draft while something else is shown, with the tests changed in its editor, which decide nothing here. */
  #keepDraft() {
    const { memory } = this.#session;
    const { tests } = memory.get(this.#key()) ?? {};
    const isTyped = tests !== undefined || (this.#stored === undefined ? this.#fields.differs(newCondition()) : this.#isDraft());
    if (isTyped) memory.set(this.#key(), { ...this.#fields.value(), tests });
    else memory.delete(this.#key());
  }

  #decide() {
    this.#keepDraft();
    const isDraft = this.#isDraft();
    const rule = isDraft ? this.#fields.value() : this.#stored;
    this.#customer.show({ age: rule.rule === "AGE_RESTRICTION", licenses: rule.rule === "LICENSE_REQUIREMENT" });
    this.#showRule(isDraft);

    const id = rule.id || UNNAMED;
    // No condition asks for the item's id; one in the address is that of a test.
    const { item } = this.#given.state ?? {};
    const request = { item: { id: item || ANY_ITEM }, context: { customer: this.#customer.value() } };
    const catalog = isDraft ? this.#prepare({ ...rule, id }) : attempt(() => this.#session.catalog([id]));
    const answer = catalog instanceof Error ? catalog : attempt(() => catalog.evaluateCondition(id, request, { explain: true }));
    this.#showDecision(rule, request, answer, isDraft);
    this.#keep.show(!isDraft && !(answer instanceof Error) && this.#mayKeep() ? { condition: this.#stored, request, answer } : undefined);
    this.#exchange.show(`/api/v1/conditions/${encodeURIComponent(id)}/evaluate`, request, answer, { isDraft });
    this.#showEffects(isDraft);
    if (isDraft) this.#check.draft();
    else this.#check.compare("evaluateCondition", [id, request], ordinary(answer));
    this.#fields.check({ isTyping: true });
    this.#customer.showFaults(answer.faults);

    this.#chart.element.hidden = rule.rule !== "AGE_RESTRICTION" || answer instanceof Error;
    if (!this.#chart.element.hidden) {
      const at = (age) => ({ item: request.item, context: { customer: { ...request.context.customer, customer_age: age } } });
      this.#chart.draw((age) => worst(catalog.evaluateCondition(id, at(age)).results.map(({ decision }) => decision)), this.#customer.age(), isDraft);
    }
    const draft = this.#session.memory.get(this.#key());
    this.#given.remember(this.#stored?.id, { item, ...this.#customer.state(), draft: draft && { ...draft, tests: undefined } });
  }

  async #showEffects(isDraft) {
    this.#effectsPlace.hidden = !isDraft;
    if (!isDraft) return;
    const read = () => [{ ...this.#fields.value(), scope: this.#stored?.scope ?? "TENANT" }, this.#stored];
    this.#effects ??= dialogs().then(({ draftEffects }) => draftEffects(this.#session, read), () => (this.#effects = undefined));
    const effects = await this.#effects;
    if (effects === undefined) return;
    if (!effects.element.isConnected) this.#effectsPlace.replaceChildren(effects.element);
    effects.refresh();
  }

  /** True if the decision can be kept as a test of the condition: it decides, and the user may write it. */
  #mayKeep() {
    const { id, scope } = this.#stored;
    const isGlobal = scope === "GLOBAL";
    return this.#session.may(isGlobal ? "ecs.global-condition.write" : "ecs.condition.write") && !(isGlobal && this.#session.inPlaceOf(id));
  }

  #showRule(isDraft) {
    const [mayWrite, mayWriteGlobal] = ["ecs.condition.write", "ecs.global-condition.write"].map((permission) => this.#session.may(permission));
    const own = this.#stored && this.#session.inPlaceOf(this.#stored.id);
    this.#rule.show(this.#stored, { isDraft, mayWrite, mayWriteGlobal, own });
    this.#picker.show(this.#picker.value);
  }

  /** Shows the decision and, beside that of a draft, the tills' answer today. */
  #showDecision(rule, request, answer, isDraft) {
    // The license of a rule without an id has no name.
    const unnamed = ({ explanation, ...each }) => ({ ...each, id: undefined, ...(rule.rule === "AGE_RESTRICTION" && { explanation }) });
    const shown = answer instanceof Error || rule.id ? answer : { ...answer, results: answer.results.map(unnamed) };
    const today = isDraft ? this.#today(request) : undefined;
    const ontry = (change) => (change.age === undefined ? this.#customer.addLicense(change.license) : this.#customer.setAge(change.age));
    this.#card.show(verdict(shown, { by: rule.id || "The new rule", isOff: !rule.enabled, ontry, onrule: () => this.#rule.focus() }), today);
  }

  #today(request) {
    if (this.#stored === undefined) return NOT_YET;
    const { id, enabled } = this.#stored;
    return verdict(attempt(() => this.#session.catalog([id]).evaluateCondition(id, request, { explain: true })), { by: id, isOff: !enabled });
  }

  /** Prepares a catalog with only the draft. */
  #prepare(draft) {
    this.#draftCatalog?.free?.();
    this.#draftCatalog = attempt(() => new Catalog({ global: [], tenant: [{ ...draft, scope: "TENANT" }] }));
    return this.#draftCatalog;
  }
}

/** The rule in words, the form to change it, and the actions on the draft. */
function rulePane(form, { oncopy, ondiscard, onsave }) {
  const about = h("p", { class: "rule" });
  const summary = h("summary", {}, TRY);
  const discard = button("Discard", { class: "plain", onclick: ondiscard });
  const save = button("Save this rule…", { class: "primary", onclick: onsave });
  const actions = h("div", { class: "actions", hidden: true }, discard, save);
  const draft = h("details", { class: "draft" }, summary, h("div", { class: "stack" }, form, actions));
  const copy = button("Copy as my own rule", { image: "copy", onclick: oncopy });
  const globalText = h("span", {});
  const globalNote = h("div", { class: "global-note", hidden: true }, h("p", {}, icon("lock"), h("span", {}, h("b", {}, "A global rule."), globalText)), copy);
  return {
    elements: [about, globalNote, draft],
    open: () => (draft.open = true),
    focus() {
      draft.open = true;
      summary.focus();
    },
    show(stored, { isDraft, mayWrite, mayWriteGlobal, own }) {
      about.textContent = stored ? `${conditionText(stored)}${stored.enabled ? "." : ". Switched off."}` : "";
      const isGlobal = stored?.scope === "GLOBAL";
      globalNote.hidden = !isGlobal;
      if (isGlobal) globalText.textContent = globalNoteText(own, mayWriteGlobal);
      copy.hidden = !mayWrite;
      summary.textContent = stored ? TRY : "New rule";
      draft.classList.toggle("is-draft", isDraft);
      actions.hidden = !isDraft;
      save.hidden = isGlobal ? !mayWriteGlobal : !(mayWrite || (stored === undefined && mayWriteGlobal));
    },
  };
}

/** The scope of a global rule, what the user may do, and which rule decides if the tenant's own has the same id. */
function globalNoteText(own, mayWrite) {
  const decides = own ? ` Here your own rule with this id, which is older, decides: ${conditionText(own)}.` : "";
  const may = mayWrite ? "A change that you save is in force for all of them." : "You may see what a change would do, but not save it here.";
  return ` It belongs to the platform and applies to all its tenants.${decides} ${may}`;
}
