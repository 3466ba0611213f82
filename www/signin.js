/**
 * Signing in: a client's credentials, or a token that one has. Neither is kept anywhere but in memory.
 */

import { button, choice, field, h, icon } from "./dom.js";
import { Session } from "./session.js";

/** The sign-in view; `enter` gets the session. `why` says why one is here again. */
export function signin(enter, why) {
  const clientId = h("input", { name: "username", autocomplete: "username", spellcheck: "false", required: true });
  const clientSecret = h("input", { name: "password", type: "password", autocomplete: "current-password", required: true });
  const token = h("textarea", { rows: 4, spellcheck: "false", autocomplete: "off", required: true });
  const withClient = h("div", { class: "stack" }, field("Client id", clientId), field("Secret", clientSecret));
  const withToken = h("div", { class: "stack", hidden: true }, field("Access token", token));
  const message = h("p", { class: "message", role: "alert" });
  const submit = button("Sign in", { type: "submit", class: "primary" });

  let way = "client";
  const choose = (chosen) => {
    way = chosen;
    withClient.hidden = way !== "client";
    withToken.hidden = way !== "token";
    for (const input of [clientId, clientSecret]) input.disabled = way !== "client";
    token.disabled = way !== "token";
  };
  choose(way);

  const complain = (sentence) => {
    message.replaceChildren(...(sentence ? [icon("alert"), sentence] : []));
  };
  if (why) complain(why);

  const onsubmit = async (event) => {
    event.preventDefault();
    complain();
    submit.disabled = true;
    submit.replaceChildren("Signing in…");
    try {
      const given =
        way === "client"
          ? { clientId: clientId.value.trim(), clientSecret: clientSecret.value.trim() }
          : { token: token.value.trim().replace(/^Bearer /i, "") };
      enter(await Session.open(given));
    } catch (error) {
      complain(refusal(error, way));
    } finally {
      submit.disabled = false;
      submit.replaceChildren("Sign in");
    }
  };

  return h(
    "div",
    { class: "signin" },
    h(
      "div",
      { class: "signin-words" },
      h("h1", { tabindex: "-1" }, "May this be sold?"),
      h(
        "p",
        {},
        "See what the till will decide before it does. Try a customer, an item, a whole basket; change a rule and watch the decision change as you type.",
      ),
    ),
    h(
      "form",
      { class: "card stack", onsubmit, novalidate: false },
      h("h2", {}, "Sign in"),
      choice("With", [["client", "Client and secret"], ["token", "Token"]], way, choose),
      withClient,
      withToken,
      message,
      submit,
      h("p", { class: "hint" }, "Kept in this page’s memory only. Closing or reloading it signs you out."),
    ),
  );
}

function refusal(error, way) {
  switch (error.code) {
    case "unauthenticated":
      return way === "client"
        ? "The client id or the secret is not right, or the client is not authorized."
        : "The host does not take this token. It may have expired.";
    case "denied":
      return "This client may not read conditions and projects. It needs the role ecs.viewer or ecs.editor.";
    case "unavailable":
      return "The host cannot be reached right now. Try again in a moment.";
    default:
      return error.message;
  }
}
