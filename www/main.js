/**
 * The frame of the page: signing in and out, the view that is shown, the connection and the theme. Each view is a
 * module.
 */

import { init } from "../js/src/browser.js";
import { conditions } from "./conditions.js";
import { button, h, icon } from "./dom.js";
import { preview } from "./preview.js";
import { projects } from "./projects.js";
import { signinView } from "./signin.js";

const VIEWS = { preview: ["Preview", preview], conditions: ["Conditions", conditions], projects: ["Projects", projects] };

let session;
let view;

const main = h("main", { id: "main", tabindex: "-1" });
const nav = h("nav", { "aria-label": "Views", hidden: true });
const connection = h("p", { class: "connection", role: "status" });
const signOutButton = button("Sign out", { image: "out", iconOnly: true, class: "plain", hidden: true, onclick: () => signOut() });
const themeButton = button("", { iconOnly: true, class: "plain", onclick: () => applyTheme(isDark() ? "light" : "dark") });

function navLinks() {
  return Object.entries(VIEWS).map(([name, [title]]) => h("a", { href: `#/${name}`, "data-view": name }, title));
}

/** Shows the view that the address names. */
function show() {
  if (!session) return;
  const [name, ...rest] = location.hash.replace(/^#\/?/, "").split("/").map(decoded);
  const chosen = name in VIEWS ? name : "preview";
  view = VIEWS[chosen][1](session, rest);
  main.replaceChildren(view.element);
  document.title = `${view.title} · Tillgate`;
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
  session.on("state", showConnection);
  session.on("error", ({ error }) => {
    if (error.code === "unauthenticated" && session === opened) signOut("Your session has expired. Sign in again.");
  });
  nav.hidden = signOutButton.hidden = false;
  showConnection();
  show();
}

function signOut(reason) {
  session?.close();
  session = view = undefined;
  nav.hidden = signOutButton.hidden = true;
  connection.replaceChildren();
  document.title = "Sign in · Tillgate";
  main.replaceChildren(signinView(signIn, reason));
  (reason ? main : main.querySelector("input:not([type=radio])")).focus();
}

/** Shows whether the rules on the page are those in force. */
function showConnection() {
  const isLive = session?.state === "READY";
  connection.dataset.state = isLive ? "live" : "stale";
  const text = isLive ? `Live · ${session.tenant}` : "Not connected. Showing the last known rules";
  connection.replaceChildren(h("i", {}), h("span", {}, text));
  if (!isLive && session) connection.append(button("Reconnect", { class: "plain", onclick: () => session.retry() }));
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
    h("a", { class: "brand", href: "#/preview" }, h("img", { src: new URL("icon.svg", import.meta.url).href, alt: "", width: "28", height: "28" }), "Tillgate"),
    nav,
    h("div", { class: "header-end" }, connection, themeButton, signOutButton),
  ),
  main,
  h("div", { id: "notices", "aria-live": "polite" }),
);
nav.append(...navLinks());
applyTheme(storedTheme());
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => applyTheme());
addEventListener("hashchange", show);
document.addEventListener("visibilitychange", () => session?.follow(!document.hidden));
try {
  await init();
  signOut();
} catch (error) {
  main.replaceChildren(h("div", { class: "empty-state" }, icon("alert"), h("h1", {}, "The page could not load its module"), h("p", {}, error.message)));
}
