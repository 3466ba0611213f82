/**
 * The sign-in form: the identity provider, if there is one; the credentials of a client; or a token.
 */

import { button, choice, field, h } from "./dom.js";
import { icon } from "./icon.js";
import { providerSettings } from "./sign-in-trip.js";

/** How long to wait before the host counts as unavailable, and before it is asked again. */
const LATE_MS = 3000;
const AGAIN_MS = 1500;

const UNAVAILABLE = "The host cannot be reached. You will be signed in as soon as it answers.";

const INTRODUCTION =
  "See what the till will decide before it does. Try a customer, an item or a whole basket. Change a rule and watch the decision change as you type.";

/** The view: the purpose of the page, and the form. */
export const signInView = (options) =>
  h("div", { class: "signin" }, h("div", { class: "signin-intro" }, h("h1", { tabindex: "-1" }, "May this be sold?"), h("p", {}, INTRODUCTION)), signInForm(options));

/**
 * The form. `open` turns credentials into a session, which `signIn` gets once the module is `ready`; `reason` says why the
 * user must sign in again. If the host is unavailable, signing in continues until it answers. With `arriving` credentials it
 * starts by itself, and calls `ask` if it needs the user. `keep` gets the credentials of a session, for the next page, and
 * `drop` is called if they are refused; without `keep`, nothing can be kept. `cancel` is a button beside its own.
 */
export function signInForm({ open, signIn, ready, reason, arriving, ask, keep, drop, cancel }) {
  const provider = providerSettings();
  const fields = credentialFields({ mayStay: keep !== undefined });
  const message = h("p", { class: "message", role: "alert" });
  const submit = button("Sign in", { type: "submit", class: provider ? undefined : "primary" });
  const stop = button("Stop", { class: "plain", hidden: true, onclick: () => (isStopped = true, stop.hidden = true, showError()) });
  const leaving = { method: "provider", credentials: leaveForProvider };
  const atProvider = provider && button(`Sign in at ${provider.name}`, { class: "primary", onclick: () => enter(atProvider, leaving) });
  let isStopped;

  const showError = (sentence) => {
    message.replaceChildren(...(sentence ? [icon("alert"), sentence] : []));
  };
  if (reason) showError(reason);

  const showUnavailable = () => {
    if (isStopped) return;
    showError(UNAVAILABLE);
    stop.hidden = false;
    ask?.();
  };

  /** Signs in with the credentials that arrive, if any; the button says so meanwhile. */
  const enter = async (pressed, { method, credentials: coming, stays }) => {
    const text = pressed.textContent;
    const setBusy = (isBusy) => {
      submit.disabled = isBusy;
      if (atProvider) atProvider.disabled = isBusy;
      pressed.replaceChildren(isBusy ? "Signing in…" : text);
    };
    showError();
    isStopped = false;
    setBusy(true);
    try {
      const credentials = await coming();
      const session = credentials && (await openSession(open, credentials, { isStopped: () => isStopped, onunavailable: showUnavailable }));
      await ready;
      if (!session) ask?.();
      else if (!isStopped) {
        keep?.({ method, credentials, stays });
        signIn(session);
      }
    } catch (error) {
      if (arriving && isRefusal(error)) drop?.();
      showError(refusalText(error, method));
      ask?.();
    } finally {
      stop.hidden = true;
      setBusy(false);
    }
  };

  const onsubmit = (event) => {
    event.preventDefault();
    enter(submit, { method: fields.method(), credentials: async () => fields.value(), stays: fields.stays() });
  };
  if (arriving) enter(atProvider ?? submit, arriving);

  return h(
    "form",
    { class: "card stack", onsubmit, novalidate: false },
    h("h2", { id: "sign-in" }, "Sign in"),
    ...ways({ provider, atProvider, fields, message, stop, cancel, submit }),
  );
}

/** Goes to the identity provider. There are no credentials if the person comes back to the unchanged page. */
const leaveForProvider = async () => (await import("./sign-in-provider.js")).begin();

/** The ways to sign in. An identity provider comes first, and folds the others away. */
function ways({ provider, atProvider, fields, message, stop, cancel, submit }) {
  if (!provider) return [...fields.elements, message, h("div", { class: "actions" }, stop, cancel, submit), fields.hint];
  const again = `After that, this browser signs you in at ${provider.name} whenever you open this page, until you sign out.`;
  const others = h("div", { class: "stack" }, ...fields.elements, fields.hint, h("div", { class: "actions" }, submit));
  return [atProvider, message, h("div", { class: "actions" }, stop), h("p", { class: "hint" }, again), h("details", {}, h("summary", {}, "With a client id or a token"), others)];
}

/** The choice between a client and a token, the fields of the choice, and with `mayStay` whether the tab keeps it. */
function credentialFields({ mayStay }) {
  const clientId = h("input", { name: "username", autocomplete: "username", spellcheck: "false", required: true });
  const clientSecret = h("input", { name: "password", type: "password", autocomplete: "current-password", required: true });
  const token = h("textarea", { rows: 4, spellcheck: "false", autocomplete: "off", required: true });
  const stays = h("input", { type: "checkbox", onchange: () => sayWhere() });
  const hint = h("p", { class: "hint" });
  const withClient = h("div", { class: "stack" }, field("Client id", clientId), field("Secret", clientSecret));
  const withToken = h("div", { class: "stack", hidden: true }, field("Access token", token));
  let method = "client";
  const sayWhere = () => {
    const kept = method === "client" ? "The secret is" : "The token is";
    hint.textContent = stays.checked ? `${kept} in this tab’s storage until you sign out or close the tab.` : `${kept} kept in this page’s memory only. Closing or reloading the page signs you out.`;
  };
  const choose = (chosen) => {
    method = chosen;
    withClient.hidden = method !== "client";
    withToken.hidden = method !== "token";
    for (const input of [clientId, clientSecret]) input.disabled = method !== "client";
    token.disabled = method !== "token";
    sayWhere();
  };
  choose(method);
  const staying = mayStay && h("label", { class: "check" }, stays, "Stay signed in when this tab is reloaded");
  return {
    elements: [choice("Method", [["client", "Client and secret"], ["token", "Token"]], method, choose), withClient, withToken, staying].filter(Boolean),
    hint,
    method: () => method,
    stays: () => stays.checked,
    value: () =>
      method === "client"
        ? { clientId: clientId.value.trim(), clientSecret: clientSecret.value.trim() }
        : { token: token.value.trim().replace(/^Bearer /i, "") },
  };
}

/** Opens a session, and retries while the host is unavailable; undefined if the user stopped it. */
async function openSession(open, credentials, { isStopped, onunavailable }) {
  while (!isStopped()) {
    const late = setTimeout(onunavailable, LATE_MS);
    try {
      const session = await open(credentials);
      if (!isStopped()) return session;
      session.close();
    } catch (error) {
      if (!error.isTemporary) throw error;
      onunavailable();
      await new Promise((resolve) => setTimeout(resolve, error.retryAfterMs ?? AGAIN_MS));
    } finally {
      clearTimeout(late);
    }
  }
  return undefined;
}

/** The meaning of a refusal of all credentials. */
const TOKEN_UNACCEPTED = "The host does not accept this token. It may have expired.";
const UNACCEPTED = {
  client: "The client id or the secret is wrong, or the client is not authorized.",
  token: TOKEN_UNACCEPTED,
  demo: TOKEN_UNACCEPTED,
  provider: "You are signed in at the identity provider, but the host does not accept its token: the audience, the tenant or your groups are not what the host expects. Tell those who run it.",
};

/** True if the same credentials must not be tried again. */
const isRefusal = ({ code, status }) => code === "unauthenticated" || code === "refused" || status === 400 || status === 403;

/** The tenant that does not exist, if the host says so. */
const missingTenant = ({ message }) => /the tenant (\S+), which does not exist/.exec(message)?.[1];

function refusalText(error, method) {
  // Typed credentials may be only white space.
  if (error.status === 400 || error.code === "unauthenticated") return UNACCEPTED[method];
  if (error.code === "tenant_unknown") return `The tenant “${missingTenant(error)}” does not exist on this host, so nobody can sign in to it. Tell those who run the host.`;
  return error.message;
}
