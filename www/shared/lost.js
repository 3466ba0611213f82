/**
 * Writes whose answer was lost (`Session.send`): they may have taken effect or not. What is stored is read again, which tells;
 * until it does, the page says that it is not known.
 */

import { withTimeout } from "../../js/src/shared/deadline.js";
import { button, h, notify, openDialog } from "./dom.js";

/** How long a reading may take. */
const READ_MS = 10_000;

/** The pause before what has not taken effect is looked at once more: the host may still be at it, and another be behind. */
const PAUSE_MS = 1500;

const UNREADABLE = "The host’s answer was lost, and it cannot be read again right now.";

/** Whether a write took effect: `look` reads that, and fails when it cannot be read. */
export async function tookEffect(look) {
  if (await withTimeout(look(), READ_MS)) return true;
  await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  return withTimeout(look(), READ_MS);
}

/** That the answer was lost, and that it is looked whether something is so. */
export const lookingText = (whether) => `The host’s answer was lost, so it is not known yet whether ${whether}. Looking…`;

/** What was found then. */
export const foundText = (sentence) => `${sentence} The host’s answer was lost, so the page has looked.`;

/** The heading and the sentence for what stays unknown; `advice` says what to do where it cannot be looked at again. */
export const unknownTexts = (whether, advice) => [`It is not known whether ${whether}`, advice ? `The host’s answer was lost. ${advice}` : UNREADABLE];

/**
 * Runs a write that has no form: `{ isDone, answer, isLost }`. When its answer is lost, it says so and what `look` finds;
 * `isDone` is undefined when it stays unknown. `whether` is the clause of what it does, `yes` and `no` are the
 * sentences for what was found; where nothing can be read that would tell, there is `advice` instead.
 */
export async function settled(write, lost) {
  try {
    return { isDone: true, answer: await write() };
  } catch (error) {
    if (error.code !== "lost") throw error;
    return { isDone: await outcome(lost), isLost: true };
  }
}

async function outcome({ whether, yes, no, look, advice }) {
  const [title, detail] = unknownTexts(whether, advice);
  if (look) notify(lookingText(whether));
  while (look) {
    try {
      const isDone = await tookEffect(look);
      notify(foundText(isDone ? yes : no));
      return isDone;
    } catch {
      if (!(await tell(title, detail, "Look again"))) return undefined;
    }
  }
  await tell(title, detail);
  return undefined;
}

/** Tells something that must not pass unread; returns whether the user chose what is offered, if anything. */
export async function tell(title, detail, offer) {
  const close = button("Close", { class: "plain", autofocus: true, onclick: () => dialog.close("") });
  const offered = offer && button(offer, { class: "primary", onclick: () => dialog.close("yes") });
  const dialog = h(
    "dialog",
    { class: "small", "aria-labelledby": "tell-title", "aria-describedby": "tell-detail" },
    h("h2", { id: "tell-title", dir: "auto" }, title),
    h("p", { id: "tell-detail" }, detail),
    h("div", { class: "actions" }, close, offered),
  );
  return (await openDialog(dialog)) === "yes";
}
