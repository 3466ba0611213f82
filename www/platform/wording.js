/**
 * The words of the Platform view: permissions, what a client says about itself, and errors.
 */

import { errorText, valueText } from "../shared/messages.js";

/** What each permission allows, as the end of “may …”. */
const PERMISSIONS = {
  "ecs.condition.read": "see conditions",
  "ecs.condition.write": "create and change conditions",
  "ecs.condition.delete": "delete conditions",
  "ecs.condition.evaluate": "ask whether an item may be sold, by conditions",
  "ecs.project-restriction.evaluate": "ask whether an item may be sold, by a project",
  "ecs.decision.report": "upload decisions that a till has made",
  "ecs.global-condition.write": "change conditions of all tenants",
  "crs.project.read": "see projects",
  "crs.project.write": "create, change and delete projects",
  "exr.rate.read": "see rates",
  "exr.rate.write": "change rates",
  "exr.business-unit.read": "see companies, groups and shops",
  "exr.business-unit.write": "create, change and delete companies, groups and shops",
  "exr.reference-rate.import": "import reference rates",
  "exr.rates-changed.subscribe": "follow changes of rates",
  "exr.initial-state.create": "ask for all present rates",
  "exe.webhook.read": "see webhooks",
  "exe.webhook.write": "create, change and delete webhooks",
  "exe.delivery.read": "see deliveries and ask for events",
  "exe.delivery.replay": "send deliveries again",
  "exe.event.publish": "send events",
  "iam.templates.create": "create templates",
  "iam.templates.read": "see templates",
  "iam.templates.delete": "delete templates",
  "iam.statements.create": "create statements",
  "iam.statements.read": "see statements",
  "iam.statements.delete": "withdraw statements",
  "iam.clients.read": "see clients",
  "iam.clients.update": "let clients in, revoke them, and change their roles and secrets",
  "iam.clients.delete": "delete clients",
  "iam.decision-log.write": "choose which decisions are recorded",
  "iam.roles.write": "define roles",
  "iam.tenants.write": "make tenants",
  "iam.keys.read": "see signing keys",
  "iam.keys.rotate": "replace signing keys",
  "iam.jobs.read": "see failed jobs",
  "iam.jobs.write": "retry and drop failed jobs",
};

/** Every permission that has an effect. */
export const KNOWN = Object.keys(PERMISSIONS);

/** The names of the built-in roles. */
const ROLES = {
  "ecs.viewer": "Sees rules",
  "ecs.editor": "Changes rules",
  "ecs.evaluator": "Asks for decisions",
  "exr.viewer": "Sees rates",
  "exr.editor": "Changes rates",
  "exr.subscriber": "Follows rates",
  "exe.viewer": "Sees webhooks",
  "exe.editor": "Changes webhooks",
  "exe.publisher": "Sends events",
  "iam.template-admin": "Manages templates",
  "iam.statements-admin": "Manages statements",
  "iam.client-admin": "Manages clients",
  "iam.clients-admin": "Manages clients",
  "iam.admin": "Administers a tenant",
  "platform.operator": "Operates the platform",
};

/** The name of a role. */
export const roleText = (id) => (Object.hasOwn(ROLES, id) ? ROLES[id] : id);

/** The meaning of a permission; an unknown one has no effect. */
export const permissionText = (permission) => (Object.hasOwn(PERMISSIONS, permission) ? PERMISSIONS[permission] : `${permission} (has no effect here)`);

/** The name of a claim as words: `store_number` is `Store number`. */
export function words(name) {
  const text = name.replaceAll("_", " ");
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

/** The name of a software, with its version. */
export const softwareText = ({ softwareId, softwareVersion }) => `${softwareId} ${softwareVersion}`;

/** The name of a client: its own, or else that of its software. */
export function clientName({ claims, ...software }) {
  const [, name] = Object.entries(claims).find(([claim, value]) => /(^|_)name$/.test(claim) && typeof value === "string") ?? [];
  return name ?? softwareText(software);
}

/** What a client says about itself, in a sentence. */
export const claimsText = (claims) =>
  Object.entries(claims)
    .map(([claim, value]) => `${words(claim)}: ${valueText(value)}`)
    .join(", ");

/** What these roles allow a client to do, in a sentence. */
export const mayText = (roles) => (roles.length === 0 ? "It has no role, so it may do nothing yet." : `What it may do: ${roles.map(({ roleId }) => roleText(roleId)).join(", ")}.`);

/** The error, and what to do about it. */
export function explain(error) {
  if (error.code === "other_tenant") return "You may see and change your own tenant only.";
  if (error.code === "client_revoked") return "It was revoked in the meantime. Delete it, and it can register again.";
  if (error.code === "key_waiting") return "A new key is already published but does not sign yet.";
  return errorText(error);
}

/** The names of the claims that a template asks for. */
export function claimNames({ properties = {}, required = [] } = {}) {
  return [...new Set([...required, ...Object.keys(properties)])];
}
