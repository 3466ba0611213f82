/**
 * The page: who is signed in, which view is shown, whether it is up to date, light or dark. Each view is a module.
 */

import { init } from "../js/src/browser.js";
import { conditions } from "./conditions.js";
import { button, h, icon } from "./dom.js";
import { preview } from "./preview.js";
import { projects } from "./projects.js";
import { signin } from "./signin.js";

const VIEWS = { preview: ["Preview", preview], conditions: ["Conditions", conditions], projects: ["Projects", projects] };

let session;
let view;

const main = h("main", { id: "main", tabindex: "-1" });
const nav = h("nav", { "aria-label": "Views", hidden: true });
const live = h("p", { class: "live", role: "status" });
const leave = button("Sign out", { image: "out", quiet: true, class: "plain", hidden: true, onclick: () => exit() });
const theme = button("", { quiet: true, class: "plain", onclick: () => dress(isDark() ? "light" : "dark") });

function links() {
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

/** A part of the address; one that is not encoded as it should be is taken as it is. */
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function enter(opened) {
  session = opened;
  session.on("change", () => view?.refresh());
  session.on("state", pulse);
  session.on("error", ({ error }) => {
    if (error.code === "unauthenticated" && session === opened) exit("Your sign-in has ended. Sign in again.");
  });
  nav.hidden = leave.hidden = false;
  pulse();
  show();
}

function exit(why) {
  session?.close();
  session = view = undefined;
  nav.hidden = leave.hidden = true;
  live.replaceChildren();
  document.title = "Sign in · Tillgate";
  main.replaceChildren(signin(enter, why));
  (why ? main : main.querySelector("input:not([type=radio])")).focus();
}

/** Whether what is shown is what is in force. */
function pulse() {
  const isLive = session?.state === "READY";
  live.dataset.state = isLive ? "live" : "stale";
  const words = isLive ? `Live · ${session.tenant}` : "Not connected. Shown as last known";
  live.replaceChildren(h("i", {}), h("span", {}, words));
  if (!isLive && session) live.append(button("Try now", { class: "plain", onclick: () => session.retry() }));
}

const isDark = () =>
  (document.documentElement.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";

/** Light or dark; as the system has it until one chooses. */
function dress(chosen) {
  if (chosen) {
    document.documentElement.dataset.theme = chosen;
    remember(chosen);
  }
  const words = isDark() ? "Use light colours" : "Use dark colours";
  theme.replaceChildren(icon(isDark() ? "sun" : "moon"), h("span", { class: "unseen" }, words));
  theme.title = words;
}

/** The one thing that is kept beyond the page. Where nothing may be kept, it is not. */
function remember(theme) {
  try {
    localStorage.setItem("theme", theme);
  } catch {}
}

function remembered() {
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
    h("div", { class: "header-end" }, live, theme, leave),
  ),
  main,
  h("div", { id: "notices", "aria-live": "polite" }),
);
nav.append(...links());
dress(remembered());
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => dress());
addEventListener("hashchange", show);
document.addEventListener("visibilitychange", () => session?.follow(!document.hidden));
try {
  await init();
  exit();
} catch (error) {
  main.replaceChildren(h("div", { class: "nothing" }, icon("alert"), h("h1", {}, "The page could not load its module"), h("p", {}, error.message)));
}
