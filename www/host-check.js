/**
 * The badge that compares the page with the host. The page decides first; the host is then asked in the background and
 * must make the same decision with the same module.
 */

import { sha256 } from "../js/src/browser.js";
import { debounce, h, icon } from "./dom.js";

const DELAY_MS = 250;

/** The badge. `compare` checks a decision with the host, `draft` shows that the host does not know the rule yet. */
export function hostCheck(session) {
  const text = h("span", {});
  const digest = h("code", {});
  const element = h("p", { class: "host-check", "aria-live": "off", "data-state": "checking" }, text, digest);
  let checking;

  const show = (state, image, sentence, engine) => {
    element.dataset.state = state;
    // Only a difference is announced: agreement after each keystroke would be a nuisance.
    element.setAttribute("aria-live", state === "differs" ? "polite" : "off");
    text.replaceChildren(image ? icon(image) : h("i", { class: "spinner" }), sentence);
    digest.textContent = engine ? `module ${engine.slice(0, 8)}` : "";
    digest.title = engine ? `SHA-256 of the module: ${engine}` : "";
  };

  const ask = async (call, request, expected, { signal }) => {
    if (signal.aborted) return;
    let answer;
    try {
      const { decision, engine } = await session.host[call](...request, { signal });
      answer = { text: JSON.stringify(decision), engine };
    } catch (error) {
      if (signal.aborted) return;
      if (error.code !== "invalid" && error.code !== "not_found") return show("unchecked", "alert", uncheckedText(error));
      answer = { text: errorKey(error), engine: error.engine };
    }
    if (signal.aborted) return;
    if (answer.text !== expected) show("differs", "alert", "The host made a different decision", answer.engine);
    else if (answer.engine !== sha256) show("differs", "alert", "The host agrees, but runs another module. Reload this page", answer.engine);
    else show("agrees", "check", "The host made the same decision", answer.engine);
  };
  const askLater = debounce(DELAY_MS, ask);

  return {
    element,
    /** `answer` is the decision of the page, or its error. */
    compare(call, request, answer) {
      checking?.abort();
      checking = new AbortController();
      show("checking", undefined, "Checking with the host…");
      askLater(call, request, answer instanceof Error ? errorKey(answer) : JSON.stringify(answer), checking);
    },
    draft() {
      checking?.abort();
      show("draft", "draft", "Draft, decided in this page", sha256);
    },
  };
}

/** Errors agree when they have the same code and the same first fault. */
const errorKey = ({ code, path, message }) => JSON.stringify({ code, path, message });

const uncheckedText = ({ code }) =>
  code === "denied"
    ? "Not checked with the host: you may not evaluate there"
    : "The host cannot be reached. Decided in this page only";
