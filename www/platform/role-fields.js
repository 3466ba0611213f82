/**
 * The roles to choose from, with their permissions.
 */

import { h } from "../shared/dom.js";
import { permissionText, roleText } from "./wording.js";

/** The fields. `roles` are those that exist, and `chosen` those selected at first, as clients and templates have them. */
export function roleFields(roles, chosen) {
  const had = new Set(chosen.map(({ roleId }) => roleId));
  const known = new Set(roles.map(({ roleId }) => roleId));
  const all = [...roles, ...[...had].filter((roleId) => !known.has(roleId)).map((roleId) => ({ roleId, permissions: [] }))];
  const boxes = all.map(({ roleId, permissions }) => {
    const input = h("input", { type: "checkbox", checked: had.has(roleId), value: roleId });
    const may = permissions.length === 0 ? "permits nothing" : `may ${permissions.map(permissionText).join("; ")}`;
    return { input, element: h("label", { class: "check role-check" }, input, h("span", {}, h("b", {}, roleText(roleId)), " ", h("code", {}, roleId), h("span", { class: "hint" }, may))) };
  });
  const element = h("fieldset", { class: "role-checks" }, h("legend", {}, "Roles"), boxes.map((box) => box.element));
  return {
    element,
    value: () => boxes.filter(({ input }) => input.checked).map(({ input }) => ({ roleId: input.value })),
    showFaults: () => false,
  };
}
