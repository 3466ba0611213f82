/**
 * The templates that clients register with, and the statements that allow some registrations: of a tenant, and for operators
 * also the templates for all tenants.
 */

import { button, confirmed, h, notify } from "../shared/dom.js";
import { settled } from "../shared/lost.js";
import { removeAfterAsking } from "../shared/remove.js";
import { durationText, timeText } from "../shared/time.js";
import { roleTags } from "./clients.js";
import { entries } from "./entries.js";
import { ALL_TENANTS } from "./host.js";
import { Pages } from "./pages.js";
import { createStatement } from "./statement-editor.js";
import { createTemplate } from "./template-editor.js";
import { claimNames, claimsText, explain, softwareText, words } from "./wording.js";

const OWN = {
  title: "Templates",
  noun: "template",
  about: "A till can register only with a template for its software: it lists the claims a till must send, and what it may do once it is let in.",
  empty: "No template yet",
  none: "Make one. Tills of its software can register then.",
};

const GLOBAL = {
  title: "Templates for all tenants",
  noun: "template",
  about: "Clients of every tenant can register with these.",
  empty: "No template for all tenants",
  none: "Each tenant can have its own templates.",
};

const STATEMENTS = {
  title: "Statements",
  noun: "statement",
  about: "A statement is a text for those who install tills. Tills that register with it get its claims, and are let in at once if it says so.",
  empty: "No statement is valid",
  none: "Make one at the template of its software.",
};

const templateKey = ({ softwareId, softwareVersion }) => `${softwareId}/${softwareVersion}`;
const statementKey = ({ jti }) => jti;

export function templateLists(desk) {
  const lists = [];
  if (desk.may("iam.templates.read")) lists.push(templatesOf(desk, OWN, () => desk.tenant));
  if (desk.may("iam.statements.read")) lists.push(statementsOf(desk));
  if (desk.may("iam.templates.read") && desk.isOperator) lists.push(templatesOf(desk, GLOBAL, () => ALL_TENANTS));
  return {
    element: h("div", { class: "stack lists" }, lists.map(({ element }) => element)),
    open: () => lists.forEach((list) => list.open()),
    draw: () => lists.forEach((list) => list.draw()),
    read: () => Promise.all(lists.map((list) => list.read())),
    fail: (sentence) => lists.forEach((list) => list.fail(sentence)),
    close: () => lists.forEach((list) => list.close()),
  };
}

function templatesOf(desk, labels, ownerOf) {
  const create = desk.may("iam.templates.create") && button("New template", { image: "plus", class: "primary", onclick: () => createTemplate(desk, ownerOf()) });
  const list = entries({ labels, keyOf: templateKey, rowOf: (template) => templateRow(desk, ownerOf(), template), shownOf: () => [desk.may("iam.templates.delete")], actions: [create] });
  return {
    ...list,
    open() {
      const owner = ownerOf();
      list.open(new Pages(async () => ({ items: await desk.host.templates(owner) }), templateKey));
    },
  };
}

function templateRow(desk, owner, template) {
  const { name, claimsSchema, roles, managedBy } = template;
  const claims = claimNames(claimsSchema).map(words);
  return h(
    "li",
    { class: "entry" },
    h(
      "div",
      { class: "entry-text" },
      h("div", { class: "entry-name" }, h("h3", { dir: "auto" }, name), managedBy && h("span", { class: "tag", dir: "auto" }, `Managed by ${managedBy}`)),
      h("p", { class: "hint" }, `${softwareText(template)} · ${claims.length === 0 ? "Clients may say anything about themselves." : `Each client says: ${claims.join(", ")}.`}`),
      roleTags(roles),
    ),
    h(
      "div",
      { class: "row-actions" },
      desk.may("iam.statements.create") && button("New statement", { image: "key", class: "plain", "aria-label": `New statement: ${name}`, onclick: () => createStatement(desk, { ...template, isGlobal: owner === ALL_TENANTS }) }),
      desk.may("iam.templates.delete") && button("Delete", { image: "trash", class: "plain", "aria-label": `Delete: ${name}`, onclick: () => removeTemplate(desk, owner, template) }),
    ),
  );
}

async function removeTemplate(desk, owner, template) {
  const detail = `From now on no client can register as ${softwareText(template)}. Those that have registered keep working.`;
  await removeAfterAsking({ name: template.name, detail, read: () => desk.host.template(owner, template), remove: (etag) => desk.host.removeTemplate(owner, template, etag), explain });
  desk.reread();
}

function statementsOf(desk) {
  const shownOf = ({ expiresAt }) => [durationText(Date.parse(expiresAt) - Date.now()), desk.may("iam.statements.delete")];
  const list = entries({ labels: STATEMENTS, keyOf: statementKey, rowOf: (statement) => statementRow(desk, statement), shownOf });
  return {
    ...list,
    open() {
      const tenant = desk.tenant;
      list.open(new Pages((cursor) => desk.host.statements(tenant, { cursor }), statementKey));
    },
  };
}

function statementRow(desk, statement) {
  const { claims, autoApprove, issuedAt, expiresAt } = statement;
  const software = softwareText(statement);
  const effect = autoApprove ? "Those that register with it are let in at once." : "Those that register with it wait to be let in.";
  const said = Object.keys(claims).length === 0 ? "It says nothing about them." : `${claimsText(claims)}.`;
  return h(
    "li",
    { class: "entry" },
    h(
      "div",
      { class: "entry-text" },
      h("div", { class: "entry-name" }, h("h3", {}, software), autoApprove && h("span", { class: "tag", "data-status": "Pending" }, "Lets in at once")),
      h("p", { dir: "auto" }, said),
      h("p", { class: "hint" }, `${effect} Made ${timeText(issuedAt)}, valid for another ${durationText(Date.parse(expiresAt) - Date.now())}.`),
    ),
    h("div", { class: "row-actions" }, desk.may("iam.statements.delete") && button("Withdraw", { image: "stop", class: "plain", "aria-label": `Withdraw: ${software}`, onclick: () => withdraw(desk, statement) })),
  );
}

async function withdraw(desk, statement) {
  const software = softwareText(statement);
  const detail = "From now on no client can register with it. Those that have registered keep working.";
  if (!(await confirmed(`Withdraw the statement for ${software}?`, detail, "Withdraw"))) return;
  const [yes, no] = ["The statement was withdrawn.", "The statement was not withdrawn."];
  try {
    const tenant = desk.tenant;
    const look = async () => !(await allStatements(desk, tenant)).some(({ jti }) => jti === statement.jti);
    const { isLost } = await settled(() => desk.host.withdraw(tenant, statement.jti), { whether: "the statement was withdrawn", yes, no, look });
    if (!isLost) notify(yes);
  } catch (error) {
    notify(`${no} ${explain(error)}`);
  }
  desk.reread();
}

async function allStatements(desk, tenant) {
  const pages = new Pages((cursor) => desk.host.statements(tenant, { cursor }), statementKey);
  await pages.renew();
  while (pages.hasMore) await pages.more();
  return pages.all;
}
