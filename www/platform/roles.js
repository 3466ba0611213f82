/**
 * The roles, and what each permits, in words.
 */

import { h } from "../shared/dom.js";
import { entries } from "./entries.js";
import { Pages } from "./pages.js";
import { permissionText, roleText } from "./wording.js";

const keyOf = ({ roleId }) => roleId;

const LABELS = {
  title: "Roles",
  noun: "role",
  about: "What a client, or a person of a group, may do once it has a role. One with several roles may do what any of them permits.",
  empty: "No role",
  none: "",
};

/** The part of the view. */
export function roleList(desk) {
  const list = entries({ labels: LABELS, keyOf, rowOf: roleRow, textOf: ({ roleId, permissions }) => [roleText(roleId), roleId, ...permissions.map(permissionText)].join(" ") });
  return { ...list, open: () => list.open(new Pages(async () => ({ items: await desk.host.roles() }), keyOf)) };
}

function roleRow({ roleId, permissions, builtIn, managedBy }) {
  const tags = [!builtIn && "Made here", managedBy && `Managed by ${managedBy}`].filter(Boolean);
  return h(
    "li",
    { class: "entry" },
    h(
      "div",
      { class: "entry-text" },
      h("div", { class: "entry-name" }, h("h3", {}, roleText(roleId)), h("code", {}, roleId), tags.map((tag) => h("span", { class: "tag", dir: "auto" }, tag))),
      permissions.length === 0 ? h("p", {}, "Permits nothing.") : h("ul", { class: "rules" }, permissions.map((permission) => h("li", {}, permissionText(permission)))),
    ),
  );
}
