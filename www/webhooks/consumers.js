/**
 * Consumers, the receivers that ask for events instead of being called: how far behind each is, and removing one.
 */

import { button, confirmed, h, keepFocus, notify } from "../shared/dom.js";
import { icon } from "../shared/icon.js";
import { settled } from "../shared/lost.js";
import { durationText, timeText } from "../shared/time.js";
import { explain } from "./wording.js";

const TITLE = "Receivers that ask for events";
const ABOUT = "A receiver that cannot be called asks for events instead. It begins with its first request:";

/** The list below the webhooks. `show` draws what was read, and nothing for users who may not see events. */
export function consumerList(desk) {
  const list = h("ul", { class: "consumers", "aria-label": TITLE });
  const start = h("div", { class: "consumer-start" }, h("p", { class: "hint" }, ABOUT), h("code", {}, startCommand()));
  const element = h("section", { class: "card stack consumer-card", "aria-label": TITLE, hidden: true }, h("h2", {}, TITLE), list, start);

  return {
    element,
    /** All consumers; undefined for users who may not see events. */
    async read() {
      return desk.may("exe.delivery.read") ? desk.host.consumers() : undefined;
    },
    show(all) {
      element.hidden = all === undefined;
      list.hidden = !all?.length;
      start.hidden = Boolean(all?.length);
      keepFocus(list, () => list.replaceChildren(...(all ?? []).map((consumer) => row(desk, consumer))));
    },
  };
}

function row(desk, consumer) {
  const { name, lastSeenAt } = consumer;
  const { text, tone, image } = progress(consumer);
  return h(
    "li",
    { class: "consumer" },
    h(
      "div",
      { class: "webhook-text" },
      h("h3", { class: "id" }, name),
      h("p", { class: "webhook-state", "data-tone": tone }, h("span", { class: "dot" }, icon(image)), h("span", {}, text)),
      h("p", { class: "hint" }, `Last asked: ${timeText(lastSeenAt)}`),
    ),
    desk.may("exe.webhook.write") && button(`Remove ${name}`, { image: "trash", iconOnly: true, class: "plain", onclick: () => remove(desk, consumer) }),
  );
}

/** How far behind a consumer is: `{ text, tone?, image }`. */
function progress({ waitingSince, reset }) {
  if (reset) return { tone: "deny", image: "alert", text: "It has missed events: they were removed before it asked for them." };
  if (waitingSince === undefined) return { tone: "allow", image: "check", text: "It has everything." };
  return { image: "clock", text: `The oldest event that it has not confirmed came ${durationText(Date.now() - Date.parse(waitingSince))} ago.` };
}

async function remove(desk, { name, createdAt }) {
  const detail = "Its position is deleted. If it asks again, it starts with later events.";
  if (!(await confirmed(`Remove ${name}?`, detail, "Remove"))) return;
  try {
    // A consumer that asks again is a new one.
    const look = async () => !(await desk.host.consumers()).some((each) => each.name === name && each.createdAt === createdAt);
    const [yes, no] = [`${name} was removed.`, `${name} was not removed.`];
    const { isLost } = await settled(() => desk.host.removeConsumer(name), { whether: `${name} was removed`, yes, no, look });
    if (!isLost) notify(yes);
  } catch (error) {
    notify(explain(error));
  }
  desk.reread();
}

/** The first request of a consumer. */
const startCommand = () => `curl -H "Authorization: Bearer $TOKEN" '${new URL("/api/v1/events?consumer=erp&wait=20s", location.href).href}'`;
