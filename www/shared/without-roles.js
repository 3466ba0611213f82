/**
 * The page for someone who may see none of its views: who they are, what they need, and a way to sign in as someone else.
 * Loaded on demand.
 */

import { button, h } from "./dom.js";
import { icon } from "./icon.js";

/** The possible permissions, and the role for each. */
const ROLES = [
  ["see rules", "ecs.viewer"],
  ["change rules", "ecs.editor"],
  ["see exchange rates", "exr.viewer"],
  ["change exchange rates", "exr.editor"],
  ["see webhooks", "exe.viewer"],
  ["change webhooks", "exe.editor"],
  ["manage clients", "iam.admin"],
];

/** The view of a session. `onanother` signs in with another account. */
export function withoutRoles({ tenant, person, clientId }, onanother) {
  const who = person?.name ?? (clientId && `client ${clientId}`);
  const role = ([what, name]) => h("li", {}, `To ${what}: `, h("strong", {}, name));
  return h(
    "div",
    { class: "empty-state" },
    icon("alert"),
    h("h1", { tabindex: "-1" }, "You may not see anything here yet"),
    h("p", {}, "You are signed in", who && [" as ", h("strong", { dir: "auto" }, who)], " at ", h("strong", { dir: "auto" }, tenant), "."),
    h("p", {}, "Ask those who manage access for one of these roles, and then reload this page."),
    h("ul", {}, ROLES.map(role)),
    button("Use another account", { class: "primary", onclick: onanother }),
  );
}
