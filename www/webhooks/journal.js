/**
 * The deliveries of a filter, newest first. New ones appear by themselves; older ones are read on demand. The address holds
 * the filter.
 */

import { button, h } from "../shared/dom.js";
import { icon } from "../shared/icon.js";
import { deliveriesHref } from "./address.js";
import { Deliveries } from "./deliveries.js";
import { deliveryTable } from "./delivery-table.js";
import { deliveryFilter } from "./filter.js";
import { publishEvent } from "./publish.js";
import { mayReplay, replayList, replayThose } from "./replay.js";
import { deliveriesText, filterText } from "./wording.js";

export function journal(desk) {
  const filter = deliveryFilter(desk, (next) => desk.go(deliveriesHref(next)));
  const table = deliveryTable(desk);
  const replays = replayList(desk, () => deliveries.suspect());
  const about = h("p", { class: "hint", role: "status" });
  const publish = button("Send an event", { image: "plus", onclick: () => publishEvent(desk) });
  const again = button("Send these again", { image: "retry", onclick: () => replayThose(desk, replays, filter.value()) });
  const older = button("Show older ones", { class: "plain", onclick: () => readOlder() });
  const empty = h("div", { class: "empty-state" });
  const toolbar = h("div", { class: "toolbar" }, about, h("div", { class: "toolbar-actions" }, publish, again));
  const element = h("div", { class: "stack journal" }, replays.element, filter.element, toolbar, table.element, empty, h("div", { class: "more" }, older));
  let deliveries;
  let isSearching = false;

  function draw({ isQuiet = false } = {}) {
    const all = deliveries.all();
    table.show(all, isQuiet);
    table.element.hidden = all.length === 0;
    about.textContent = !deliveries.isRead ? "Reading…" : all.length === 0 ? "" : `${deliveriesText(all.length)} shown`;
    older.hidden = !deliveries.hasOlder;
    older.textContent = isSearching ? "Looking for older ones…" : all.length === 0 ? "Go on looking" : "Show older ones";
    again.hidden = !desk.may("exe.delivery.replay") || !mayReplay(desk, filter.value(), { shown: all, hasOlder: deliveries.hasOlder });
    publish.hidden = !desk.may("exe.event.publish");
    empty.hidden = all.length > 0 || !deliveries.isRead;
    empty.replaceChildren(...emptyTexts(filter.value(), deliveries.hasOlder));
  }

  async function readOlder() {
    if (isSearching) return;
    const asked = deliveries;
    isSearching = true;
    draw();
    try {
      await asked.readOlder();
    } catch {
      // The connection's state shows that the host cannot be reached; the button stays.
    }
    isSearching = false;
    if (asked === deliveries) draw({ isQuiet: true });
  }

  return {
    element,
    needsDeliveries: true,
    title: () => filterText(filter.value(), desk.name),
    open(place) {
      const isOther = deliveries === undefined || JSON.stringify(place.filter) !== JSON.stringify(filter.value());
      filter.show(place.filter);
      if (!isOther) return deliveries.suspect();
      deliveries = new Deliveries(desk.host, place.filter);
      table.clear();
      draw();
    },
    async read() {
      const asked = deliveries;
      filter.offer();
      await asked.renew();
      if (asked === deliveries) draw();
    },
    fail(sentence) {
      table.element.hidden = true;
      about.textContent = "";
      empty.hidden = false;
      empty.replaceChildren(icon("alert"), h("h2", {}, "This cannot be shown"), h("p", {}, sentence));
    },
  };
}

function emptyTexts(filter, hasOlder) {
  if (Object.keys(filter).length === 0) return [h("h2", {}, "No deliveries yet"), h("p", {}, "Each event that is sent to a webhook appears here, with every attempt.")];
  return [icon("search"), h("p", {}, hasOlder ? "None of the newer deliveries match the filter." : "No delivery matches the filter.")];
}
