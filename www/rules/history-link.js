/**
 * The ways to the history of a rule, which is loaded on demand: from a list, whose address then names the rule, from a form,
 * and from the message about its deletion.
 */

import { button, h, notify } from "../shared/dom.js";
import { icon } from "../shared/icon.js";
import { whoOf } from "../shared/reason.js";
import { exactText } from "../shared/time.js";

/** The address of a history in a list: `#/conditions/history/beer`. */
const hrefOf = (list, args) => `#/${[list, "history", ...args].map(encodeURIComponent).join("/")}`;

/** The author of a rule's last change, as an element. */
export async function lastBy(session, path) {
  const { items } = await (await session.request(`${path}/history?limit=1`)).json();
  return whoOf(items[0].by);
}

/** The link of a row. `args` name the rule. */
export const historyLink = (list, args, name) => h("a", { class: "button plain", href: hrefOf(list, args), title: "History", "aria-label": `History of ${name}` }, icon("clock"));

/** The end of the message about a deleted rule. */
export const historyOfDeleted = (list, args) => h("a", { href: hrefOf(list, args) }, "See its history");

/** The button of a form, which fills it with the chosen version. */
export const historyButton = (session, subject, restore) => {
  const onclick = async () => {
    const found = await show(session, subject);
    if (found?.chosen) restore(found.chosen.document);
  };
  return button("History", { image: "clock", class: "plain history-button", onclick });
};

/** The origin of a restored version, for its form. */
export const restoredText = ({ at }) => `This is an earlier version, of ${exactText(at)}. It is not in force until you save it.`;

/**
 * The view of a list. Its address may name a rule whose history is shown, or the list of deleted ones: `rest` of it is
 * `["history", ...args]` or `["deleted"]`. `subjectOf` turns the arguments into those of `openHistory`, with `restore`, which
 * gets the chosen version, and `deleted` returns those of `openDeleted`.
 */
export function withHistory(view, { session, list, rest, subjectOf, deleted }) {
  let leaving;
  async function navigate([what, ...args], query) {
    leaving?.abort();
    const isHistory = what === "history" && Boolean(args[0]);
    if (!isHistory && what !== "deleted") return view.seek(query);
    const address = location.hash;
    const { signal } = (leaving = new AbortController());
    const subject = isHistory && subjectOf(...args);
    const found = isHistory ? await show(session, subject, signal) : await showDeleted(session, { ...deleted(), hrefOf: (given) => hrefOf(list, given) }, signal);
    // Not if the address has changed already, nor if the user comes back after signing in again.
    if (location.hash === address && !found?.isKept) history.replaceState(history.state, "", view.address());
    if (found?.chosen) subject.restore(found.chosen);
  }
  navigate(rest);
  return { ...view, navigate };
}

async function showDeleted(session, deleted, signal) {
  try {
    const { openDeleted } = await import("./deleted-rules.js");
    if (!signal.aborted) return await openDeleted(session, deleted, signal);
  } catch {
    notify("The host cannot be reached, so the deleted ones cannot be listed. Try again in a moment.");
  }
  return undefined;
}

async function show(session, subject, signal) {
  try {
    const { openHistory } = await import("./rule-history.js");
    if (!signal?.aborted) return await openHistory(session, subject, signal);
  } catch {
    notify("The host cannot be reached, so the history cannot be loaded. Try again in a moment.");
  }
  return undefined;
}
