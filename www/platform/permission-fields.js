/**
 * The form of a role: its id and its permissions.
 */

import { field, h } from "../shared/dom.js";
import { KNOWN, permissionText, words } from "./wording.js";

/** The groups of permissions, and the prefixes of their names. If two fit, the later one wins. */
const GROUPS = [
  ["Rules", "ecs.", "crs."],
  ["Rates", "exr."],
  ["Webhooks and events", "exe."],
  ["Clients", "iam."],
  ["The platform: only its own clients can have a role with one of these", "ecs.global-condition.", "iam.roles.", "iam.tenants.", "iam.keys.", "iam.jobs."],
];
const OTHERS = "No effect here";

function groupOf(permission) {
  const group = KNOWN.includes(permission) && GROUPS.findLast(([, ...begins]) => begins.some((begin) => permission.startsWith(begin)));
  return group ? group[0] : OTHERS;
}

/** The fields of a new or an existing role. */
export function permissionFields({ roleId, permissions = [] } = {}) {
  const id = h("input", { maxlength: 64, spellcheck: "false", autocomplete: "off" });
  const idField = field("Id", id, { hint: "Letters, digits, . _ and -, such as shop-desk. It cannot be changed later." });
  const all = [...new Set([...KNOWN, ...permissions])];
  const boxes = new Map(all.map((permission) => [permission, h("input", { type: "checkbox", checked: permissions.includes(permission) })]));
  const labelOf = (permission) => h("label", { class: "check role-check" }, boxes.get(permission), h("span", {}, KNOWN.includes(permission) ? words(permissionText(permission)) : permission));
  const held = [...GROUPS.map(([title]) => title), OTHERS].map((title) => [title, all.filter((permission) => groupOf(permission) === title)]);
  const groups = held.filter(([, those]) => those.length > 0).map(([title, those]) => h("fieldset", { class: "permission-checks" }, h("legend", {}, title), those.map(labelOf)));
  return {
    element: h("div", { class: "stack" }, roleId === undefined && idField, groups),
    value: () => ({ roleId: roleId ?? id.value.trim(), permissions: all.filter((permission) => boxes.get(permission).checked) }),
    showFaults(faults) {
      const fault = faults.find(({ path }) => path === "$.roleId");
      idField.showFault(fault?.message);
      if (fault) id.focus();
      return fault !== undefined;
    },
  };
}
