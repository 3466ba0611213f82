/**
 * The dialog that creates or changes a condition of the tenant, with the decision by age that it would make.
 */

import { Catalog } from "../../js/src/runtime/browser.js";
import { changeList } from "../shared/difference.js";
import { button, h, notify } from "../shared/dom.js";
import { edit } from "../shared/editor.js";
import { errorText } from "../shared/messages.js";
import { ageChart } from "./age-chart.js";
import { conditionFields, draftKey, newCondition } from "./condition-fields.js";
import { conditionChanges } from "./rule-changes.js";
import { conditionText } from "./wording.js";

/** Where the host has a condition. */
export const conditionPath = (id) => `/api/v1/entity-conditions/${encodeURIComponent(id)}`;

/** Creates the tenant's own condition after another one, which stays as it is. */
export function copyCondition(session, condition) {
  const taken = new Set(session.conditions().map(({ id }) => id));
  const base = `own-${condition.id}`.slice(0, 60);
  const id = [base, ...Array.from({ length: taken.size }, (_, at) => `${base}-${at + 2}`)].find((each) => !taken.has(each));
  return editCondition(session, undefined, { given: { ...condition, id }, isNew: true });
}

/**
 * Edits a condition, or creates one. `given` is what the form starts with: a draft that Preview shows, or with `isNew` a
 * condition to start from.
 */
export async function editCondition(session, condition, { given, isNew = false } = {}) {
  const { memory } = session;
  const key = draftKey(condition?.id);
  const read = (id) => session.read(conditionPath(id));
  const named = condition !== undefined;
  const find = (id) => session.condition(id);
  const chart = ageChart();
  let existing;
  const onopen = (id) => {
    existing = id;
    fields.element.closest("dialog").close("kept");
  };
  const fields = conditionFields({ onchange: () => draw(chart, fields.value()), isTaken: (id) => !named && find(id) !== undefined, onopen });
  let stored;
  try {
    stored = condition && (await read(condition.id));
  } catch (error) {
    return notify(errorText(error));
  }
  fields.show(stored?.body ?? newCondition(), { named });
  const before = JSON.stringify(fields.value());
  const kept = given === undefined ? memory.get(key) : undefined;
  if (given ?? kept) fields.show(given ?? kept, { named });
  draw(chart, fields.value());

  const startOver = () => {
    note.remove();
    fields.show(stored?.body ?? newCondition(), { named });
    draw(chart, fields.value());
  };
  const note = kept && h("p", { class: "draft-note" }, "This is your draft, which was not saved. ", button("Start over", { class: "link", onclick: startOver }));
  const isSaved = await edit({
    title: condition ? `Edit ${condition.id}` : "New condition",
    note,
    fields: { ...fields, showFaults: () => !fields.check(), element: h("div", { class: "stack" }, fields.element, chart.element) },
    etag: stored?.etag,
    base: stored?.body,
    before,
    draft: isNew ? undefined : { keep: (value) => memory.set(key, value), discard: () => memory.delete(key), stays: given !== undefined },
    review(value, theirs) {
      if (!fields.check()) return false;
      const changes = conditionChanges(theirs ?? stored?.body, value);
      if (changes.length === 0) return "You have not changed anything.";
      return h("div", { class: "stack" }, h("h3", {}, named ? "What changes" : `A new condition: ${value.id}`), changeList(changes), h("p", { class: "hint" }, `${conditionText(value)}${value.enabled ? "." : ", but it is switched off."}`));
    },
    compare: (one, other) => changeList(conditionChanges(one, other)),
    async save({ id, ...body }, version) {
      try {
        await session.write(conditionPath(id), body, version);
      } catch (error) {
        if (named || !["outdated", "conflict"].includes(error.code) || !(await read(id).catch(() => undefined))) throw error;
        throw Object.assign(error, { code: "taken" });
      }
    },
    latest: () => read(fields.value().id).catch(ignoreNotFound),
    explain: (error) => (error.code === "taken" ? (fields.showTaken(), "Choose another id, or open the condition that has it.") : errorText(error)),
  });
  if (existing !== undefined) openExisting(session, find(existing) ?? { id: existing });
  if (!isSaved) session.changed();
  return isSaved;
}

/** Opens the condition that has the id that was to be a new one's. */
function openExisting(session, condition) {
  if (condition.scope === "GLOBAL") location.hash = `#/preview/condition/${encodeURIComponent(condition.id)}`;
  else editCondition(session, condition);
}

/** Draws the decision by age of a condition that is being edited. */
function draw(chart, value) {
  chart.element.hidden = value.rule !== "AGE_RESTRICTION" || !value.enabled;
  if (chart.element.hidden) return;
  try {
    const catalog = new Catalog({ global: [], tenant: [{ ...value, id: "draft", scope: "TENANT" }] });
    const at = (age) => ({ item: { id: "any" }, context: { customer: { customer_age: age } } });
    chart.draw((age) => catalog.evaluateCondition("draft", at(age)).results[0].decision, undefined, true);
    catalog.free();
  } catch {
    chart.element.hidden = true;
  }
}

const ignoreNotFound = (error) => {
  if (error.code !== "not_found") throw error;
};
