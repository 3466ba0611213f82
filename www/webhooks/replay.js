/**
 * Sending all deliveries that a filter finds again: the choice of which, and how far it has come.
 */

import { button, choice, h, notify, openDialog } from "../shared/dom.js";
import { icon } from "../shared/icon.js";
import { settled } from "../shared/lost.js";
import { asked } from "./deliveries.js";
import { deliveriesText, explain, filterText } from "./wording.js";

const FIRST_MS = 200;
const LAST_MS = 2000;

/** Asks which of the deliveries to send again, and begins. */
export async function replayThose(desk, replays, filter) {
  let status = filter.status ?? "FAILED";
  const sentence = h("p", { id: "replay-detail" });
  const show = () => {
    sentence.textContent = `${filterText({ ...filter, status: status || undefined }, desk.name)}: each is sent again. Receivers that have it already get it twice, with the same event id.`;
  };
  const which = choice("Which ones", [["FAILED", "Only those that failed"], ["", "All of them"]], status, (chosen) => ((status = chosen), show()));
  const dialog = h(
    "dialog",
    { class: "small", "aria-labelledby": "replay-title", "aria-describedby": "replay-detail" },
    h("h2", { id: "replay-title" }, "Send these again?"),
    sentence,
    h(
      "div",
      { class: "stack" },
      filter.status === undefined && which,
      h("div", { class: "actions" }, button("Cancel", { class: "plain", autofocus: true, onclick: () => dialog.close("") }), button("Send again", { class: "primary", onclick: () => dialog.close("yes") })),
    ),
  );
  show();
  if ((await openDialog(dialog)) !== "yes") return;
  const wanted = { ...filter, status: status || undefined };
  try {
    const advice = "The list of deliveries is read again and shows what was. Receivers that get it twice get it with the same event id.";
    const { answer } = await settled(() => desk.host.replayAll(asked(wanted)), { whether: "these are being sent again", advice });
    if (answer === undefined) replays.reread();
    else replays.track(answer, filterText(wanted, desk.name));
  } catch (error) {
    notify(explain(error));
  }
}

/** The replays that were begun here; `track` follows one to its end, and then calls `ondone`, as `reread` does. */
export function replayList(desk, ondone) {
  const list = h("ul", { class: "progress-list" });
  const status = h("p", { class: "visually-hidden", role: "status" });
  const element = h("div", { hidden: true }, list, status);

  async function track(id, title) {
    const text = h("span", { class: "hint" }, "Beginning…");
    const spinner = h("i", { class: "spinner", "aria-hidden": "true" });
    const close = button("Dismiss", { image: "close", iconOnly: true, class: "plain", onclick: () => (line.remove(), hide()) });
    const line = h("li", {}, h("b", {}, title), text, close);
    text.prepend(spinner);
    list.prepend(line);
    element.hidden = false;
    for (let pause = FIRST_MS; line.isConnected; pause = Math.min(LAST_MS, pause * 1.4)) {
      const replay = await desk.host.replayProgress(id).catch((error) => error);
      const isOver = replay.state === "DONE" || replay.code === "not_found" || replay.code === "denied";
      const sentence = replay instanceof Error ? explain(replay) : progressText(replay);
      text.replaceChildren(isOver ? icon(replay instanceof Error ? "alert" : "check") : spinner, sentence);
      line.classList.toggle("done", isOver);
      if (isOver) {
        status.textContent = `${title}: ${sentence}`;
        break;
      }
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
    reread();
  }

  /** Reads the deliveries again, those that are settled too. */
  function reread() {
    ondone();
    desk.reread();
  }

  function hide() {
    element.hidden = list.childElementCount === 0;
  }

  return { element, track, reread };
}

function progressText({ state, examined, replayed }) {
  return state === "DONE" ? `Done: ${deliveriesText(replayed)} sent again, of ${examined.toLocaleString("en")} looked at.` : `${deliveriesText(replayed)} sent again, ${examined.toLocaleString("en")} looked at so far.`;
}
