/**
 * The sign-in form: the credentials of a client, or a token. Both are kept in memory only.
 */

import { button, choice, field, h } from "./dom.js";
import { icon } from "./icon.js";
import { Session } from "./session.js";

/** How long to wait before the host is said to be unavailable, and before it is asked again. */
const LATE_MS = 3000;
const AGAIN_MS = 1500;

const UNAVAILABLE = "The host cannot be reached. You will be signed in as soon as it answers.";

const INTRODUCTION =
  "See what the till will decide before it does. Try a customer, an item or a whole basket. Change a rule and watch the decision change as you type.";

/**
 * The view. `signIn` gets the session, once the module is `ready`; `reason` says why the user has to sign in again. While
 * the host is unavailable, signing in goes on until it answers.
 */
export function signInView({ signIn, ready, reason }) {
  const credentials = credentialFields();
  const message = h("p", { class: "message", role: "alert" });
  const submit = button("Sign in", { type: "submit", class: "primary" });
  const stop = button("Stop", { class: "plain", hidden: true, onclick: () => (isStopped = true, stop.hidden = true, showError()) });
  let isStopped;

  const showError = (sentence) => {
    message.replaceChildren(...(sentence ? [icon("alert"), sentence] : []));
  };
  if (reason) showError(reason);

  const showUnavailable = () => {
    if (isStopped) return;
    showError(UNAVAILABLE);
    stop.hidden = false;
  };

  const onsubmit = async (event) => {
    event.preventDefault();
    showError();
    isStopped = false;
    submit.disabled = true;
    submit.replaceChildren("Signing in…");
    try {
      const session = await openSession(credentials.value(), { isStopped: () => isStopped, onunavailable: showUnavailable });
      await ready;
      if (session && !isStopped) signIn(session);
    } catch (error) {
      showError(refusalText(error, credentials.method()));
    } finally {
      stop.hidden = true;
      submit.disabled = false;
      submit.replaceChildren("Sign in");
    }
  };

  return h(
    "div",
    { class: "signin" },
    h("div", { class: "signin-intro" }, h("h1", { tabindex: "-1" }, "May this be sold?"), h("p", {}, INTRODUCTION)),
    h(
      "form",
      { class: "card stack", onsubmit, novalidate: false },
      h("h2", {}, "Sign in"),
      credentials.elements,
      message,
      h("div", { class: "actions" }, stop, submit),
      h("p", { class: "hint" }, "Credentials are kept in this page’s memory only. Closing or reloading the page signs you out."),
    ),
  );
}

/** The choice between a client and a token, and the fields of what is chosen. */
function credentialFields() {
  const clientId = h("input", { name: "username", autocomplete: "username", spellcheck: "false", required: true });
  const clientSecret = h("input", { name: "password", type: "password", autocomplete: "current-password", required: true });
  const token = h("textarea", { rows: 4, spellcheck: "false", autocomplete: "off", required: true });
  const withClient = h("div", { class: "stack" }, field("Client id", clientId), field("Secret", clientSecret));
  const withToken = h("div", { class: "stack", hidden: true }, field("Access token", token));
  let method = "client";
  const choose = (chosen) => {
    method = chosen;
    withClient.hidden = method !== "client";
    withToken.hidden = method !== "token";
    for (const input of [clientId, clientSecret]) input.disabled = method !== "client";
    token.disabled = method !== "token";
  };
  choose(method);
  return {
    elements: [choice("Method", [["client", "Client and secret"], ["token", "Token"]], method, choose), withClient, withToken],
    method: () => method,
    value: () =>
      method === "client"
        ? { clientId: clientId.value.trim(), clientSecret: clientSecret.value.trim() }
        : { token: token.value.trim().replace(/^Bearer /i, "") },
  };
}

/** Opens a session, and tries again while the host is unavailable; undefined when the user has stopped it. */
async function openSession(credentials, { isStopped, onunavailable }) {
  while (!isStopped()) {
    const late = setTimeout(onunavailable, LATE_MS);
    try {
      const session = await Session.open(credentials);
      if (!isStopped()) return session;
      session.close();
    } catch (error) {
      if (error.code !== "unavailable") throw error;
      onunavailable();
      await new Promise((resolve) => setTimeout(resolve, error.retryAfterMs ?? AGAIN_MS));
    } finally {
      clearTimeout(late);
    }
  }
  return undefined;
}

function refusalText(error, method) {
  switch (error.code) {
    // What is typed is empty but for white space.
    case "invalid":
    case "unauthenticated":
      return method === "client"
        ? "The client id or the secret is wrong, or the client is not authorized."
        : "The host does not accept this token. It may have expired.";
    case "denied":
      return "This client may see neither rules, rates nor webhooks. It needs the role ecs.viewer or ecs.editor for rules, exr.viewer or exr.editor for rates, exe.viewer or exe.editor for webhooks.";
    default:
      return error.message;
  }
}
