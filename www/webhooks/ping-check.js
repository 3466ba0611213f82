/**
 * A ping with the settings of an unsaved form: the endpoint's answer, its time, and errors. A generated key is shown before
 * the ping, and is the one that is saved.
 */

import { button, h } from "../shared/dom.js";
import { icon } from "../shared/icon.js";
import { sharedKeyFields } from "./shared-key.js";
import { answerText, detailText, explain, failureText, tookText } from "./wording.js";

const KEY_FIRST = "Nothing was sent yet. Give this key to the receiver, so that it can check the ping, and ping again. Saving keeps the key.";

/** The button and its result; `id` is the webhook, whose secrets are used if none are entered. */
export function pingCheck(desk, { fields, id }) {
  const shownKey = h("div", {});
  const result = h("div", { role: "status" });
  const ping = button("Ping before saving", { image: "send", onclick: () => run() });
  const element = h("div", { class: "ping-check" }, shownKey, ping, result);

  let isRunning = false;
  let shown;

  async function run() {
    if (isRunning) return;
    isRunning = true;
    try {
      fields.check();
      fields.showFaults([]);
      if (isKnown(fields.makeKey())) await send();
    } catch (error) {
      const isShown = error.status === 400 && fields.showFaults(error.faults);
      result.replaceChildren(h("p", { class: "message" }, icon("alert"), isShown ? "Nothing was sent. Correct what is marked first." : explain(error)));
    } finally {
      isRunning = false;
    }
  }

  /** True if the user has seen the generated key, if any: a receiver that does not know it rejects the ping. */
  function isKnown(key) {
    if (key === shown) return true;
    shown = key;
    shownKey.replaceChildren(...(key === undefined ? [] : [keyPane(key)]));
    if (key === undefined) return true;
    result.replaceChildren(h("p", { class: "hint" }, KEY_FIRST));
    result.firstChild.scrollIntoView({ block: "nearest" });
    return false;
  }

  async function send() {
    const key = fields.madeKey();
    result.replaceChildren(h("p", { class: "hint" }, "Waiting for the answer…"));
    result.replaceChildren(attemptResult(await desk.host.tryPing({ ...fields.value(), ...(key && { sharedKey: key.sharedKey }), ...(id && { id }) })));
    result.firstChild.scrollIntoView({ block: "nearest" });
  }

  return element;
}

function keyPane(key) {
  const { fields, copyKey, copySecret } = sharedKeyFields(key, { label: "The key that the ping is signed with" });
  return h("div", { class: "stack tight" }, fields, h("div", { class: "inline" }, copyKey, copySecret));
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
