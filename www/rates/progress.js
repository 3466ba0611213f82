/**
 * The progress of changes. A change above the shops is in force at once and reaches them one after another.
 */

import { button, h } from "../shared/dom.js";
import { figure } from "../shared/locale.js";
import { counted } from "../shared/messages.js";
import { doneText } from "./wording.js";

const FIRST_MS = 150;
const LAST_MS = 2000;

/** The most changes shown. */
const MAX_SHOWN = 4;

/** The changes; `track` adds one, `close` stops asking. `ondone` is called when one has reached every shop. */
export function progressList(host, ondone) {
  const list = h("ul", { class: "progress-list" });
  const status = h("p", { class: "visually-hidden", role: "status" });
  const element = h("div", {}, list, status);
  let isClosed = false;

  async function track(correlationId, title) {
    const line = progressLine(title, () => line.element.remove());
    for (let pause = FIRST_MS; !isClosed; pause = Math.min(LAST_MS, pause * 1.4)) {
      const change = await host.progress(correlationId).catch((error) => error);
      if (change.status === 404 || isClosed) break;
      const isDone = change.state === "DONE";
      const isSmall = isDone && !line.element.isConnected && Number(change.businessUnits.total) <= 1;
      if (isSmall) break;
      if (change instanceof Error) line.fail();
      else line.show(change, isDone);
      if (!line.element.isConnected && !line.isDismissed()) add(line.element);
      if (isDone) {
        status.textContent = `${title}: ${line.text()}`;
        break;
      }
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
    if (!isClosed) ondone();
  }

  function add(line) {
    list.prepend(line);
    for (const old of [...list.children].slice(MAX_SHOWN)) old.remove();
  }

  return {
    element,
    track,
    close() {
      isClosed = true;
    },
  };
}

function progressLine(title, onclose) {
  const bar = h("progress", { "aria-label": title });
  const text = h("span", { class: "hint" }, "Counting the shops…");
  let isDismissed = false;
  const close = button("Dismiss", { image: "close", iconOnly: true, class: "plain", onclick: () => ((isDismissed = true), onclose()) });
  const element = h("li", {}, h("b", {}, title), bar, text, close);
  return {
    element,
    isDismissed: () => isDismissed,
    text: () => text.textContent,
    show({ businessUnits: { total, done, published }, failed = [] }, isDone) {
      if (total !== null) {
        bar.max = Math.max(1, Number(total));
        bar.value = isDone ? bar.max : Number(done);
      }
      element.classList.toggle("done", isDone);
      if (isDone) text.textContent = doneText(Number(total ?? done), Number(published), failed);
      else if (total !== null) text.textContent = `${figure(Number(done))} of ${counted(Number(total), "shop")}, sent to ${figure(Number(published))} so far`;
    },
    fail() {
      text.textContent = "The host cannot be reached right now.";
    },
  };
}
