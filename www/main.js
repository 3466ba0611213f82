/**
 * The page: signing in and out, the current view, and the connection. Each view is a module; all but Preview are loaded when
 * first shown.
 */

import { init } from "../js/src/index.js";
import { preview } from "./rules/preview.js";
import { button, confirmed, h, notify } from "./shared/dom.js";
import { frame } from "./shared/frame.js";
import { icon } from "./shared/icon.js";
import { forgetCredentials, forgetSignIn, keepSignIn } from "./shared/kept-sign-in.js";
import { draftCount, forget } from "./shared/memory.js";
import { counted } from "./shared/messages.js";
import { Session } from "./shared/session.js";
import { arrival } from "./shared/sign-in-address.js";
import { signInView } from "./shared/sign-in.js";

/** Each view: its title, the view or how to load it, and the changes that it follows. */
const VIEWS = {
  preview: { title: "Preview", open: preview, watched: "rules" },
  conditions: { title: "Conditions", load: async () => (await import("./rules/conditions.js")).conditions, watched: "rules" },
  projects: { title: "Projects", load: async () => (await import("./rules/projects.js")).projects, watched: "rules" },
  rates: { title: "Rates", load: loadRates, watched: "rates" },
  webhooks: { title: "Webhooks", load: loadWebhooks, watched: "webhooks" },
  platform: { title: "Platform", load: loadPlatform, watched: "settings" },
};

async function loadRates() {
  const [{ rates }, { Topic }] = await Promise.all([import("./rates/rates.js"), import("./rates/topic.js"), style("rates/rates.css")]);
  session?.subscribeBy(Topic);
  return rates;
}

async function loadWebhooks() {
  const [{ webhooks }] = await Promise.all([import("./webhooks/webhooks.js"), style("rates/rates.css"), style("webhooks/webhooks.css")]);
  return webhooks;
}

async function loadPlatform() {
  const [{ platform }] = await Promise.all([import("./platform/platform.js"), style("rates/rates.css"), style("platform/platform.css")]);
  return platform;
}

/** Loads a stylesheet, once. */
function style(path) {
  const { href } = new URL(path, import.meta.url);
  if (document.querySelector(`link[href="${href}"]`)) return undefined;
  const link = h("link", { rel: "stylesheet", href });
  const loaded = new Promise((resolve, reject) => {
    link.onload = resolve;
    link.onerror = () => (link.remove(), reject(new Error(`${path} cannot be loaded`)));
  });
  document.head.append(link);
  return loaded;
}

/** True if the user may see what a view shows. */
const SEEN = {
  rules: ({ seesRules }) => seesRules,
  rates: ({ seesRates }) => seesRates,
  webhooks: ({ seesWebhooks }) => seesWebhooks,
  settings: ({ seesPlatform }) => seesPlatform,
};

/** How long a connection must be interrupted before the page says so: changing views interrupts it briefly. */
const STALE_AFTER_MS = 500;

let session;
let view;
let shown;
let turns = 0;

const main = h("main", { id: "main", tabindex: "-1" });
const nav = h("nav", { "aria-label": "Views", hidden: true });
const connection = h("p", { class: "connection", role: "status" });
const signOutButton = button("Sign out", { image: "out", iconOnly: true, class: "plain", hidden: true, onclick: () => leave() });

/** The link to the API's documents, which ask this page for a token. */
const docs = h("a", { class: "button plain", href: "docs", target: "_blank", rel: "opener", title: "The API documentation, in another tab", hidden: true }, "API");

/** The views that the user may see. */
const seen = () => Object.entries(VIEWS).filter(([, { watched }]) => SEEN[watched](session));

function navLinks() {
  return seen().map(([name, { title }]) => h("a", { href: `#/${name}`, "data-view": name }, title));
}

/** Shows the view that the address names. If it is shown already, it only gets the rest of the address. */
async function show() {
  if (!session || seen().length === 0) return;
  const [path, query] = location.hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  const [name, ...rest] = path.split("/").map(decoded);
  const [chosen, { open, load, watched }] = seen().find(([each]) => each === name) ?? seen()[0];
  const turn = (turns += 1);
  if (chosen === shown && view.navigate) return view.navigate(rest, query);
  const loaded = open ?? (await load().catch(() => undefined));
  if (turn !== turns || !session) return;
  if (!loaded) return notify("The host cannot be reached, so this view cannot be loaded. Try again in a moment.");
  view?.close?.();
  session.follow({ watched });
  shown = chosen;
  view = loaded(session, rest, query);
  main.replaceChildren(view.element);
  if (view.title) document.title = `${view.title} · Tillgate`;
  for (const link of nav.children) {
    if (link.dataset.view === chosen) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  main.querySelector("h1")?.focus();
  showConnection();
}

/** Decodes a part of the address; a malformed one is taken as is. */
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function signIn(opened) {
  session = opened;
  session.on("change", () => view?.refresh());
  session.on("permissions", () => VIEWS[shown]?.watched === "rules" && view.refresh());
  session.on("state", debounceStale(showConnection));
  session.on("error", ({ error }) => {
    if (error.code !== "unauthenticated" || session !== opened) return;
    forgetCredentials();
    signOut("Your session has expired. Sign in again.");
  });
  nav.replaceChildren(...navLinks());
  docs.hidden = signOutButton.hidden = false;
  nav.hidden = seen().length === 0;
  if (nav.hidden) showWithoutRoles();
  else show();
  if (session.memory.draftKeys().length > 0) showDrafts(opened);
}

const showDrafts = async (opened) => (await import("./shared/kept-drafts.js")).showKeptDrafts(opened);

/** Says who has signed in and which roles they need, because there is no view that they may see. */
async function showWithoutRoles() {
  const opened = session;
  const { withoutRoles } = await import("./shared/without-roles.js");
  if (session !== opened) return;
  main.replaceChildren(withoutRoles(session, useAnother));
  main.querySelector("h1").focus();
}

/** Signs out, to sign in as somebody else; a person does that at the provider. */
function useAnother() {
  const { person } = session;
  forgetSignIn();
  const asAnother = async () => (await import("./shared/sign-in-provider.js")).beginAsAnother(person.signOutUrl);
  signOut(undefined, person && { method: "provider", credentials: asAnother });
}

/** Signs out on demand. Unsaved input is lost, so the page asks first. */
async function leave() {
  const drafts = draftCount();
  const question = [`Sign out and discard ${counted(drafts, "draft")}?`, "What you entered has not been saved.", "Sign out"];
  if (drafts > 0 && !(await confirmed(...question))) return;
  forget();
  forgetSignIn();
  history.replaceState(history.state, "", location.pathname);
  const provider = session.person?.signOutUrl;
  signOut();
  if (provider) location.assign(provider);
}

/**
 * Ends the session; `reason` says why, unless the user asked for it. Drafts are kept for the next sign-in: at once, with the
 * credentials in the address, if `arriving`.
 */
function signOut(reason, arriving) {
  // A secret that is shown only once stays until it is noted.
  const dialogs = [...document.querySelectorAll("dialog[open]:not([data-once])")];
  const keepsDrafts = draftCount() > 0 || dialogs.some(({ dataset }) => "keeps" in dataset);
  for (const dialog of dialogs) dialog.close("kept");
  if (reason && keepsDrafts) reason = `${reason} Your drafts are kept.`;
  turns += 1;
  view?.close?.();
  session?.close();
  session = view = shown = undefined;
  nav.hidden = docs.hidden = signOutButton.hidden = true;
  connection.replaceChildren();
  document.title = "Sign in · Tillgate";
  const waiting = h("p", { class: "hint", role: "status" }, "Signing in…");
  const ask = () => {
    if (!waiting.isConnected) return;
    main.replaceChildren(form);
    (reason ? main : main.querySelector("form > button, input:not([type=radio])")).focus();
  };
  main.replaceChildren(waiting);
  const form = signInView({ open: Session.open, signIn, ready, reason, arriving, ask, keep: keepSignIn, drop: forgetSignIn });
  if (!arriving) ask();
}

/** Shows if the rules or rates on the page are current. */
function showConnection() {
  if (!session || !shown) return;
  const who = [session.tenant, session.person?.name].filter(Boolean).join(" · ");
  const texts = { READY: `Live · ${who}`, POLLED: `Read every 20 s · ${who}` };
  const text = texts[session.state] ?? `Not connected. Showing the last known ${VIEWS[shown].watched}`;
  const isStale = !(session.state in texts);
  connection.dataset.state = isStale ? "stale" : "live";
  connection.replaceChildren(h("i", {}), h("span", { title: text }, text));
  if (isStale) connection.append(button("Reconnect", { class: "plain", onclick: () => session?.retry() }));
}

/** Calls `run` at once while changes are received; otherwise only if that lasts. */
function debounceStale(run) {
  let timer;
  return () => {
    clearTimeout(timer);
    if (session?.state === "STALE" || session?.state === "STARTING") timer = setTimeout(run, STALE_AFTER_MS);
    else run();
  };
}

frame({ main, nav, brand: { href: "#/", text: "Tillgate" }, end: (theme) => [connection, docs, theme, signOutButton] });
addEventListener("hashchange", show);
addEventListener("message", async (event) => event.origin === location.origin && (await import("./shared/hand-over.js")).answer(event, session));
document.addEventListener("visibilitychange", () => session?.follow({ isVisible: !document.hidden }));
addEventListener("beforeunload", (event) => draftCount() > 0 && event.preventDefault());

// The form appears before the module, which is large, is loaded.
const ready = init(new URL("../js/engine/tillgate_bg.wasm", import.meta.url));
signOut(undefined, arrival());
ready.catch((error) => {
  main.replaceChildren(h("div", { class: "empty-state" }, icon("alert"), h("h1", {}, "The page could not load its module"), h("p", {}, error.message)));
});
