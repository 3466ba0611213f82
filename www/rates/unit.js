/**
 * A business unit: its place in the tree, and its tabs. Draws what it is given; `rates.js` decides what is read when.
 */

import { h } from "../shared/dom.js";
import { icon } from "../shared/icon.js";
import { TABS, hrefOf } from "./address.js";
import { converter } from "./converter.js";
import { unitDetails } from "./details.js";
import { rateHistory } from "./history.js";
import { messageLog } from "./log.js";
import { unitName } from "./unit-name.js";
import { usedRates } from "./used.js";
import { KINDS } from "./wording.js";

const TITLES = { rates: "Rates", history: "History", convert: "Convert", messages: "Messages", details: "Details" };

/** The unit; `onall` shows the tree on narrow screens. */
export function unitPage(desk, { received, onall }) {
  const tabs = {
    rates: usedRates(desk),
    history: rateHistory(desk),
    convert: converter(desk),
    messages: messageLog(desk, received),
    details: unitDetails(desk),
  };
  const crumbs = h("nav", { class: "crumbs", "aria-label": "Units above" });
  const title = h("h2", { class: "unit-title", tabindex: "-1" });
  const links = TABS.map((tab) => h("a", { "data-tab": tab }, TITLES[tab]));
  const tabNav = h("nav", { class: "tabs", "aria-label": "About this unit" }, links);
  const body = h("div", { class: "unit-body" });
  const message = h("div", { class: "empty-state", hidden: true });
  const element = h("section", { class: "unit", "aria-label": "Business unit" }, crumbs, title, tabNav, message, body);
  let place;

  function showHead({ id, units }) {
    const unit = units?.get(id);
    const above = units === undefined ? [] : units.path(id).slice(1).reverse();
    crumbs.replaceChildren(
      h("button", { type: "button", class: "plain to-tree", onclick: onall }, "All units"),
      ...above.map((each) => h("a", { href: hrefOf({ id: each.id, tab: place.tab }), dir: "auto" }, each.name ?? each.id)),
    );
    crumbs.classList.toggle("empty", above.length === 0);
    const kind = unit && KINDS[unit.type];
    const name = h("span", {}, unitName(unit?.name ?? id, id));
    title.replaceChildren(...(kind ? [icon(kind.image), name, h("span", { class: "tag" }, kind.word)] : [name]));
    for (const link of links) {
      link.href = hrefOf({ id, tab: link.dataset.tab });
      if (link.dataset.tab === place.tab) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
  }

  return {
    element,
    /** Shows a tab before its rates arrive. */
    begin(asked, units) {
      const hadFocus = element.contains(document.activeElement);
      const isOther = asked.id !== place?.id;
      place = asked;
      showHead({ id: place.id, units });
      message.hidden = true;
      // The content of another unit stays until this one's is read, and must not be mistaken for it.
      if (isOther) body.inert = true;
      if (body.firstElementChild !== tabs[place.tab].element) body.replaceChildren(tabs[place.tab].element);
      // The user followed a link to another unit, or one that no longer exists.
      if (hadFocus && (isOther || !element.contains(document.activeElement))) title.focus();
    },
    /** Shows the rates of the unit: `{ id, used, setRates, units }`. */
    show(data) {
      showHead(data);
      message.hidden = true;
      body.hidden = body.inert = false;
      tabs[place.tab].show(data, place);
    },
    /** Says why there is nothing to show. */
    fail(heading, sentence) {
      message.replaceChildren(icon("alert"), h("h2", {}, heading), h("p", {}, sentence));
      message.hidden = false;
      body.hidden = true;
    },
    focus() {
      title.focus();
    },
    showMessages() {
      if (place?.tab === "messages") tabs.messages.refresh();
    },
  };
}
