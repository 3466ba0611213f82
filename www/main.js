/**
 * The frame of the page: signing in and out, the view that is shown, the connection and the theme. Each view is a
 * module.
 */

import { init } from "../js/src/browser.js";
import { conditions } from "./conditions.js";
import { button, h, icon } from "./dom.js";
import { preview } from "./preview.js";
import { projects } from "./projects.js";
import { rates } from "./rates/rates.js";
import { signinView } from "./signin.js";
import { webhooks } from "./webhooks/webhooks.js";

/** Each view: its title, the view, and which changes it follows. */
const VIEWS = {
  preview: { title: "Preview", open: preview, watched: "rules" },
  conditions: { title: "Conditions", open: conditions, watched: "rules" },
  projects: { title: "Projects", open: projects, watched: "rules" },
  rates: { title: "Rates", open: rates, watched: "rates" },
  webhooks: { title: "Webhooks", open: webhooks, watched: "webhooks" },
};

/** Whether the user may see what a view shows. */
const SEEN = {
  rules: ({ seesRules }) => seesRules,
  rates: ({ seesRates }) => seesRates,
  webhooks: ({ seesWebhooks }) => seesWebhooks,
};

/** How long a connection is interrupted before the page says so: changing views interrupts it for a moment. */
const STALE_AFTER_MS = 500;

let session;
let view;
let shown;

const main = h("main", { id: "main", tabindex: "-1" });
const nav = h("nav", { "aria-label": "Views", hidden: true });
const connection = h("p", { class: "connection", role: "status" });
const signOutButton = button("Sign out", { image: "out", iconOnly: true, class: "plain", hidden: true, onclick: () => signOut() });
const themeButton = button("", { iconOnly: true, class: "plain", onclick: () => applyTheme(isDark() ? "light" : "dark") });

/** The views that the user may see. */
const seen = () => Object.entries(VIEWS).filter(([, { watched }]) => SEEN[watched](session));

function navLinks() {
  return seen().map(([name, { title }]) => h("a", { href: `#/${name}`, "data-view": name }, title));
}

/** Shows the view that the address names. A view that stays is only told the rest of the address. */
function show() {
  if (!session) return;
  const [name, ...rest] = location.hash.replace(/^#\/?/, "").split("/").map(decoded);
  const [chosen, { open, watched }] = seen().find(([each]) => each === name) ?? seen()[0];
  if (chosen === shown && view.navigate) return view.navigate(rest);
  view?.close?.();
  session.follow({ watched });
  shown = chosen;
  view = open(session, rest);
  main.replaceChildren(view.element);
  if (view.title) document.title = `${view.title} · Tillgate`;
  for (const link of nav.children) {
    if (link.dataset.view === chosen) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  main.querySelector("h1")?.focus();
}

/** A part of the address, decoded; a malformed one is taken as it is. */
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
  session.on("state", debounceStale(showConnection));
  session.on("error", ({ error }) => {
    if (error.code === "unauthenticated" && session === opened) signOut("Your session has expired. Sign in again.");
  });
  nav.replaceChildren(...navLinks());
  nav.hidden = signOutButton.hidden = false;
  show();
  showConnection();
}

function signOut(reason) {
  view?.close?.();
  session?.close();
  session = view = shown = undefined;
  nav.hidden = signOutButton.hidden = true;
  connection.replaceChildren();
  document.title = "Sign in · Tillgate";
  main.replaceChildren(signinView(signIn, reason));
  (reason ? main : main.querySelector("input:not([type=radio])")).focus();
}

/** Shows whether the rules or rates on the page are those in force. */
function showConnection() {
  if (!session) return;
  const texts = { READY: `Live · ${session.tenant}`, POLLED: `Read every 20 s · ${session.tenant}` };
  const text = texts[session.state] ?? `Not connected. Showing the last known ${VIEWS[shown].watched}`;
  const isStale = !(session.state in texts);
  connection.dataset.state = isStale ? "stale" : "live";
  connection.replaceChildren(h("i", {}), h("span", {}, text));
  if (isStale) connection.append(button("Reconnect", { class: "plain", onclick: () => session?.retry() }));
}

/** Calls `run` at once while changes are received, and otherwise only when that lasts. */
function debounceStale(run) {
  let timer;
  return () => {
    clearTimeout(timer);
    if (session?.state === "STALE" || session?.state === "STARTING") timer = setTimeout(run, STALE_AFTER_MS);
    else run();
  };
}

const isDark = () =>
  (document.documentElement.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";

/** Applies a theme, light or dark; until one is chosen, it is that of the system. */
function applyTheme(chosen) {
  if (chosen) {
    document.documentElement.dataset.theme = chosen;
    storeTheme(chosen);
  }
  const label = isDark() ? "Use light colours" : "Use dark colours";
  themeButton.replaceChildren(icon(isDark() ? "sun" : "moon"), h("span", { class: "visually-hidden" }, label));
  themeButton.title = label;
}

/** The theme is the only thing that is stored, and only where the browser allows it. */
function storeTheme(theme) {
  try {
    localStorage.setItem("theme", theme);
  } catch {}
}

function storedTheme() {
  try {
    return localStorage.getItem("theme");
  } catch {
    return null;
  }
}

document.body.append(
  h("a", { class: "skip", href: "#main", onclick: (event) => (event.preventDefault(), main.focus()) }, "Skip to the content"),
  h(
    "header",
    {},
    h("a", { class: "brand", href: "#/" }, h("img", { src: new URL("icon.svg", import.meta.url).href, alt: "", width: "28", height: "28" }), "Tillgate"),
    nav,
    h("div", { class: "header-end" }, connection, themeButton, signOutButton),
  ),
  main,
  h("div", { id: "notices", "aria-live": "polite" }),
);
applyTheme(storedTheme());
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => applyTheme());
addEventListener("hashchange", show);
document.addEventListener("visibilitychange", () => session?.follow({ isVisible: !document.hidden }));
try {
  await init();
  signOut();
} catch (error) {
  main.replaceChildren(h("div", { class: "empty-state" }, icon("alert"), h("h1", {}, "The page could not load its module"), h("p", {}, error.message)));
}
