/**
 * The clients of a tenant: those that wait to be let in, and all of them. A client is a till, a service or any other program
 * that signs in with an id and a secret.
 */

import { button, choice, h } from "../shared/dom.js";
import { compareNames } from "../shared/locale.js";
import { valueText } from "../shared/messages.js";
import { durationText, timeText } from "../shared/time.js";
import { changeRoles, letIn, newSecret, remove, revoke } from "./client-actions.js";
import { entries } from "./entries.js";
import { Pages } from "./pages.js";
import { claimsText, clientName, roleText, softwareText, words } from "./wording.js";

/** The statuses, in words. */
const STATUSES = { Pending: "Waiting", Authorized: "Let in", Revoked: "Revoked" };

/** From this age on, `durationText` counts minutes, not seconds. */
const COUNTED_IN_MINUTES = 90_000;

const keyOf = ({ clientId }) => clientId;

const WAITING = {
  title: "Waiting to be let in",
  noun: "client",
  about: "These have registered and wait for someone who knows them to let them in. One that nobody lets in is forgotten after seven days.",
  empty: "Nothing is waiting",
  none: "A till that registers appears here by itself.",
};

const ALL = {
  title: "Clients",
  noun: "client",
  about: "Each till, service or program that signs in with an id and a secret.",
  empty: "No client here",
  none: "Make a template first. Tills then register with it, and appear under “Waiting”.",
};

/** The waiting clients. */
export const pendingList = (desk) => clientsPart(desk, { labels: WAITING, status: () => "Pending", compare: newestFirst });

/** All clients. */
export function clientList(desk) {
  let status = "";
  const options = [["", "All"], ...Object.entries(STATUSES)];
  const filter = choice("Show", options, status, (chosen) => ((status = chosen), part.open(), desk.reread()));
  const part = clientsPart(desk, { labels: ALL, status: () => status || undefined, compare: byName, actions: [filter] });
  return part;
}

const newestFirst = (one, other) => other.registeredAt.localeCompare(one.registeredAt);

const byName = (one, other) => compareNames(clientName(one), clientName(other), one.clientId, other.clientId);

function clientsPart(desk, { labels, status, compare, actions }) {
  const acts = { ...desk, reread: () => (list.suspect(), desk.reread()) };
  const shownOf = (client) => [ageText(client), desk.may("iam.clients.update"), desk.may("iam.clients.delete")];
  const list = entries({ labels, actions, keyOf, compare, shownOf, textOf: clientText, rowOf: (client) => clientRow(acts, client) });
  return {
    ...list,
    open() {
      const tenant = desk.tenant;
      list.open(new Pages((cursor) => desk.host.clients(tenant, { status: status(), cursor }), keyOf));
    },
  };
}

/** The text that a filter searches: all that a client says about itself, as it is shown. */
const clientText = ({ claims, roles, clientId, ...software }) => [claimsText(claims), softwareText(software), clientId, ...roles.map(({ roleId }) => roleText(roleId))].join(" ");

/** The time since a client registered. Its row is redrawn when this changes, so not each second. */
function ageText({ registeredAt }) {
  const age = Date.now() - Date.parse(registeredAt);
  return age < COUNTED_IN_MINUTES ? "less than 2 minutes" : durationText(age);
}

function clientRow(desk, client) {
  const { claims, status, registeredAt, registeredFrom, roles } = client;
  const name = clientName(client);
  const from = registeredFrom === undefined ? "" : ` from ${registeredFrom}`;
  const claim = ([key, value]) => h("div", {}, h("dt", {}, words(key)), h("dd", { dir: "auto" }, valueText(value)));
  return h(
    "li",
    { class: "entry" },
    h(
      "div",
      { class: "entry-text" },
      h("div", { class: "entry-name" }, h("h3", { dir: "auto" }, name), h("span", { class: "tag", "data-status": status }, STATUSES[status])),
      Object.keys(claims).length > 0 && h("dl", { class: "claims" }, Object.entries(claims).map(claim)),
      h("p", { class: "hint" }, `${softwareText(client)} · Registered ${ageText(client)} ago (${timeText(registeredAt)})${from}`),
      roleTags(roles),
    ),
    h("div", { class: "row-actions" }, actionsOf(desk, client, name)),
  );
}

/** The roles of a client or of a template. */
export const roleTags = (roles) =>
  h("ul", { class: "tags", "aria-label": "Roles" }, roles.length === 0 ? h("li", { class: "tag" }, "No role") : roles.map(({ roleId }) => h("li", { class: "tag", title: roleId }, roleText(roleId))));

function actionsOf(desk, client, name) {
  const { status } = client;
  const mayUpdate = desk.may("iam.clients.update");
  const act = (text, image, run, kind = "plain") => button(text, { image, class: kind, "aria-label": `${text}: ${name}`, onclick: () => run(desk, client) });
  return [
    mayUpdate && status === "Pending" && act("Let in", "check", letIn, "primary"),
    mayUpdate && status === "Pending" && act("Refuse", "stop", revoke),
    mayUpdate && status !== "Revoked" && act("Roles", "pencil", changeRoles),
    mayUpdate && status !== "Revoked" && act("New secret", "key", newSecret),
    mayUpdate && status === "Authorized" && act("Revoke", "stop", revoke),
    desk.may("iam.clients.delete") && act("Delete", "trash", remove),
  ];
}
