/**
 * The Rates view: the tree of business units beside the one that is shown. Decides what is read and followed; the parts draw
 * what they are given.
 */

import { button, field, h } from "../shared/dom.js";
import { icon } from "../shared/icon.js";
import { hrefOf, placeOf } from "./address.js";
import { RatesHost } from "./host.js";
import { Received } from "./log.js";
import { progressList } from "./progress.js";
import { rereading } from "./rereading.js";
import { unitTree } from "./tree.js";
import { createUnit } from "./unit-editor.js";
import { unitPage } from "./unit.js";
import { Units } from "./units.js";
import { explain } from "./wording.js";

const LISTS = "exr.business-unit.read";
const READS = "exr.rate.read";

/** The view; `rest` is the part of the address that names the unit and the tab. */
export function rates(session, rest) {
  const host = new RatesHost(session);
  const received = new Received();
  let place = {};
  let units;
  let list;
  let drawn = [];
  let followed;

  /** What the parts of the view share: what is known, and what the others can be asked for. */
  const desk = {
    host,
    memory: session.memory,
    get id() {
      return place.id;
    },
    get units() {
      return units;
    },
    get topic() {
      return session.topic;
    },
    may: (permission) => session.may(permission),
    name: (id) => units?.name(id) ?? id,
    isShop,
    concerns,
    go,
    reread: () => reading.now(),
    /** Draws what is shown again, with its drafts. */
    redraw: () => ((drawn = []), reading.now()),
    track: (correlationId, title) => progress.track(correlationId, title),
  };

  const reading = rereading(read, { isLive: () => session.state === "READY", isVisible: () => session.isVisible });
  const progress = progressList(host, () => reading.now());
  const page = unitPage(desk, { received, onall: () => showTree(true) });
  const tree = unitTree({ onchoose: (id) => go({ id, tab: place.tab }), oncreate: () => createUnit(desk, aboveNew()) });
  const byId = unitById((id) => go({ id, tab: place.tab }));
  const side = h("aside", { class: "card side-tree", "aria-label": "Business units" });
  const hint = h("div", { class: "empty-state" });
  const element = h(
    "div",
    { class: "rates" },
    h("div", { class: "heading" }, h("h1", { tabindex: "-1" }, "Rates")),
    h("div", { class: "rates-panes" }, side, h("div", { class: "unit-pane" }, progress.element, hint, page.element)),
  );

  /** Shows the unit and the tab of an address. */
  function navigate(parts) {
    const before = place.id;
    place = placeOf(parts);
    showTree(place.id === undefined);
    page.element.hidden = place.id === undefined;
    if (place.id !== undefined) page.begin(place, units);
    if (place.id !== before) follow();
    showNames();
    reading.now();
  }

  /** Reads everything that is shown. */
  async function read() {
    const { id } = place;
    try {
      await readUnits();
      if (id !== undefined && id === place.id) await readUnit(id);
    } catch (error) {
      if (id === place.id && !reading.isClosed) fail(error);
    }
  }

  async function readUnits() {
    const mayList = session.may(LISTS);
    const next = mayList ? await host.units() : undefined;
    if (next !== list) units = next && new Units(next);
    list = next;
    const chooser = mayList ? tree.element : byId.element;
    if (side.firstChild !== chooser) side.replaceChildren(chooser);
    if (mayList) tree.show({ units, id: place.id, mayCreate: session.may("exr.business-unit.write") });
    showNames();
    if (isShop() !== followed) follow();
  }

  async function readUnit(id) {
    if (!session.may(READS)) return page.fail("You may not see rates", `That needs the permission ${READS}, for example by the role exr.viewer.`);
    const used = await host.used(id);
    const origins = [...new Set([id, ...used.map(({ setAt }) => setAt)])];
    const lists = await Promise.all(origins.map((origin) => host.setAt(origin)));
    if (id !== place.id || reading.isClosed) return;
    // What is as it was is not drawn again: that would close what is open and lose the place in lists.
    const next = [used, ...lists, units, place];
    if (next.length === drawn.length && next.every((part, at) => part === drawn[at])) return;
    drawn = next;
    page.show({ id, used, units, setRates: new Map(origins.map((origin, at) => [origin, lists[at]])) });
  }

  function fail(error) {
    // The connection says so already, and what is known stays.
    if (error.code === "unauthenticated" || error.code === "unavailable") return;
    drawn = [];
    if (error.code === "not_found") page.fail("There is no such business unit", `Nothing has the id “${place.id}”. It may have been deleted.`);
    else page.fail("This cannot be shown", explain(error));
  }

  function showNames() {
    const isEmpty = units?.size === 0;
    const texts = isEmpty
      ? ["No business units yet", "Rates are set at companies, groups and shops. Create a company first."]
      : ["Choose a business unit", "A unit shows the rates that it uses, where each is set, and how it has moved."];
    hint.replaceChildren(icon(isEmpty ? "company" : "group"), h("h2", {}, texts[0]), h("p", {}, texts[1]));
    hint.hidden = place.id !== undefined;
    document.title = `${place.id === undefined ? "Rates" : `${desk.name(place.id)}, rates`} · Tillgate`;
  }

  /** Follows the messages of the shop, or of all shops when a unit above them is shown. */
  function follow() {
    followed = isShop();
    session.topic?.follow(followed ? place.id : undefined);
  }

  /** Without the tree it is not known what the unit is; most are shops, and messages are about shops. */
  function isShop() {
    if (place.id === undefined) return false;
    return units === undefined ? !session.may(LISTS) : units.get(place.id)?.type === "STORE";
  }

  /** Whether a message about a shop concerns the unit that is shown. */
  function concerns(shop) {
    return place.id !== undefined && (units === undefined ? shop === place.id : units.isAtOrBelow(shop, place.id));
  }

  function go(to) {
    const href = hrefOf(to);
    if (location.hash === href) reading.now();
    else location.hash = href;
  }

  /** The unit that a new one is proposed below. */
  function aboveNew() {
    const unit = units?.get(place.id);
    return unit?.type === "STORE" ? unit.parentId : unit?.id;
  }

  /** On narrow screens either the tree or the unit is shown, and the focus goes with it. */
  function showTree(isShown) {
    const hadFocus = side.contains(document.activeElement);
    element.classList.toggle("choosing", isShown);
    if (isShown && place.id !== undefined) side.querySelector("input")?.focus();
    if (hadFocus && side.getClientRects().length === 0) page.focus();
  }

  const onmessage = ({ message, text }) => {
    if (!received.add({ message, text })) return;
    page.showMessages();
    if (concerns(message.data.businessUnitId)) reading.soon();
  };
  const stops = [
    listen(session.topic, "message", onmessage),
    listen(session.topic, "reset", () => reading.soon()),
    listen(session, "state", () => session.state === "READY" && reading.soon()),
    listen(session, "permissions", desk.redraw),
  ];
  navigate(rest);

  return {
    element,
    navigate,
    /** The catalog has changed, of which nothing is shown here. */
    refresh() {},
    close() {
      reading.close();
      progress.close();
      for (const stop of stops) stop();
    },
  };
}

function listen(target, type, listener) {
  target?.addEventListener(type, listener);
  return () => target?.removeEventListener(type, listener);
}

/** What replaces the tree where the units may not be listed. */
function unitById(onchoose) {
  const id = h("input", { spellcheck: "false", autocomplete: "off", maxlength: 128 });
  const onsubmit = (event) => {
    event.preventDefault();
    if (id.value.trim() !== "") onchoose(id.value.trim());
  };
  const why = `You may not list business units: that needs the permission ${LISTS}, for example by the role exr.editor. You can type the id of one.`;
  const show = button("Show", { type: "submit", class: "primary" });
  return { element: h("form", { class: "stack", onsubmit }, h("p", { class: "hint" }, why), field("Id of a business unit", id), show) };
}
