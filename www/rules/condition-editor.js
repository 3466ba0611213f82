/**
 * The dialog that creates or changes a condition, with its decision by age: the tenant's and, for operators, a global one.
 */

import { TillgateError } from "../../js/src/shared/error.js";
import { changeList } from "../shared/difference.js";
import { button, h, notify } from "../shared/dom.js";
import { edit } from "../shared/editor.js";
import { icon } from "../shared/icon.js";
import { figure } from "../shared/locale.js";
import { counted, errorText } from "../shared/messages.js";
import { ageChart, decisionsByAge } from "./age-chart.js";
import { conditionFields, draftKey, newCondition } from "./condition-fields.js";
import { historyButton, lastBy } from "./history-link.js";
import { conditionChanges } from "./rule-changes.js";
import { conditionChecks } from "./rule-checks.js";
import { whatIf, whatIfReviewed } from "./what-if.js";
import { OFF, conditionText } from "./wording.js";

export const WRITE = "ecs.condition.write";

/** Only clients of the platform may have this permission. */
export const WRITE_GLOBAL = "ecs.global-condition.write";

/** The id with which a new condition without one decides. */
const UNNAMED = "new-rule";

/** The path of a condition: for reading either kind, and for writing one of a scope. */
export const conditionPath = (id, scope = "TENANT") => `/api/v1/${scope === "GLOBAL" ? "global-" : ""}entity-conditions/${encodeURIComponent(id)}`;

/** The scopes in which the user may write conditions. */
const scopesOf = (session) => [session.may(WRITE) && "TENANT", session.may(WRITE_GLOBAL) && "GLOBAL"].filter(Boolean);

/** True if the user may change a condition. */
export const mayEdit = (session, { scope }) => scopesOf(session).includes(scope);

/** True if the user may create one. */
export const mayCreate = (session) => scopesOf(session).length > 0;

/**
 * Creates the tenant's own copy of a global condition, which stays as it is. The copy gets another id: a tenant can never use
 * the id of a global condition.
 */
export function copyCondition(session, condition) {
  const taken = new Set(session.conditions().map(({ id }) => id));
  const base = `own-${condition.id}`.slice(0, 60);
  const id = [base, ...Array.from({ length: taken.size }, (_, at) => `${base}-${at + 2}`)].find((each) => !taken.has(each));
  return editCondition(session, undefined, { given: { ...condition, id }, isNew: true, original: { ...condition, isReplaced: session.inPlaceOf(condition.id) !== undefined } });
}

/**
 * Edits a condition, or creates one. `given` is the first content of the form: a draft from Preview, or with `isNew` a
 * condition to start from. `original` is the global condition that it copies, and says if the tenant's own decides in its
 * place. `restored` means that `given` is an earlier version, which is reviewed at once.
 */
export async function editCondition(session, condition, { given, isNew = false, original, restored } = {}) {
  const { memory } = session;
  const key = draftKey(condition?.id);
  const read = (id) => session.read(conditionPath(id));
  const named = condition !== undefined;
  const find = (id) => session.condition(id);
  const scopes = original ? ["TENANT"] : scopesOf(session);
  const chart = ageChart();
  const about = h("p", { class: "hint" });
  let existing;
  const onopen = (id) => {
    existing = id;
    fields.element.closest("dialog").close("kept");
  };
  const onchange = () => {
    draw(chart, fields.value());
    about.textContent = aboutText(scopeOf(fields.value()), original, fields.value().id);
    about.hidden = about.textContent === "";
    effects.refresh();
  };
  const form = conditionFields({ onchange, scopes, isTaken: (id) => !named && find(id) !== undefined, onopen, copied: original?.id });
  const checks = conditionChecks(session, form, { id: condition?.id, scopeOf: (value) => scopeOf(value), stored: () => stored?.body });
  const { fields } = checks;
  let stored;
  /** The tenants that a global condition concerns, once reviewed. */
  let concerned;
  const scopeOf = ({ scope }) => stored?.body.scope ?? scope ?? scopes[0];
  const documents = (value, theirs) => compared(session, { ...value, scope: scopeOf(value) }, theirs ?? stored?.body);
  const effects = whatIf(session, () => documents(fields.value()));
  try {
    stored = condition && (await read(condition.id));
  } catch (error) {
    return notify(errorText(error));
  }
  fields.show(stored?.body ?? newCondition(), { named });
  const before = JSON.stringify(fields.value());
  const kept = given === undefined ? memory.get(key) : undefined;
  if (given ?? kept) fields.show(given ?? kept, { named });
  onchange();

  const startOver = () => {
    note.remove();
    fields.show(stored?.body ?? newCondition(), { named });
    onchange();
  };
  const history = stored && !restored && mayEdit(session, stored.body) && historyButton(session, { kind: "condition", name: condition.id, path: conditionPath(condition.id, stored.body.scope), mayRestore: () => true }, (version) => {
    fields.show(version, { named });
    onchange();
    fields.element.dispatchEvent(new Event("change", { bubbles: true }));
  });
  const note = restored ? h("p", { class: "draft-note" }, restored) : kept && h("p", { class: "draft-note" }, "This is your unsaved draft. ", button("Start over", { class: "link", onclick: startOver }));
  const isSaved = await edit({
    title: condition ? `Edit ${condition.id}` : "New condition",
    note,
    fields: { ...fields, showFaults: () => !fields.check(), element: h("div", { class: "stack" }, history, fields.element, about, chart.element, effects.element, checks.tests) },
    etag: stored?.etag,
    base: stored?.body,
    follow: stored && ((look) => session.on("change", look)),
    before,
    reviewFirst: restored !== undefined,
    hasReason: true,
    lastBy: () => lastBy(session, conditionPath(fields.value().id, scopeOf(fields.value()))),
    draft: isNew || restored ? undefined : { keep: (value) => memory.set(key, checks.kept(value)), discard: () => memory.delete(key), stays: given !== undefined },
    async review(value, theirs) {
      if (!fields.check()) return false;
      const changes = conditionChanges(theirs ?? stored?.body, value);
      if (changes.length === 0) return "You have not changed anything.";
      if (scopeOf(value) === "GLOBAL") concerned = await whomConcerns(session, value);
      const effect = whatIfReviewed(session, documents(value, theirs));
      return checks.review(h("div", { class: "stack" }, reviewed(value, changes, { named, scope: scopeOf(value), original }), effect));
    },
    action: () => checks.action(),
    confirm() {
      const value = fields.value();
      return joined([scopeOf(value) === "GLOBAL" && globalQuestion(value.id, concerned), checks.question()].filter(Boolean));
    },
    compare: (one, other) => changeList(conditionChanges(one, other)),
    async save({ id, scope, ...body }, version, reason) {
      try {
        await checks.write(conditionPath(id, scopeOf({ scope })), body, version, reason);
      } catch (error) {
        if (named || ![409, 412].includes(error.status) || !(await read(id).catch(() => undefined))) throw error;
        throw new TillgateError({ code: "taken", message: "another condition has this id" });
      }
    },
    latest: () => read(fields.value().id).catch(ignoreNotFound),
    isSaved: (body, value) => conditionChanges(body, value).length === 0,
    explain: (error) => (error.code === "taken" ? (fields.showTaken(), "Choose another id, or open the condition that has it.") : errorText(error)),
  });
  if (existing !== undefined) openExisting(session, find(existing) ?? { id: existing });
  session.changed();
  return isSaved;
}

/** The effects of a draft, outside the dialog; `read` returns the draft, and the current version. */
export const draftEffects = (session, read) => whatIf(session, () => compared(session, ...read()));

/** A draft and the current version as the module compares them, with the other scope's condition of the same id. */
function compared(session, draft, today) {
  const id = draft.id || UNNAMED;
  const listed = session.condition(id);
  const other = (draft.scope === "GLOBAL" ? session.inPlaceOf(id) : listed?.scope === "GLOBAL" && listed) || null;
  const before = today ? { condition: { ...today, scope: draft.scope }, other } : other && { condition: other };
  return { before, after: { condition: { ...draft, id }, other } };
}

/** The changes of saving, and the decisions that they affect. */
function reviewed(value, changes, { named, scope, original }) {
  const title = named ? "What changes" : `A new ${scope === "GLOBAL" ? "global " : ""}condition: ${value.id}`;
  const effect = `${conditionText(value)}${value.enabled ? "." : ", but it is switched off."}`;
  const notes = [effect, aboutText(scope, original, value.id)].filter((note) => note !== "");
  const off = !value.enabled && h("p", { class: "message" }, icon("alert"), h("span", {}, OFF));
  return h("div", { class: "stack" }, h("h3", {}, title), changeList(changes), notes.map((note) => h("p", { class: "hint" }, note)), off);
}

/**
 * The scope of a global condition, or which one decides once a global condition was copied. Its own id is a fault of the form.
 */
function aboutText(scope, original, id) {
  if (scope === "GLOBAL") return "It is global: it is in force for all tenants.";
  if (original === undefined || original.id === id) return "";
  const own = id === "" ? "its own id" : `“${id}”`;
  const other = original.isReplaced ? "your other rule" : "the global rule";
  const license = original.rule === "LICENSE_REQUIREMENT" ? " The id is also that of the license that customers need." : "";
  return `Your rule decides where tills ask for ${own}. Where they ask for “${original.id}”, ${other} still decides: another rule cannot have a global rule’s id.${license}`;
}

/** The number of tenants, and how many of their tests a global condition would fail: `{ tenants, failingTests }`. */
async function whomConcerns(session, { id, scope, ...body }) {
  const path = `${conditionPath(id, "GLOBAL")}?dryRun=true&failingTests=accept`;
  const [registered, answer] = await Promise.all([tenantCount(session), session.request(path, { method: "PUT", body: JSON.stringify(body) })]);
  const { tenants, failingTests } = await answer.json();
  // The host counts only tenants that have stored something.
  return { tenants: Math.max(registered, tenants), failingTests };
}

/** The number of registered tenants; 0 if the user may not know it, or it is unavailable. */
async function tenantCount(session) {
  if (!session.may("iam.tenants.write")) return 0;
  try {
    return (await (await session.request("/v1/tenants")).json()).length;
  } catch {
    return 0;
  }
}

/** The question before a global condition is saved; without numbers if it was not reviewed. */
const globalQuestion = (id, concerned = {}) => [`Save ${id} for ${tenantsText(concerned)}?`, `It is in force for them as soon as it is saved.${failingText(concerned)}`, "Save for all"];

/** The text before a global condition is deleted. */
export async function deletionText(session, condition) {
  const concerned = await whomConcerns(session, { ...condition, enabled: false }).catch(() => ({}));
  return `It is in force for ${tenantsText(concerned)}.${failingText(concerned)} `;
}

const tenantsText = ({ tenants = 0 }) => (tenants === 0 ? "all tenants" : tenants === 1 ? "the one tenant" : `all ${counted(tenants, "tenant")}`);

function failingText({ failingTests }) {
  if (failingTests === undefined) return "";
  return failingTests === 0 ? " None of their own tests would fail." : ` ${figure(failingTests)} of their tests would fail.`;
}

/** Joins several questions: the first one's title, with all details. */
const joined = ([first, ...others]) => first && [first[0], [first, ...others].map(([, detail]) => detail).join(" "), first[2]];

/** Opens the condition that already has the id of a new one. */
function openExisting(session, condition) {
  if (condition.scope === "GLOBAL" && !mayEdit(session, condition)) location.hash = `#/preview/condition/${encodeURIComponent(condition.id)}`;
  else editCondition(session, condition);
}

/** Draws the decision by age of the edited condition. */
function draw(chart, value) {
  chart.element.hidden = value.rule !== "AGE_RESTRICTION" || !value.enabled;
  if (chart.element.hidden) return;
  try {
    const decisions = decisionsByAge({ ...value, tests: undefined });
    chart.draw((age) => decisions[age], undefined, true);
  } catch {
    chart.element.hidden = true;
  }
}

const ignoreNotFound = (error) => {
  if (error.status !== 404) throw error;
};
