/**
 * The actions on a role that the platform defines: creating, changing and deleting it. The page first says what its holders
 * will no longer be able to do.
 */

import { TillgateError } from "../../js/src/index.js";
import { change, changeList, listChange } from "../shared/difference.js";
import { notify } from "../shared/dom.js";
import { edit } from "../shared/editor.js";
import { storedBy } from "../shared/reason.js";
import { removeAfterAsking } from "../shared/remove.js";
import { permissionFields } from "./permission-fields.js";
import { KNOWN, explain, permissionText } from "./wording.js";

const ID_FAULT = "Enter 1 to 64 letters, digits, . _ or -";
const TAKEN = "A role with this id exists already.";

export async function makeRole(desk) {
  const fields = permissionFields();
  const isMade = await edit({
    title: "New role",
    wide: true,
    fields,
    action: "Make it",
    saved: "The role was made. Clients and templates can have it now.",
    done: "made",
    async save(role) {
      if (role.roleId === "") throw refused(ID_FAULT);
      await desk.host.writeRole(role).catch((error) => {
        const isTaken = error.code === "already_exists" || error.code === "role_built_in";
        throw isTaken ? refused(TAKEN) : error.path === "$.roleId" ? refused(ID_FAULT) : error;
      });
    },
    latest: () => desk.host.role(fields.value()).catch(ignoreNotFound),
    isSaved: isSame,
    explain,
  });
  if (isMade) desk.reread();
}

const refused = (message) => new TillgateError({ code: "invalid", path: "$.roleId", message });

export async function changeRole(desk, role) {
  let question;
  try {
    const { body, etag } = await desk.host.role(role);
    await edit({
      title: `Change ${body.roleId}`,
      wide: true,
      fields: permissionFields(body),
      etag,
      base: body,
      review(changed, theirs = body) {
        const changes = [
          listChange("What it permits", theirs.permissions.map(permissionText), changed.permissions.map(permissionText)),
          // Changing by hand what a program manages takes it over.
          change("Managed by", theirs.managedBy, undefined),
        ].filter(Boolean);
        const lost = lostText(theirs.permissions.filter((permission) => !changed.permissions.includes(permission)));
        question = lost && ["Take this away from all who have the role?", lost, "Take it away"];
        return isSame(theirs, changed) ? "You have not changed anything." : changeList(changes);
      },
      confirm: () => question,
      save: (changed, version) => desk.host.writeRole(changed, version),
      latest: () => desk.host.role(role).catch(ignoreNotFound),
      lastBy: storedBy,
      isSaved: isSame,
      describe: ({ permissions }) => (permissions.length === 0 ? "Permits nothing." : `${permissions.map(permissionText).join("; ")}.`),
      explain,
      saved: "Saved. It is in force for all who have the role.",
    });
  } catch (error) {
    notify(explain(error));
  }
  desk.reread();
}

/** Deletes a role after asking. */
export async function removeRole(desk, role) {
  const detail = ({ permissions }) => {
    const effect = lostText(permissions) ?? "It permits nothing here, so nothing stops working.";
    return `${effect} Those that have it keep its id: a role that is made with the same id later is theirs again.`;
  };
  await removeAfterAsking({ name: role.roleId, detail, read: () => desk.host.role(role), remove: (etag) => desk.host.removeRole(role, etag), explain });
  desk.reread();
}

/** Says what stops working for the holders of a role; undefined if nothing does. */
function lostText(permissions) {
  const lost = permissions.filter((permission) => KNOWN.includes(permission)).map(permissionText);
  return lost.length > 0 ? `Clients and people that have it may no longer: ${lost.join("; ")}. That holds at once, unless another role of theirs permits it.` : undefined;
}

const isSame = (stored, role) => sorted(stored) === sorted(role);
const sorted = ({ permissions }) => permissions.toSorted().join(" ");

const ignoreNotFound = (error) => {
  if (error.status !== 404) throw error;
};
