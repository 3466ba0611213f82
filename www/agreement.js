/**
 * The badge: the host is asked in the background and must decide the same, with the same module. What the page shows was
 * decided here before the host was asked.
 */

import { sha256 } from "../js/src/browser.js";
import { h, icon, paused } from "./dom.js";

const PAUSE_MS = 250;

/** The badge. `ask` takes what was asked here and answered here; `draft` says that the host cannot know. */
export function agreement(session) {
  const text = h("span", {});
  const digest = h("code", {});
  const element = h("p", { class: "agreement", "aria-live": "off", "data-state": "asking" }, text, digest);
  let asking;

  const say = (state, image, sentence, engine) => {
    element.dataset.state = state;
    // Agreement goes without saying; at each keystroke it would be a nuisance.
    element.setAttribute("aria-live", state === "differs" ? "polite" : "off");
    text.replaceChildren(image ? icon(image) : h("i", { class: "spinner" }), sentence);
    digest.textContent = engine ? `module ${engine.slice(0, 8)}` : "";
    digest.title = engine ? `SHA-256 of the module: ${engine}` : "";
  };

  const compare = async (call, question, here, asked) => {
    if (asked.signal.aborted) return;
    let there;
    try {
      const { decision, engine } = await session.host[call](...question, { signal: asked.signal });
      there = { answer: JSON.stringify(decision), engine };
    } catch (error) {
      if (asked.signal.aborted) return;
      if (error.code !== "invalid" && error.code !== "not_found") return say("silent", "alert", silence(error));
      there = { answer: refusal(error), engine: error.engine };
    }
    if (asked.signal.aborted) return;
    if (there.answer !== here) say("differs", "alert", "The host decided otherwise", there.engine);
    else if (there.engine !== sha256) say("differs", "alert", "The host agrees, with another module. Reload this page", there.engine);
    else say("agrees", "check", "The host decided the same", there.engine);
  };
  const later = paused(PAUSE_MS, compare);

  return {
    element,
    /** `answer` is a decision, or the error that there is none. */
    ask(call, question, answer) {
      asking?.abort();
      asking = new AbortController();
      say("asking", undefined, "Asking the host…");
      later(call, question, answer instanceof Error ? refusal(answer) : JSON.stringify(answer), asking);
    },
    draft() {
      asking?.abort();
      say("draft", "draft", "A draft, decided here", sha256);
    },
  };
}

/** Errors agree when they have the same code and the same first fault. */
const refusal = ({ code, path, message }) => JSON.stringify({ code, path, message });

const silence = ({ code }) =>
  code === "denied" ? "The host was not asked: your client may not evaluate" : "The host cannot be reached; decided here";
