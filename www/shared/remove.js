/**
 * Deleting something after asking. A user deletes only the version that they have seen.
 */

import { confirmed, notify } from "./dom.js";
import { isolated } from "./locale.js";
import { settled } from "./lost.js";
import { errorText } from "./messages.js";
import { storedBy } from "./reason.js";

/**
 * Asks, and returns whether it was deleted. `read` reads it with its version, `remove` deletes a version, `detail` says what
 * follows from that, or makes that sentence of what was read, and `explain` puts an error into words. `more` makes what the
 * message goes on with that it was deleted.
 * Where a reason is kept, `reason` is the field for it, which `remove` gets after the version; `lastBy` reads who has changed it,
 * where what is stored does not say.
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
