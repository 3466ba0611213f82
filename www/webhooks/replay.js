/**
 * Sends all deliveries of a filter again: the choice, their number, and the progress.
 */

import { button, choice, h, notify, openDialog } from "../shared/dom.js";
import { icon } from "../shared/icon.js";
import { figure } from "../shared/locale.js";
import { settled } from "../shared/lost.js";
import { asked, isUnsettled } from "./deliveries.js";
import { deliveriesText, explain, filterText } from "./wording.js";

const FIRST_MS = 200;
const LAST_MS = 2000;

/** The deliveries counted per page, and the most pages. */
const PAGE = 200;
const MAX_PAGES = 20;

const TWICE = "Receivers that have it already get it twice, with the same event id.";
const NONE = "none can be sent again. Waiting ones are sent anyway, and nothing is sent to a webhook that is switched off or deleted.";

const isOn = (desk, webhookId) => desk.find(webhookId)?.enabled === true;

/** True if a delivery can be sent again with others: it has arrived or failed, and its webhook is switched on. */
const isReplayable = (desk, delivery) => !isUnsettled(delivery) && isOn(desk, delivery.webhookId);

/** True if any delivery of a filter can be sent again: a shown one, or an older one. */
export function mayReplay(desk, filter, { shown, hasOlder }) {
  const mayFind = !isUnsettled(filter) && (filter.webhookId === undefined || isOn(desk, filter.webhookId));
  return shown.some((delivery) => isReplayable(desk, delivery)) || (hasOlder && mayFind);
}

/**
 * The number of deliveries of a filter that can be sent again, as far as counted: `{ count, isMore }`; stops once it is not
 * wanted.
 */
async function countOf(desk, filter, isWanted) {
  let count = 0;
  let cursor;
  for (let page = 0; page < MAX_PAGES && isWanted(); page += 1) {
    const { items, next } = await desk.host.deliveries(asked(filter), { limit: PAGE, cursor });
    count += items.filter((delivery) => isReplayable(desk, delivery)).length;
    if (next === undefined) return { count, isMore: false };
    cursor = next;
  }
  return { count, isMore: true };
}

function countedText({ count, isMore }) {
  if (count === 0) return isMore ? `each that has arrived or failed is sent again. ${TWICE}` : NONE;
  return `${isMore ? "at least " : ""}${deliveriesText(count)} ${count === 1 ? "is" : "are"} sent again. ${TWICE}`;
}

/** Asks which of the deliveries to send again, says how many there are, and starts. */
export async function replayThose(desk, replays, filter) {
  let status = filter.status ?? "FAILED";
  let turns = 0;
  const sentence = h("p", { id: "replay-detail", role: "status" });
  const send = button("Send again", { class: "primary", onclick: () => dialog.close("yes") });
  const show = async () => {
    const turn = (turns += 1);
    const wanted = { ...filter, status: status || undefined };
    const say = (text) => (sentence.textContent = `${filterText(wanted, desk.name)}: ${text}`);
    send.disabled = true;
    say("counting…");
    const found = await countOf(desk, wanted, () => turn === turns).catch(() => ({ count: 0, isMore: true }));
    if (turn !== turns) return;
    send.disabled = found.count === 0 && !found.isMore;
    say(countedText(found));
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
      h("div", { class: "actions" }, button("Cancel", { class: "plain", autofocus: true, onclick: () => dialog.close("") }), send),
    ),
  );
  show();
  const isMeant = (await openDialog(dialog)) === "yes";
  turns += 1;
  if (!isMeant) return;
  const wanted = { ...filter, status: status || undefined };
  try {
    const advice = "The list of deliveries is read again and shows which were. Receivers that get one twice get it with the same event id.";
    const { answer } = await settled(() => desk.host.replayAll(asked(wanted)), { whether: "these are being sent again", advice });
    if (answer === undefined) replays.reread();
    else replays.track(answer, filterText(wanted, desk.name));
  } catch (error) {
    notify(explain(error));
  }
}

/** The replays started here; `track` follows one to its end, and then calls `ondone`, as `reread` does. */
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
      const isOver = replay.state === "DONE" || replay.status === 404 || replay.status === 403;
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

  /** Reads the deliveries again, including settled ones. */
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
  return state === "DONE" ? `Done: ${deliveriesText(replayed)} sent again, of ${figure(examined)} looked at.` : `${deliveriesText(replayed)} sent again, ${figure(examined)} looked at so far.`;
}
