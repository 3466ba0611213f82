/**
 * The form of a role: its id, and what it permits.
 */

import { field, h } from "../shared/dom.js";
import { KNOWN, permissionText, words } from "./wording.js";

/** The groups, and the first word of the permissions in them. */
const GROUPS = [
  ["Rules", "ecs", "crs"],
  ["Rates", "exr"],
  ["Webhooks and events", "exe"],
  ["Clients, and the platform", "iam"],
];

/** The fields of a new role, or of one that there is. */
export function permissionFields({ roleId, permissions = [] } = {}) {
  const id = h("input", { maxlength: 64, spellcheck: "false", autocomplete: "off" });
  const idField = field("Id", id, { hint: "Letters, digits, . _ and -, such as shop-desk. It cannot be changed later." });
  const boxes = new Map([...KNOWN, ...permissions.filter((each) => !KNOWN.includes(each))].map((each) => [each, h("input", { type: "checkbox", checked: permissions.includes(each) })]));
  const grouped = new Map(GROUPS.map(([title]) => [title, []]));
  for (const permission of boxes.keys()) {
    const [title = "Without an effect here"] = GROUPS.find(([, ...systems]) => systems.includes(permission.split(".")[0])) ?? [];
    grouped.set(title, [...(grouped.get(title) ?? []), permission]);
  }
  const box = (permission) => h("label", { class: "check role-check" }, boxes.get(permission), h("span", {}, KNOWN.includes(permission) ? words(permissionText(permission)) : permission));
  const groups = [...grouped].map(([title, held]) => h("fieldset", { class: "permission-checks" }, h("legend", {}, title), held.map(box)));
  return {
    element: h("div", { class: "stack" }, roleId === undefined && idField, groups),
    value: () => ({ roleId: roleId ?? id.value.trim(), permissions: [...boxes].filter(([, input]) => input.checked).map(([permission]) => permission) }),
    showFaults(faults) {
      const fault = faults.find(({ path }) => path === "$.roleId");
      idField.showFault(fault?.message);
      if (fault) id.focus();
      return fault !== undefined;
    },
  };
}
