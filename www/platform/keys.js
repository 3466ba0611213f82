/**
 * The keys that sign tokens, and those that sign deliveries: their age, and replacing the one that signs.
 */

import { button, confirmed, h, notify } from "../shared/dom.js";
import { settled } from "../shared/lost.js";
import { durationText, timeText } from "../shared/time.js";
import { explain } from "./wording.js";

/** The rings: what each signs, and the effect of replacing its key. */
const RINGS = {
  tokens: {
    title: "Token keys",
    question: "Replace the token key?",
    about: "They sign the tokens that clients get, and statements.",
    effect:
      "A new key is published now and signs in about five minutes. Tokens signed with the old key are accepted until they expire, and it is removed an hour after it last signed. Nothing stops working, except services that keep " +
      "published keys for longer than five minutes: they refuse new tokens until they read the keys again.",
  },
  webhooks: {
    title: "Webhook keys",
    question: "Replace the webhook key?",
    about: "They sign the bearer tokens that deliveries carry.",
    effect:
      "A new key is published now and signs in about an hour. Tokens signed with the old key are accepted until they expire, and it is removed after that. Nothing stops working, except receivers that keep published keys for " +
      "longer than an hour: they refuse deliveries until they read the keys again.",
  },
};

export function keyRings(desk) {
  const rings = Object.entries(RINGS).map(([ring, words]) => keyRing(desk, ring, words));
  return {
    element: h("div", { class: "stack lists" }, rings.map(({ element }) => element)),
    open() {},
    read: () => Promise.all(rings.map((each) => each.read())),
    fail: (sentence) => rings.forEach((each) => each.fail(sentence)),
  };
}

function keyRing(desk, ring, { title, question, about, effect }) {
  const list = h("ul", { class: "rows" });
  const rotate = desk.may("iam.keys.rotate") && button("Replace the key", { image: "retry", "aria-label": `Replace the key: ${title}`, onclick: () => replace() });
  const message = h("p", { class: "message" });
  const element = h("section", { "aria-label": title }, h("div", { class: "heading" }, h("div", { class: "entries-title" }, h("h2", {}, title), h("p", { class: "hint" }, about)), rotate), list, message);

  async function replace() {
    if (!(await confirmed(question, effect, "Replace"))) return;
    const [yes, no] = ["A new key was published.", "No new key was published."];
    try {
      const before = new Set((await desk.host.keys(ring)).map(({ kid }) => kid));
      const look = async () => (await desk.host.keys(ring)).some(({ kid }) => !before.has(kid));
      const { isLost } = await settled(() => desk.host.rotate(ring), { whether: "a new key was published", yes, no, look });
      if (!isLost) notify(yes);
    } catch (error) {
      notify(explain(error));
    }
    desk.reread();
  }

  return {
    element,
    async read() {
      try {
        const keys = await desk.host.keys(ring);
        message.textContent = "";
        list.replaceChildren(...keys.toReversed().map(keyRow));
      } catch (error) {
        // A host may have only one of the rings.
        if (error.isTemporary) throw error;
        message.textContent = explain(error);
      }
    },
    fail: (sentence) => (message.textContent = sentence),
  };
}

function keyRow({ kid, status, signsFrom, until }) {
  const age = durationText(Date.now() - Date.parse(signsFrom));
  const text = {
    published: `Signs from ${timeText(signsFrom)}`,
    signing: `${age} old: it has signed since ${timeText(signsFrom)}`,
    retiring: `No longer signs. Removed ${until === undefined ? "soon" : `after ${timeText(until)}`}`,
  }[status];
  const title = { published: "The next key", signing: "The key that signs", retiring: "An old key" }[status];
  return h("li", { class: "entry" }, h("div", { class: "entry-text" }, h("h3", {}, title), h("p", {}, text), h("p", { class: "id hint" }, kid)));
}
