/**
 * The badge that compares the page with the host. The page decides first; then it asks the host in the background, which must
 * make the same decision with the same module. If the host cannot be reached, the page asks again.
 */

import { sha256 } from "../../js/src/index.js";
import { debounce, h } from "../shared/dom.js";
import { icon } from "../shared/icon.js";
import { missingPermission } from "../shared/messages.js";

const DELAY_MS = 250;
const RETRY_MS = 3000;

/** With one of these permissions a user may ask for a decision; the second one suffices for projects. */
const EVALUATE = "ecs.condition.evaluate";
const PERMISSIONS = { evaluateProjectRestrictions: [EVALUATE, "ecs.project-restriction.evaluate"] };

/**
 * The badge. `compare` checks a decision with the host, `draft` shows that the host does not know the rule yet, and `close`
 * stops asking.
 */
export function hostCheck(session) {
  const { element, show } = badge();
  let checking;
  let again;
  let retry;

  const ask = async (call, request, expected, { signal }) => {
    if (signal.aborted) return;
    let answer;
    try {
      const { decision, engine } = await session.host[call](...request, { signal });
      answer = { text: JSON.stringify(decision), engine };
    } catch (error) {
      if (signal.aborted) return;
      if (error.status !== 400 && error.status !== 404) return showUnchecked(error);
      answer = { text: errorKey(error), engine: error.engine };
    }
    if (!signal.aborted) show(...comparison(answer, expected));
  };
  const askLater = debounce(DELAY_MS, ask);

  const showUnchecked = (error) => {
    // The session has ended, as the whole page shows.
    if (error.code === "unauthenticated") return session.learn(error);
    if (error.status === 403) {
      session.learn(error);
      return showDenied(missingPermission(error) ?? EVALUATE);
    }
    show("unchecked", "alert", "The host cannot be reached. Decided in this page only");
    retry = setTimeout(() => again?.(), error.retryAfterMs ?? RETRY_MS);
  };

  const showDenied = (permission) => show("unchecked", "lock", `Not checked with the host: it needs the permission ${permission}`);

  const stop = () => {
    checking?.abort();
    clearTimeout(retry);
    again = undefined;
  };

  const unlisten = session.on("state", () => {
    if (session.state === "READY" && element.dataset.state === "unchecked") again?.();
  });

  return {
    element,
    /** `answer` is the page's decision or error. */
    compare(call, request, answer) {
      stop();
      const may = PERMISSIONS[call] ?? [EVALUATE];
      if (!may.some((permission) => session.may(permission))) return showDenied(EVALUATE);
      const expected = answer instanceof Error ? errorKey(answer) : JSON.stringify(answer);
      again = () => {
        clearTimeout(retry);
        checking?.abort();
        checking = new AbortController();
        askLater(call, request, expected, checking);
      };
      show("checking", undefined, "Checking with the host…");
      again();
    },
    draft() {
      stop();
      show("draft", "draft", "Draft, decided in this page", sha256);
    },
    close() {
      stop();
      unlisten();
    },
  };
}

/** The element, and a function that shows a state: an image, a sentence, and the digest of the module that decided. */
function badge() {
  const text = h("span", {});
  const digest = h("code", {});
  const element = h("p", { class: "host-check", "aria-live": "off", "data-state": "checking" }, text, digest);
  const show = (state, image, sentence, engine) => {
    element.dataset.state = state;
    // Only a difference is announced: agreement after each keystroke would be a nuisance.
    element.setAttribute("aria-live", state === "differs" ? "polite" : "off");
    text.replaceChildren(image ? icon(image) : h("i", { class: "spinner" }), sentence);
    digest.textContent = engine ? `by version ${engine.slice(0, 8)} of the rule program` : "";
    digest.title = engine ? `SHA-256 of the program that decides: ${engine}` : "";
  };
  return { element, show };
}

/** The badge's content for an answer of the host. */
function comparison({ text, engine }, expected) {
  if (text !== expected) return ["differs", "alert", "The host made a different decision", engine];
  if (engine !== sha256) return ["differs", "alert", "The host agrees, but runs another version. Reload this page", engine];
  return ["agrees", "check", "The host made the same decision", engine];
}

/** Errors agree when they have the same code and the same first fault. */
const errorKey = ({ code, path, message }) => JSON.stringify({ code, path, message });
