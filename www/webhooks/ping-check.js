/**
 * A ping with the settings of a form that is not saved yet: what the endpoint answered, how long it took, and what went
 * wrong.
 */

import { button, h } from "../shared/dom.js";
import { icon } from "../shared/icon.js";
import { answerText, detailText, explain, failureText, tookText } from "./wording.js";

/** The button and its result; `id` is that of the webhook, whose secrets are used where none are entered. */
export function pingCheck(desk, { fields, id }) {
  const result = h("div", { role: "status" });
  const ping = button("Ping before saving", { image: "send", onclick: () => run() });
  const element = h("div", { class: "ping-check" }, ping, result);

  let isRunning = false;

  async function run() {
    if (isRunning) return;
    isRunning = true;
    result.replaceChildren(h("p", { class: "hint" }, "Waiting for the answer…"));
    try {
      fields.check();
      fields.showFaults([]);
      result.replaceChildren(attemptResult(await desk.host.tryPing({ ...fields.value(), ...(id && { id }) })));
      result.firstChild.scrollIntoView({ block: "nearest" });
    } catch (error) {
      const isShown = error.code === "invalid" && fields.showFaults(error.faults);
      result.replaceChildren(h("p", { class: "message" }, icon("alert"), isShown ? "Nothing was sent. Correct what is marked first." : explain(error)));
    } finally {
      isRunning = false;
    }
  }

  return element;
}

function attemptResult(attempt) {
  const { delivered, status, durationMs, error, answer } = attempt;
  const text = delivered ? `It works: the endpoint answered ${answerText(status)}.` : failureText({ status, error: error ?? {} });
  return h(
    "div",
    { class: "ping-result", "data-tone": delivered ? "allow" : "deny" },
    h("p", {}, icon(delivered ? "check" : "alert"), h("span", {}, `${text} It took ${tookText(durationMs)}.`)),
    error && detailText(error) && h("p", { class: "hint" }, detailText(error)),
    answer && h("pre", { tabindex: "0", "aria-label": "The answer" }, answer),
  );
}
