/**
 * Tries an unsaved filter on recent events, and counts those that would be delivered. The events are those that have a
 * delivery in the journal, to any webhook.
 */

import { button, h } from "../shared/dom.js";
import { differsInKind, eventOf, matches } from "./event-filter.js";
import { ALL, PING, explain, trialText } from "./wording.js";

/** The number of events to try it on, and of pages of deliveries searched for them. */
const MAX_EVENTS = 20;
const MAX_PAGES = 5;
const PAGE = 100;

/**
 * The button and the result. `types` and `filter` return the form's content, `isComplete` tells if the filter can be tried.
 */
export function filterTrial(desk, { types, filter, isComplete }) {
  const result = h("p", { class: "hint", role: "status" });
  const run = button("Try it on recent events", { image: "eye", onclick: () => read() });
  const element = h("div", { class: "stack tight filter-trial" }, h("div", {}, run), result);
  let events;
  let ofTypes;

  async function read() {
    const asked = JSON.stringify(types());
    result.textContent = "Reading recent events…";
    try {
      const found = await recentEvents(desk.host, types());
      [events, ofTypes] = [found, asked];
      tell();
    } catch (error) {
      result.textContent = explain(error);
    }
  }

  function tell() {
    const conditions = filter();
    if (!isComplete()) result.textContent = "Complete the conditions first.";
    else if (events.length === 0) result.textContent = "There are no recent events of these types.";
    else result.textContent = [verdict(conditions, events), hint(conditions, events)].join(" ").trim();
  }

  return {
    element,
    /** Shows the trial, and the result of the current conditions if events were read already. */
    show(hasConditions) {
      element.hidden = !hasConditions || !desk.may("exe.delivery.read");
      if (events === undefined) return;
      if (ofTypes === JSON.stringify(types())) tell();
      else [events, result.textContent] = [undefined, ""];
    },
  };
}

const verdict = (filter, events) => trialText(events.filter((event) => matches(filter, event)).length, events.length);

/** An easy mistake. */
const hint = (filter, events) =>
  filter.some((condition) => events.some((event) => differsInKind(condition, event))) ? "Some events have a value of another kind: a number as text, or text as a number. Choose its kind." : "";

/** The newest events of some types. */
async function recentEvents(host, types) {
  const found = new Map();
  for (let page = 0, cursor; page < MAX_PAGES && found.size < MAX_EVENTS; page += 1) {
    const { items, next } = await host.deliveries({}, { limit: PAGE, cursor });
    const wanted = items.filter(({ eventType }) => eventType !== PING && (types.includes(ALL) || types.includes(eventType)));
    for (const { id, eventId } of wanted) if (found.size < MAX_EVENTS && !found.has(eventId)) found.set(eventId, id);
    if (next === undefined) break;
    cursor = next;
  }
  const read = await Promise.all([...found.values()].map((id) => host.delivery(id).catch(ignoreNotFound)));
  return read.filter((delivery) => delivery?.request !== undefined).map(({ request }) => eventOf(request.body));
}

const ignoreNotFound = (error) => {
  if (error.status !== 404) throw error;
};
