/**
 * The signature check: the user pastes a request as a receiver got it, and each check of a receiver passes or fails in order.
 * All of it happens in this page: nothing is sent anywhere.
 */

import { choice, debounce, h, notify } from "../shared/dom.js";
import { icon } from "../shared/icon.js";
import { check, verdict } from "./checks.js";
import { readEnvelope } from "./event-data.js";
import { expectedFields } from "./expected-fields.js";
import { requestFields } from "./request-fields.js";

const IMAGES = { pass: "check", fail: "stop", open: "ask" };
const WORDS = { pass: "Passes", fail: "Fails", open: "Open" };
const TONES = { pass: "allow", fail: "deny", open: "soft" };

const DELAY_MS = 120;
const ABOUT = "Paste a request as your receiver got it, to see why it was accepted or rejected. Everything is checked in this page. Nothing that you paste leaves it.";

export function signatureCheck(desk) {
  const later = debounce(DELAY_MS, run);
  const request = requestFields(later);
  const expected = expectedFields(desk, { onchange: later, onfill: run });
  let isNow = true;
  const times = choice("Checked as of", [["now", "Now"], ["then", "When it was sent"]], "now", (chosen) => ((isNow = chosen === "now"), later()));
  const results = resultsCard();
  const form = h(
    "section",
    { class: "card stack", "aria-label": "The request" },
    h("h2", { tabindex: "-1", "data-start": true }, "Check a signature"),
    h("p", { class: "hint" }, ABOUT),
    request.elements,
    h("h3", {}, "What the receiver knows"),
    expected.elements,
    times,
  );
  let turns = 0;
  let wanted;
  let known;

  async function run() {
    const turn = (turns += 1);
    const { headers, body, isEmpty } = request.read();
    expected.showScheme(headers.get("authorization")?.[0] ?? "");
    const now = isNow ? Date.now() : sentAt(headers, body);
    const checks = isEmpty ? [] : await check({ headers, body }, expected.value(), now);
    if (turn === turns) results.show(checks);
  }

  /** Fills in the content of a delivery. Only the receiver knows its token. */
  function fill({ request: sent, webhookId }) {
    if (sent === undefined) return notify("The sent request is no longer stored.");
    request.fill(sent);
    expected.fill({ audience: sent.url, signatureHeader: desk.find(webhookId)?.signatureHeader ?? "" });
    run();
  }

  run();
  return {
    element: h("div", { class: "signature-panes" }, form, results.element),
    title: () => "Check a signature",
    /** Shows the content of a delivery if the address names one. */
    open({ id }) {
      wanted = id;
    },
    async read() {
      if (known !== desk.webhooks) expected.offer(desk.webhooks);
      known = desk.webhooks;
      const id = wanted;
      wanted = undefined;
      if (id !== undefined) fill(await desk.host.delivery(id));
    },
    fail: notify,
  };
}

/** The time of a request: of its signatures, or of the event. */
function sentAt(headers, body) {
  const first = (name) => headers.get(name)?.[0] ?? "";
  const [, signed] = /^(\d{1,12})$/.exec(first("webhook-timestamp")) ?? /^t=(\d{1,12}),/.exec(first("x-service-body-signature")) ?? [];
  const event = Date.parse(readEnvelope(body)?.time ?? "");
  return signed ? Number(signed) * 1000 : Number.isNaN(event) ? Date.now() : event;
}

/** The checks and their result. */
function resultsCard() {
  const summary = h("p", { class: "verdict", role: "status" });
  const list = h("ol", { class: "checks" });
  const hint = h("p", { class: "hint" });
  return {
    element: h("section", { class: "card stack checks-card", "aria-label": "Checks" }, h("h2", {}, "Checks"), summary, list, hint),
    show(checks) {
      const { state, text } = checks.length === 0 ? { text: "Paste a request to begin." } : verdict(checks);
      summary.dataset.tone = TONES[state] ?? "";
      if (summary.textContent !== text) summary.replaceChildren(...(state ? [icon(IMAGES[state])] : []), h("span", {}, text));
      list.replaceChildren(...checks.map(checkLine));
      hint.textContent = checks.some((each) => each.state === "fail") ? "Receivers stop at the first check that fails. The others are shown to help." : "";
    },
  };
}

function checkLine({ title, state, detail }) {
  return h(
    "li",
    { "data-tone": TONES[state] },
    h("span", { class: "dot" }, icon(IMAGES[state])),
    h("h3", {}, title, h("span", {}, WORDS[state])),
    h("p", {}, detail),
  );
}
