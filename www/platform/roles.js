/**
 * The roles and their permissions, in words. The platform creates, changes and deletes its own; the built-in ones stay as they
 * are.
 */

import { button, h } from "../shared/dom.js";
import { entries } from "./entries.js";
import { Pages } from "./pages.js";
import { changeRole, makeRole, removeRole } from "./role-editor.js";
import { permissionText, roleText } from "./wording.js";

const keyOf = ({ roleId }) => roleId;

const LABELS = {
  title: "Roles",
  noun: "role",
  about: "What a client, or a person in a group, may do once it has a role. With several roles, everything that any of them permits is allowed.",
  empty: "No role",
  none: "",
};

const WRITE = "iam.roles.write";

export function roleList(desk) {
  const create = desk.may(WRITE) && button("New role", { image: "plus", class: "primary", onclick: () => makeRole(desk) });
  const list = entries({ labels: LABELS, actions: [create], keyOf, rowOf: (role) => roleRow(desk, role), shownOf: () => [desk.may(WRITE)], textOf: ({ roleId, permissions }) => [roleText(roleId), roleId, ...permissions.map(permissionText)].join(" ") });
  return { ...list, open: () => list.open(new Pages(async () => ({ items: await desk.host.roles() }), keyOf)) };
}

function roleRow(desk, role) {
  const { roleId, permissions, builtIn, managedBy } = role;
  const act = (text, image, run) => button(text, { image, class: "plain", "aria-label": `${text}: ${roleId}`, onclick: () => run(desk, role) });
  const tags = [!builtIn && "Made here", managedBy && `Managed by ${managedBy}`].filter(Boolean);
  return h(
    "li",
    { class: "entry" },
    h(
      "div",
      { class: "entry-text" },
      h("div", { class: "entry-name" }, h("h3", {}, roleText(roleId)), roleText(roleId) !== roleId && h("code", {}, roleId), tags.map((tag) => h("span", { class: "tag", dir: "auto" }, tag))),
      permissions.length === 0 ? h("p", {}, "Permits nothing.") : h("ul", { class: "rules" }, permissions.map((permission) => h("li", {}, permissionText(permission)))),
    ),
    !builtIn && desk.may(WRITE) && h("div", { class: "row-actions" }, act("Change", "pencil", changeRole), act("Delete", "trash", removeRole)),
  );
}
