/**
 * The list of conditions, in which those of the tenant are created, changed and deleted. Global conditions belong to the
 * platform, whose operators change them here.
 */

import { button, h } from "../shared/dom.js";
import { icon } from "../shared/icon.js";
import { draftTag, list } from "../shared/list.js";
import { reasonField, withReason } from "../shared/reason.js";
import { removeAfterAsking } from "../shared/remove.js";
import { WRITE, WRITE_GLOBAL, conditionPath, copyCondition, deletionText, editCondition, mayCreate, mayEdit } from "./condition-editor.js";
import { draftKey } from "./condition-fields.js";
import { historyLink, historyOfDeleted, lastBy, restoredText, withHistory } from "./history-link.js";
import { conditionTemplates } from "./templates.js";
import { OFF, conditionText } from "./wording.js";

const DELETE = "ecs.condition.delete";

/** The name of this list in addresses. */
const LIST = "conditions";

export function conditions(session, rest = [], query) {
  const marks = import("./failing.js").then(({ failingMarks }) => failingMarks(session));
  const view = list({
    read: () => session.conditions(),
    key: ({ id }) => id,
    text: (condition) => `${condition.id} ${conditionText(condition)} ${condition.scope}`,
    row: (condition) => row(session, condition, marks),
    shown: ({ id }) => [...[WRITE, WRITE_GLOBAL, DELETE].map((permission) => session.may(permission)), session.inPlaceOf(id) !== undefined, session.memory.get(draftKey(id)) !== undefined],
    hasDraft: (condition) => session.memory.get(draftKey(condition?.id)) !== undefined,
    create: () => mayCreate(session) && (() => editCondition(session)),
    templates: () => conditionTemplates(session),
    href: `#/${LIST}`,
    query,
    labels: {
      title: "Conditions",
      noun: "condition",
      empty: "No conditions yet",
      about: "A condition says who may buy: from which age, or with which license. Tills refer to it by its id.",
      refused: `You may view conditions, but not change them. That needs the permission ${WRITE}.`,
    },
  });
  return withHistory(view, { session, list: LIST, rest, subjectOf: (id, scope) => historyOf(session, id, scope === "global" ? "GLOBAL" : "TENANT"), deleted: () => deleted(session) });
}

/** The deleted conditions of the tenant and of the platform: those that the user may restore come first. */
function deleted(session) {
  const isOperator = session.may(WRITE_GLOBAL);
  const own = { title: isOperator ? "Of this tenant" : "Your own", path: "/api/v1/deleted-entity-conditions", args: [] };
  const global = { title: "Global", path: "/api/v1/deleted-global-entity-conditions", args: ["global"] };
  return { noun: "condition", groups: isOperator ? [global, own] : [own, global] };
}

/** The address of a history, after its name. */
const args = (id, scope) => [id, scope === "GLOBAL" && "global"].filter(Boolean);

/** The history of a condition of a scope; a deleted one is created again. */
function historyOf(session, id, scope) {
  const restore = ({ document, at }) => {
    const existing = session.condition(id);
    const isThere = existing?.scope === document.scope;
    return editCondition(session, isThere ? existing : undefined, { given: document, isNew: !isThere, restored: restoredText({ at }) });
  };
  return { kind: "condition", name: id, path: conditionPath(id, scope), mayRestore: (document) => mayEdit(session, document), restore };
}

function row(session, condition, marks) {
  const { id, scope, enabled, rule } = condition;
  const isGlobal = scope === "GLOBAL";
  const mayDelete = session.may(isGlobal ? WRITE_GLOBAL : DELETE);
  const tags = h(
    "div",
    { class: "tags" },
    session.memory.get(draftKey(id)) && draftTag(),
    !enabled && h("span", { class: "tag" }, "Off"),
    isGlobal && h("span", { class: "tag global", title: "Belongs to the platform and is in force for all tenants" }, icon("lock"), "Global"),
    isGlobal && session.inPlaceOf(id) && h("span", { class: "tag", title: "Your own rule with this id is older and decides instead" }, "Yours decides"),
  );
  const document = (tests) => ({ condition: { ...condition, tests }, other: (isGlobal && session.inPlaceOf(id)) || null });
  marks.then((mark) => mark(tags, { rule: condition, key: `${scope} ${id}`, path: conditionPath(id), document }));
  return h(
    "li",
    { class: enabled ? "row" : "row off" },
    h("span", { class: "row-mark" }, rule === "AGE_RESTRICTION" ? `${condition.condition_value.minimum_age}+` : icon("license")),
    h("div", { class: "row-text" }, h("h2", {}, id), h("p", {}, conditionText(condition))),
    tags,
    h(
      "div",
      { class: "row-actions" },
      h("a", { class: "button plain", href: `#/preview/condition/${encodeURIComponent(id)}`, "aria-label": `Preview ${id}` }, icon("eye"), h("span", {}, "Preview")),
      historyLink(LIST, args(id, historyScope(session, condition)), id),
      isGlobal && session.may(WRITE) && button("Copy", { image: "copy", class: "plain", "aria-label": `Copy ${id} as my own rule`, onclick: () => copyCondition(session, condition) }),
      mayEdit(session, condition) && button("Edit", { image: "pencil", class: "plain", "aria-label": `Edit ${id}`, onclick: () => editCondition(session, condition) }),
      mayDelete && button(`Delete ${id}`, { image: "trash", iconOnly: true, class: "plain", onclick: () => remove(session, condition) }),
    ),
  );
}

/** The scope of a row's history: the tenant's own if its rule decides in place of a global one, except for operators. */
const historyScope = (session, { id, scope }) => (session.inPlaceOf(id) && !session.may(WRITE_GLOBAL) ? "TENANT" : scope);

async function remove(session, condition) {
  const { id, scope } = condition;
  const all = scope === "GLOBAL" ? await deletionText(session, condition) : "";
  const detail = `${all}${OFF} Switching it off has the same effect on tills, and keeps the rule for later.`;
  const path = conditionPath(id, scope);
  return removeAfterAsking({
    name: id,
    detail,
    read: () => session.read(conditionPath(id)),
    remove: (etag, reason) => session.remove(withReason(path, reason), etag),
    more: () => historyOfDeleted(LIST, args(id, scope)),
    reason: reasonField(),
    lastBy: () => lastBy(session, path),
  });
}
