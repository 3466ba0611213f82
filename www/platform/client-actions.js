/**
 * The actions on a client: letting it in, revoking it, deleting it, changing its roles or its secret. Each first says what
 * will work or stop working.
 */

import { button, choice, confirmed, h, notify, openDialog } from "../shared/dom.js";
import { edit } from "../shared/editor.js";
import { settled } from "../shared/lost.js";
import { valueText } from "../shared/messages.js";
import { storedBy } from "../shared/reason.js";
import { removeAfterAsking } from "../shared/remove.js";
import { roleFields } from "./role-fields.js";
import { showSecret } from "./secret.js";
import { clientName, explain, mayText, roleText, words } from "./wording.js";

const REFUSED = "The tills that use this client are refused from now on.";
const SECRET_LOST = "If it did, the secret was lost with the answer. Choose “New secret” again.";

/** The lifetimes of the old secret, as the host reads them, and in words. */
const OVERLAPS = [
  ["24h", "24 hours"],
  ["7d", "7 days"],
  ["1h", "1 hour"],
  ["0s", "Not at all"],
];

/** Lets a waiting client in. */
export async function letIn(desk, client) {
  const name = clientName(client);
  // Text from strangers must not change the sentence around it.
  const claims = Object.entries(client.claims).flatMap(([claim, value]) => [`${words(claim)}: `, h("bdi", {}, valueText(value)), ", "]);
  const says = claims.length === 0 ? ["It says nothing about itself"] : ["It says about itself: ", ...claims.slice(0, -1)];
  const detail = [...says, `. It can sign in from now on. ${mayText(client.roles)}`];
  if (!(await confirmed(["Let ", h("bdi", {}, name), " in?"], detail, "Let in"))) return;
  await changeStatus(desk, client, { write: () => desk.host.authorize(client), wanted: "Authorized", done: `${name} was let in`, not: `${name} was not let in` });
}

/** Revokes a client, or refuses a waiting one. */
export async function revoke(desk, client) {
  const name = clientName(client);
  const again = "This cannot be undone: to let it in later, delete it and have it register again.";
  const [verb, done, effect] = client.status === "Pending" ? ["Refuse", "refused", "It cannot sign in."] : ["Revoke", "revoked", REFUSED];
  if (!(await confirmed(`${verb} ${name}?`, `${effect} ${again}`, verb))) return;
  await changeStatus(desk, client, { write: () => desk.host.revoke(client), wanted: "Revoked", done: `${name} was ${done}`, not: `${name} was not ${done}` });
}

async function changeStatus(desk, client, { write, wanted, done, not }) {
  try {
    const look = async () => (await desk.host.client(client)).body.status === wanted;
    const { isLost } = await settled(write, { whether: done, yes: `${done}.`, no: `${not}.`, look });
    if (!isLost) notify(`${done}.`);
  } catch (error) {
    notify(`${not}. ${explain(error)}`);
  }
  desk.reread();
}

/** Deletes a client after asking. */
export async function remove(desk, client) {
  const detail = ({ status }) => `${status === "Authorized" ? `${REFUSED} ` : ""}It can register again and then gets another secret.`;
  await removeAfterAsking({ name: clientName(client), detail, read: () => desk.host.client(client), remove: (etag) => desk.host.removeClient(client, etag), explain });
  desk.reread();
}

/** Gives a client a new secret, and shows it once. */
export async function newSecret(desk, client) {
  const name = clientName(client);
  const overlap = await askOverlap(name);
  if (!overlap) return;
  try {
    const { answer } = await settled(() => desk.host.newSecret(client, overlap), { whether: `${name} got a new secret`, advice: SECRET_LOST });
    if (answer !== undefined) await showClientSecret(name, answer, overlap);
  } catch (error) {
    notify(`${name} did not get a new secret. ${explain(error)}`);
  }
  desk.reread();
}

function showClientSecret(name, { clientId, clientSecret }, overlap) {
  const old = overlap === "0s" ? "The old secret is refused from now on." : `The old secret keeps working for ${OVERLAPS.find(([value]) => value === overlap)[1]}.`;
  return showSecret({ title: `The new secret of ${name}`, detail: `Enter it where the old one is used, and keep it safe. It is shown only now. ${old}`, parts: [["Client id", clientId], ["Secret", clientSecret]] });
}

/** Asks whether to replace the secret; resolves with the lifetime of the old one, or false for no. */
async function askOverlap(name) {
  let overlap = OVERLAPS[0][0];
  const hint = h("p", { id: "overlap-detail" });
  const show = () => (hint.textContent = overlap === "0s" ? "The tills that use the old secret are refused from now on, until they have the new one." : "Give the tills the new secret within that time. After that, those that still use the old one are refused.");
  const overlaps = choice("Old secret keeps working for", OVERLAPS, overlap, (chosen) => ((overlap = chosen), show()));
  show();
  const dialog = h(
    "dialog",
    { class: "small", "aria-labelledby": "overlap-title", "aria-describedby": "overlap-detail" },
    h("h2", { id: "overlap-title", dir: "auto" }, `Give ${name} a new secret?`),
    h("div", { class: "overlap" }, overlaps),
    hint,
    h(
      "div",
      { class: "actions" },
      button("Cancel", { class: "plain", autofocus: true, onclick: () => dialog.close("") }),
      button("New secret", { class: "danger", onclick: () => dialog.close("yes") }),
    ),
  );
  return (await openDialog(dialog)) === "yes" && overlap;
}

/** Changes the roles of a client. */
export async function changeRoles(desk, client) {
  try {
    const [{ body, etag }, roles] = await Promise.all([desk.host.client(client), desk.host.roles()]);
    const named = (list) => (list.length === 0 ? "No role" : list.map(({ roleId }) => roleText(roleId)).join(", "));
    await edit({
      title: `The roles of ${clientName(client)}`,
      fields: roleFields(roles, body.roles),
      etag,
      base: body.roles,
      save: (chosen, version) => desk.host.setRoles(client, chosen, version),
      latest: async () => {
        const latest = await desk.host.client(client);
        return { body: latest.body.roles, etag: latest.etag };
      },
      lastBy: async () => storedBy((await desk.host.client(client)).body),
      isSaved: (stored, chosen) => sorted(stored) === sorted(chosen),
      describe: named,
      explain,
      saved: "Saved. Its new roles are in force.",
    });
  } catch (error) {
    notify(explain(error));
  }
  desk.reread();
}

const sorted = (roles) => roles.map(({ roleId }) => roleId).sort().join(" ");
