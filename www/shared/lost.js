/**
 * Writes whose answer was lost (`Session.send`): they may have taken effect or not. The page reads again to find out; until
 * then, it says that this is unknown.
 */

import { withTimeout } from "../../js/src/shared/deadline.js";
import { button, h, notify, openDialog } from "./dom.js";

/** The longest time for a reading. */
const READ_MS = 10_000;

/** The pause before a second look: the host may still be busy, and another host may lag. */
const PAUSE_MS = 1500;

const UNREADABLE = "The host’s answer was lost, and the page cannot check right now.";

/** True if a write took effect: `look` reads this, and fails if it cannot. */
export async function tookEffect(look) {
  if (await withTimeout(look(), READ_MS)) return true;
  await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  return withTimeout(look(), READ_MS);
}

/** Says that the answer was lost, and that the page checks the effect. */
export const lookingText = (whether) => `The host’s answer was lost, so it is not known yet whether ${whether}. Checking…`;

/** Says what the page found. */
export const foundText = (sentence) => `${sentence} The host’s answer was lost, so the page checked.`;

/** The heading and the sentence if it stays unknown; `advice` says what to do if the page cannot check. */
export const unknownTexts = (whether, advice) => [`It is not known whether ${whether}`, advice ? `The host’s answer was lost. ${advice}` : UNREADABLE];

/**
 * Runs a write without a form: `{ isDone, answer, isLost }`. If its answer is lost, the page says so and what `look` finds;
 * `isDone` is undefined if it stays unknown. `whether` is the clause for its effect, `yes` and `no` are the sentences for the
 * result; if nothing can be read, there is `advice` instead.
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

/** Tells something that must be read; returns true if the user chose the offer, if any. */
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
