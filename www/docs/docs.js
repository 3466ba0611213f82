/**
 * The page of the API's documents: its contents, the view that the address names, and who is signed in. It reads the same
 * documents as any tool, and knows nothing of the API itself.
 */

import { button, h, notify } from "../shared/dom.js";
import { frame } from "../shared/frame.js";
import { icon } from "../shared/icon.js";
import { channelView } from "./channel.js";
import { contents } from "./contents.js";
import { channelsOf, load, operationsOf, tagsOf } from "./documents.js";
import { operationView } from "./operation.js";
import { overview } from "./overview.js";

const main = h("main", { id: "main", tabindex: "-1" });
const who = h("p", { class: "connection", role: "status" });
const accountButton = button("Sign in", { class: "plain", onclick: () => (account.session ? signOut() : signIn()) });

/** The session, which requests need. */
const account = { session: undefined, signIn };

let list;
let entries = new Map();
/** The views shown before, with their input, by id: `{ id, view, scroll }`. */
let visited = new Map();
let shown;
let before;

async function signIn() {
  const loaded = await import("./account.js").catch(() => undefined);
  if (!loaded) return notify("The host cannot be reached, so you cannot sign in. Try again in a moment.");
  const session = await loaded.askToSignIn();
  if (session) setSession(session);
}

/** Signs in with the session of the opener. */
async function signInAsOpener() {
  const loaded = await import("./account.js").catch(() => undefined);
  const session = await loaded?.sessionOfOpener();
  if (session && !account.session) setSession(session);
}

/** Stops requests that use the token, and forgets visited views with their answers. */
function signOut() {
  shown?.view.close();
  visited = new Map(shown && [[shown.id, shown]]);
  setSession(undefined);
}

function setSession(session) {
  account.session = session;
  who.textContent = session?.tenant ?? "";
  accountButton.replaceChildren(session ? "Sign out" : "Sign in");
  shown?.view.refresh();
}

function show() {
  const id = addressed();
  if (shown?.id === id) return;
  shown?.view.close();
  const isKnown = visited.has(id);
  if (!isKnown) visited.set(id, { id, view: (entries.get(id) ?? (() => unknown(id)))(), scroll: 0 });
  shown = visited.get(id);
  const { view, scroll } = shown;
  // Another user may have signed in since.
  if (isKnown) view.refresh();
  document.title = id === "" ? "API · Tillgate" : `${view.title} · API · Tillgate`;
  main.classList.toggle("at-contents", id === "");
  main.lastChild.replaceChildren(h("a", { class: "back", href: "#" }, "All operations"), view.element);
  list.mark(id);
  scrollTo(0, scroll);
  // On a narrow page the list continues where it was left.
  if (id === "" && before) list.focus(before);
  else if (before !== undefined || id !== "") view.element.querySelector("h1").focus({ preventScroll: true });
  before = id;
}

/** Notes the scroll position, to restore it later. Once the address changes, the position is another view's. */
function noteScroll() {
  if (shown && shown.id === addressed()) shown.scroll = scrollY;
}

const addressed = () => decoded(location.hash.slice(1));

/** Decodes a part of the address; a malformed one is taken as is. */
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function unknown(id) {
  const element = h("div", { class: "empty-state" }, icon("alert"), h("h1", { tabindex: "-1" }, "There is no such operation"), h("p", {}, `The documents of this host have nothing named “${id}”. Search for it, or choose it from the list.`));
  return { title: "Not found", element, refresh() {}, close() {} };
}

/** Draws the page again once the documents are there. */
async function start() {
  main.replaceChildren(h("p", { class: "hint", role: "status" }, "Loading the documents of the API…"));
  const [api, events] = await Promise.allSettled([load("openapi.json"), load("asyncapi.json")]);
  if (api.status === "rejected") return failed(api.reason);
  const operations = operationsOf(api.value);
  const channels = events.status === "fulfilled" ? channelsOf(events.value) : [];
  const tags = tagsOf(api.value, operations);
  entries = new Map([
    ["", () => overview(api.value, tags)],
    ...channels.map((channel) => [`events/${channel.id}`, () => channelView(events.value, channel)]),
    ...operations.map((operation) => [operation.id, () => operationView(api.value, operation, account)]),
  ]);
  const groups = tags.map(({ name }) => ({ name, entries: operations.filter(({ tag }) => tag === name) }));
  if (channels.length > 0) groups.push({ name: "messages", entries: channels.map((each) => ({ ...each, id: `events/${each.id}` })) });
  list = contents(groups);
  const side = h("div", { class: "side-list" }, list.element, events.status === "rejected" && h("div", { class: "message" }, h("p", {}, events.reason.message), again()));
  main.replaceChildren(side, h("div", { class: "shown" }));
  shown = undefined;
  visited = new Map();
  show();
}

const again = () => button("Load again", { image: "retry", onclick: start });

function failed({ message }) {
  main.replaceChildren(h("div", { class: "empty-state" }, icon("alert"), h("h1", { tabindex: "-1" }, "The documents of the API cannot be loaded"), h("p", {}, message), again()));
}

const nav = h("nav", { "aria-label": "Pages" }, h("a", { href: "#", "aria-current": "page" }, "API"));
frame({ main, nav, brand: { href: "./", text: "Tillgate" }, end: (theme) => [who, theme, accountButton] });
addEventListener("hashchange", () => list && show());
addEventListener("scroll", noteScroll, { passive: true });
history.scrollRestoration = "manual";
start();
if (opener) signInAsOpener();
