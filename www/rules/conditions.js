/**
 * Conditions: the list, from which those of the tenant are created, changed and deleted. Global conditions are read-only:
 * they belong to the platform.
 */

import { button, confirmed, h, notify } from "../shared/dom.js";
import { icon } from "../shared/icon.js";
import { draftTag, list } from "../shared/list.js";
import { NOT_DELETED, errorText } from "../shared/messages.js";
import { conditionPath, copyCondition, editCondition } from "./condition-editor.js";
import { draftKey } from "./condition-fields.js";
import { conditionTemplates } from "./templates.js";
import { conditionText } from "./wording.js";

const WRITE = "ecs.condition.write";
const DELETE = "ecs.condition.delete";

/** The view. */
export function conditions(session) {
  return list({
    read: () => session.conditions(),
    key: ({ id }) => id,
    text: (condition) => `${condition.id} ${conditionText(condition)} ${condition.scope}`,
    row: (condition) => row(session, condition),
    shown: ({ id }) => [session.may(WRITE), session.may(DELETE), session.memory.get(draftKey(id)) !== undefined],
    create: () => session.may(WRITE) && (() => editCondition(session)),
    templates: () => conditionTemplates(session),
    labels: {
      title: "Conditions",
      noun: "condition",
      empty: "No conditions yet",
      about: "A condition says who may buy: from which age, or with which license. Tills refer to it by its id.",
      refused: `You may view conditions, but not change them. That needs the permission ${WRITE}.`,
    },
  });
}

function row(session, condition) {
  const { id, scope, enabled, rule } = condition;
  const isGlobal = scope === "GLOBAL";
  const mayWrite = session.may(WRITE);
  return h(
    "li",
    { class: enabled ? "row" : "row off" },
    h("span", { class: "row-mark" }, rule === "AGE_RESTRICTION" ? `${condition.condition_value.minimum_age}+` : icon("license")),
    h("div", { class: "row-text" }, h("h2", {}, id), h("p", {}, conditionText(condition))),
    h(
      "div",
      { class: "tags" },
      session.memory.get(draftKey(id)) && draftTag(),
      !enabled && h("span", { class: "tag" }, "Off"),
      isGlobal && h("span", { class: "tag global", title: "Belongs to the platform and cannot be changed here" }, icon("lock"), "Global"),
    ),
    h(
      "div",
      { class: "row-actions" },
      h("a", { class: "button plain", href: `#/preview/condition/${encodeURIComponent(id)}`, "aria-label": `Preview ${id}` }, icon("eye"), h("span", {}, "Preview")),
      isGlobal && mayWrite && button("Copy", { image: "copy", class: "plain", "aria-label": `Copy ${id} as my own rule`, onclick: () => copyCondition(session, condition) }),
      !isGlobal && mayWrite && button("Edit", { image: "pencil", class: "plain", "aria-label": `Edit ${id}`, onclick: () => editCondition(session, condition) }),
      !isGlobal && session.may(DELETE) && button(`Delete ${id}`, { image: "trash", iconOnly: true, class: "plain", onclick: () => remove(session, id) }),
    ),
  );
}

async function remove(session, id) {
  try {
    const { etag } = await session.read(conditionPath(id));
    const detail = "Tills that use it will get an error. To keep it for later, switch it off instead.";
    if (!(await confirmed(`Delete ${id}?`, detail, "Delete"))) return;
    await session.remove(conditionPath(id), etag);
    notify(`${id} was deleted.`);
  } catch (error) {
    notify(error.code === "outdated" ? NOT_DELETED : errorText(error));
  }
}
