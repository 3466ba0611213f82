/**
 * Deletes something after asking. A user deletes only the version that they have seen.
 */

import { confirmed, notify } from "./dom.js";
import { isolated } from "./locale.js";
import { settled } from "./lost.js";
import { errorText } from "./messages.js";
import { storedBy } from "./reason.js";

/**
 * Asks, and returns true if it was deleted. `read` reads it with its version, `remove` deletes a version, `detail` is the
 * consequence, or makes that sentence from what was read, and `explain` puts an error into words. `more` makes the end of the
 * message about the deletion. If reasons are kept, `reason` is the field, which `remove` gets after the version; `lastBy`
 * reads the last author, if the stored version does not name them.
 */
export async function removeAfterAsking({ name: given, detail, read, remove, more, reason, lastBy = async () => storedBy((await read()).body), explain = errorText }) {
  const name = isolated(given);
  try {
    const { body, etag } = await read();
    const effect = typeof detail === "function" ? detail(body) : detail;
    if (!(await confirmed(`Delete ${name}?`, effect, "Delete", reason))) return false;
    const [yes, no] = [`${name} was deleted.`, `${name} was not deleted.`];
    const { isDone, isLost } = await settled(() => remove(etag, reason?.read()), { whether: `${name} was deleted`, yes, no, look: () => isGone(read) });
    if (!isLost) notify(more ? [`${yes} `, more()] : yes);
    return isDone === true;
  } catch (error) {
    notify(error.status === 412 ? ["It was not deleted, because ", (await lastBy().catch(() => undefined)) ?? "another user", " has just changed it. Check it again."] : explain(error));
    return false;
  }
}

async function isGone(read) {
  try {
    await read();
    return false;
  } catch (error) {
    if (error.status === 404) return true;
    throw error;
  }
}
