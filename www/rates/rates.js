/**
 * The Rates view: the tree of business units beside the selected one. Decides what is read and followed; the parts draw what
 * they are given.
 */

import { button, field, h } from "../shared/dom.js";
import { icon } from "../shared/icon.js";
import { isolated } from "../shared/locale.js";
import { hrefOf, placeOf } from "./address.js";
import { RatesHost } from "./host.js";
import { Received } from "./log.js";
import { DRAFT, pasteUnits } from "./paste-units.js";
import { progressList } from "./progress.js";
import { rereading } from "./rereading.js";
import { unitTree } from "./tree.js";
import { createUnit, draftKey } from "./unit-editor.js";
import { unitPage } from "./unit.js";
import { Units } from "./units.js";
import { explain } from "./wording.js";

const LISTS = "exr.business-unit.read";
const READS = "exr.rate.read";

/** The view; `rest` is the part of the address with the unit and the tab, `query` has the filter. */
export const rates = (session, rest, query) => new RatesView(session, rest, query);

class RatesView {
  #session;
  #host;
  #received = new Received();
  /** The place in the address. */
  #place = {};
  #units;
  /** The answer that the units were made from, and what was drawn of the current unit. */
  #list;
  #drawn = [];
  /** True if one shop is followed, not all. */
  #isShopFollowed;
  #desk;
  #reading;
  #progress;
  #page;
  #tree;
  #byId;
  #side = h("aside", { class: "card side-tree", "aria-label": "Business units" });
  #hint = h("div", { class: "empty-state" });
  #stops;

  constructor(session, rest, query) {
    const choose = (id) => this.#go({ id, tab: this.#place.tab, args: this.#place.args });
    this.#session = session;
    this.#host = new RatesHost(session);
    this.#desk = this.#shared();
    this.#reading = rereading(() => this.#read(), { isLive: () => session.state === "READY", isVisible: () => session.isVisible });
    this.#progress = progressList(this.#host, () => this.#reading.now());
    this.#page = unitPage(this.#desk, { received: this.#received, onall: () => this.#showTree(true) });
    this.#tree = unitTree({ onchoose: choose, oncreate: () => createUnit(this.#desk, this.#aboveNew()), onpaste: () => pasteUnits(this.#desk) });
    this.#byId = unitById(choose);
    this.element = h(
      "div",
      { class: "rates" },
      h("div", { class: "heading" }, h("h1", { tabindex: "-1" }, "Rates")),
      h("div", { class: "rates-panes" }, this.#side, h("div", { class: "unit-pane" }, this.#progress.element, this.#hint, this.#page.element)),
    );
    this.#stops = this.#listen();
    this.navigate(rest, query);
  }

  /** Shared by the parts of the view: what is known, and what they can ask for. */
  #shared() {
    const view = this;
    return {
      host: this.#host,
      memory: this.#session.memory,
      get id() {
        return view.#place.id;
      },
      get units() {
        return view.#units;
      },
      get topic() {
        return view.#session.topic;
      },
      may: (permission) => this.#session.may(permission),
      follow: (look) => this.#session.on("change", look),
      name: (id) => isolated(this.#units?.name(id) ?? id),
      isShop: () => this.#isShop(),
      concerns: (shop) => this.#concerns(shop),
      go: (to) => this.#go(to),
      note: (what) => this.#note(what),
      reread: () => this.#reading.now(),
      redraw: () => this.#redraw(),
      track: (correlationId, title) => this.#progress.track(correlationId, title),
    };
  }

  #listen() {
    const session = this.#session;
    const onmessage = ({ message, text }) => {
      if (!this.#received.add({ message, text })) return;
      this.#page.showMessages();
      if (this.#concerns(message.data.businessUnitId)) this.#reading.soon();
    };
    return [
      listen(session.topic, "message", onmessage),
      listen(session.topic, "reset", () => this.#reading.soon()),
      listen(session, "state", () => session.state === "READY" && this.#reading.soon()),
      listen(session, "permissions", () => this.#redraw()),
    ];
  }

  /** Shows the unit and the tab of an address. */
  navigate(parts, query) {
    const before = this.#place.id;
    this.#place = placeOf(parts, query, this.#place);
    const { id } = this.#place;
    if (id !== undefined) this.#note({});
    this.#showTree(id === undefined);
    this.#page.element.hidden = id === undefined;
    if (id !== undefined) this.#page.begin(this.#place, this.#units);
    if (id !== before) this.#follow();
    this.#showNames();
    this.#reading.now();
  }

  /** The catalog has changed; this view shows nothing of it. */
  refresh() {}

  close() {
    this.#reading.close();
    this.#progress.close();
    for (const stop of this.#stops) stop();
  }

  /** Draws again, with the drafts. */
  #redraw() {
    this.#drawn = [];
    return this.#reading.now();
  }

  /** Reads all that is shown. */
  async #read() {
    const { id } = this.#place;
    try {
      await this.#readUnits();
      if (id !== undefined && id === this.#place.id) await this.#readUnit(id);
      if (!this.#reading.isClosed) this.#session.changed();
    } catch (error) {
      if (id === this.#place.id && !this.#reading.isClosed) this.#fail(error);
    }
  }

  async #readUnits() {
    const mayList = this.#session.may(LISTS);
    const next = mayList ? await this.#host.units() : undefined;
    if (next !== this.#list) this.#units = next && new Units(next);
    this.#list = next;
    const chooser = mayList ? this.#tree.element : this.#byId.element;
    if (this.#side.firstChild !== chooser) this.#side.replaceChildren(chooser);
    const isKept = (key) => this.#session.memory.get(key) !== undefined;
    const drafts = { new: isKept(draftKey()), pasted: isKept(DRAFT) };
    if (mayList) this.#tree.show({ units: this.#units, id: this.#place.id, mayCreate: this.#session.may("exr.business-unit.write"), drafts });
    this.#showNames();
    if (this.#isShop() !== this.#isShopFollowed) this.#follow();
  }

  async #readUnit(id) {
    if (!this.#session.may(READS)) return this.#page.fail("You may not see rates", `That needs the permission ${READS}, for example from the role exr.viewer.`);
    const used = await this.#host.used(id);
    const origins = [...new Set([id, ...used.map(({ setAt }) => setAt)])];
    const lists = await Promise.all(origins.map((origin) => this.#host.setAt(origin)));
    if (id !== this.#place.id || this.#reading.isClosed) return;
    // Unchanged content is not drawn again: that would close what is open and lose the place in lists.
    const next = [used, ...lists, this.#units, this.#place];
    if (next.length === this.#drawn.length && next.every((part, at) => part === this.#drawn[at])) return;
    this.#drawn = next;
    this.#page.show({ id, used, units: this.#units, setRates: new Map(origins.map((origin, at) => [origin, lists[at]])) });
  }

  #fail(error) {
    // The connection's state says so already, and known content stays.
    if (error.code === "unauthenticated" || error.isTemporary) return;
    this.#drawn = [];
    if (error.status === 404) this.#page.fail("There is no such business unit", `There is no unit with the id “${this.#place.id}”. It may have been deleted.`);
    else this.#page.fail("This cannot be shown", explain(error));
  }

  #showNames() {
    const { id } = this.#place;
    const isEmpty = this.#units?.size === 0;
    const texts = isEmpty
      ? ["No business units yet", "Rates are set at companies, groups and shops. Create a company first."]
      : ["Choose a business unit", "A unit shows the rates that it uses, where each is set, and how it has moved."];
    this.#hint.replaceChildren(icon(isEmpty ? "company" : "group"), h("h2", {}, texts[0]), h("p", {}, texts[1]));
    this.#hint.hidden = id !== undefined;
    document.title = `${id === undefined ? "Rates" : `${this.#desk.name(id)}, rates`} · Tillgate`;
  }

  /** Follows the messages of the shop, or of all shops if a unit above them is shown. */
  #follow() {
    this.#isShopFollowed = this.#isShop();
    this.#session.topic?.follow(this.#isShopFollowed ? this.#place.id : undefined);
  }

  /** Without the tree the kind of the unit is unknown; most are shops, and messages are about shops. */
  #isShop() {
    const { id } = this.#place;
    if (id === undefined) return false;
    return this.#units === undefined ? !this.#session.may(LISTS) : this.#units.get(id)?.type === "STORE";
  }

  /** True if a message about a shop concerns the current unit. */
  #concerns(shop) {
    const { id } = this.#place;
    return id !== undefined && (this.#units === undefined ? shop === id : this.#units.isAtOrBelow(shop, id));
  }

  /** Notes the pair or filter chosen in a tab, in the address too, without a new entry in the browser's history. */
  #note({ pair, filter = this.#place.filter }) {
    if (!location.hash.startsWith("#/rates/")) return;
    // The object stays the same, so nothing is drawn again.
    Object.assign(this.#place, { filter }, pair && { args: pair, pair });
    history.replaceState(history.state, "", hrefOf(this.#place));
  }

  #go(to) {
    const href = hrefOf({ filter: this.#place.filter, ...to });
    if (location.hash !== href) {
      location.hash = href;
      return;
    }
    this.#showTree(to.id === undefined);
    this.#reading.now();
  }

  /** The proposed parent of a new unit. */
  #aboveNew() {
    const unit = this.#units?.get(this.#place.id);
    return unit?.type === "STORE" ? unit.parentId : unit?.id;
  }

  /** Narrow screens show either the tree or the unit, and the focus goes along. */
  #showTree(isShown) {
    const hadFocus = this.#side.contains(document.activeElement);
    this.element.classList.toggle("choosing", isShown);
    if (isShown && this.#place.id !== undefined) this.#side.querySelector("input")?.focus();
    if (hadFocus && this.#side.getClientRects().length === 0) this.#page.focus();
  }
}

function listen(target, type, listener) {
  target?.addEventListener(type, listener);
  return () => target?.removeEventListener(type, listener);
}

/** Replaces the tree if the user may not list units. */
function unitById(onchoose) {
  const id = h("input", { spellcheck: "false", autocomplete: "off", maxlength: 128 });
  const onsubmit = (event) => {
    event.preventDefault();
    if (id.value.trim() !== "") onchoose(id.value.trim());
  };
  const why = `You may not list business units: that needs the permission ${LISTS}, for example from the role exr.editor. You can type the id of one.`;
  const show = button("Show", { type: "submit", class: "primary" });
  return { element: h("form", { class: "stack", onsubmit }, h("p", { class: "hint" }, why), field("Id of a business unit", id), show) };
}
