/**
 * Conditions: the list, and the forms that create, change and delete those of the tenant. Global conditions are
 * read-only: they belong to the platform.
 */

import { Catalog } from "../js/src/browser.js";
import { ageChart } from "./age-chart.js";
import { button, choice, confirmed, field, h, icon, notify } from "./dom.js";
import { edit } from "./editor.js";
import { list } from "./list.js";
import { conditionText, errorText } from "./messages.js";
import { conditionPath } from "./session.js";

/** A new condition, as the form shows it first. */
export const newCondition = () => ({ id: "", rule: "AGE_RESTRICTION", enabled: true, condition_value: { minimum_age: 18 } });

/** The view. */
export function conditions(session) {
  return list({
    read: () => session.conditions(),
    key: ({ id }) => id,
    text: (condition) => `${condition.id} ${conditionText(condition)} ${condition.scope}`,
    row: (condition) => row(session, condition),
    create: () => editCondition(session),
    labels: {
      title: "Conditions",
      noun: "condition",
      empty: "No conditions yet",
      about: "A condition says who may buy: from which age, or with which license. Tills refer to it by its id.",
    },
  });
}

function row(session, condition) {
  const { id, scope, enabled, rule } = condition;
  const isGlobal = scope === "GLOBAL";
  return h(
    "li",
    { class: enabled ? "row" : "row off" },
    h("span", { class: "row-mark" }, rule === "AGE_RESTRICTION" ? `${condition.condition_value.minimum_age}+` : icon("license")),
    h("div", { class: "row-text" }, h("h2", {}, id), h("p", {}, conditionText(condition))),
    h(
      "div",
      { class: "tags" },
      !enabled && h("span", { class: "tag" }, "Off"),
      isGlobal && h("span", { class: "tag global", title: "Belongs to the platform and cannot be changed here" }, icon("lock"), "Global"),
    ),
    h(
      "div",
      { class: "row-actions" },
      h("a", { class: "button plain", href: `#/preview/condition/${encodeURIComponent(id)}`, "aria-label": `Preview ${id}` }, icon("eye"), h("span", {}, "Preview")),
      !isGlobal && button("Edit", { image: "pencil", class: "plain", "aria-label": `Edit ${id}`, onclick: () => editCondition(session, condition) }),
      !isGlobal && button(`Delete ${id}`, { image: "trash", iconOnly: true, class: "plain", onclick: () => remove(session, id) }),
    ),
  );
}

/** Edits a condition, or creates one; `draft` is what the form starts with when a change was tried out before. */
export async function editCondition(session, condition, draft) {
  const chart = ageChart();
  const fields = conditionFields(() => draw());
  fields.show(draft ?? condition ?? newCondition(), { named: condition !== undefined });
  const draw = () => {
    const value = fields.value();
    chart.element.hidden = value.rule !== "AGE_RESTRICTION" || !value.enabled;
    if (chart.element.hidden) return;
    try {
      const catalog = new Catalog({ global: [], tenant: [{ ...value, id: "draft" }] });
      const at = (age) => ({ item: { id: "any" }, context: { customer: { customer_age: age } } });
      chart.draw((age) => catalog.evaluateCondition("draft", at(age)).results[0].decision);
      catalog.free();
    } catch {
      chart.element.hidden = true;
    }
  };
  draw();
  const read = (id) => session.read(conditionPath(id));
  let etag;
  try {
    etag = condition && (await read(condition.id)).etag;
  } catch (error) {
    return notify(errorText(error));
  }
  return edit({
    title: condition ? `Edit ${condition.id}` : "New condition",
    fields: { ...fields, element: h("div", { class: "stack" }, fields.element, chart.element) },
    etag,
    save: ({ id, ...body }, version) => session.write(conditionPath(id), body, version),
    latest: () => read(fields.value().id).catch(ignoreNotFound),
    describe: (value) => `${conditionText(value)}${value.enabled ? "" : ", switched off"}.`,
  });
}

const ignoreNotFound = (error) => {
  if (error.code !== "not_found") throw error;
};

async function remove(session, id) {
  try {
    const { etag } = await session.read(conditionPath(id));
    const detail = "Tills that use it will get an error. To keep it for later, switch it off instead.";
    if (!(await confirmed(`Delete ${id}?`, detail, "Delete"))) return;
    await session.remove(conditionPath(id), etag);
    notify(`${id} was deleted.`);
  } catch (error) {
    notify(error.code === "outdated" ? "It was not deleted, because someone else has just changed it. Check it again." : errorText(error));
  }
}

/** The form of a condition: `show` fills it, `value` reads it, `differs` compares it with a stored condition. */
export function conditionFields(onchange) {
  const id = h("input", { spellcheck: "false", autocomplete: "off", maxlength: 64, oninput: onchange });
  const idField = field("Id", id, { hint: "Tills refer to the condition by this id. A license has the same id. Letters, digits and _ . : -" });
  let rule = "AGE_RESTRICTION";
  const rules = choice("Requirement", [["AGE_RESTRICTION", "Age"], ["LICENSE_REQUIREMENT", "License"]], rule, (chosen) => {
    rule = chosen;
    ageField.hidden = rule !== "AGE_RESTRICTION";
    onchange();
  });
  const age = h("input", { type: "number", inputmode: "numeric", min: 0, max: 150, step: 1, oninput: onchange });
  const ageField = field("Minimum age", age);
  const enabled = h("input", { type: "checkbox", role: "switch", onchange });
  const element = h("div", { class: "stack" }, idField, rules, ageField, h("label", { class: "switch" }, enabled, h("span", {}, "In force")));

  const value = () => ({
    id: id.value.trim(),
    rule,
    enabled: enabled.checked,
    condition_value: rule === "AGE_RESTRICTION" ? { minimum_age: age.value === "" ? null : Number(age.value) } : {},
  });
  return {
    element,
    value,
    show(condition, { named }) {
      id.value = condition.id;
      idField.hidden = named;
      rule = condition.rule;
      rules.choose(rule);
      ageField.hidden = rule !== "AGE_RESTRICTION";
      age.value = condition.condition_value.minimum_age ?? 18;
      enabled.checked = condition.enabled;
    },
    differs({ rule, enabled, condition_value }) {
      const now = value();
      return JSON.stringify([now.rule, now.enabled, now.condition_value]) !== JSON.stringify([rule, enabled, condition_value]);
    },
    /** Shows faults at their fields; returns whether every fault has a field. */
    showFaults(faults) {
      const of = (path) => faults.find((fault) => fault.path === path);
      idField.showFault(of("$.conditionId") && "Use 1 to 64 letters, digits and _ . : -");
      ageField.showFault(of("$.condition_value.minimum_age") && "Enter a whole number from 0 to 150.");
      return faults.every(({ path }) => path === "$.conditionId" || path === "$.condition_value.minimum_age");
    },
  };
}
