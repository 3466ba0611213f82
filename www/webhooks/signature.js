/**
 * The signature check: a request is pasted as a receiver got it, and each check that a receiver makes passes or fails in
 * order. All of it happens in this page: nothing that is pasted is sent anywhere.
 */

import { button, choice, debounce, field, h, notify } from "../shared/dom.js";
import { icon } from "../shared/icon.js";
import { check, verdict } from "./checks.js";
import { readEnvelope } from "./event-data.js";
import { readHeaders, splitRequest, writeHeaders } from "./pasted-request.js";
import { explain } from "./wording.js";

const IMAGES = { pass: "check", fail: "stop", open: "ask" };
const WORDS = { pass: "Passes", fail: "Fails", open: "Open" };
const TONES = { pass: "allow", fail: "deny", open: "soft" };

const DELAY_MS = 120;
const ABOUT = "Paste a request as your receiver got it, to see why it was accepted or rejected. Everything is checked in this page. Nothing that you paste leaves it.";

/** The part of the view. */
export function signatureCheck(desk) {
  const head = h("textarea", { rows: 7, spellcheck: "false", autocomplete: "off", class: "pasted", oninput: onhead, placeholder: "Authorization: Bearer …\nX-Service-Signature: HS256=…" });
  const body = h("textarea", { rows: 5, spellcheck: "false", autocomplete: "off", class: "pasted", oninput: () => later(), placeholder: '{"id":"…","data":"…"}' });
  const text = (properties) => h("input", { spellcheck: "false", autocomplete: "off", oninput: () => later(), ...properties });
  const inputs = {
    sharedKey: text({}),
    signatureHeader: text({ placeholder: "X-Service-Signature" }),
    audience: text({ list: "addresses", placeholder: "https://" }),
    email: text({}),
    issuer: text({}),
    username: text({}),
    password: text({}),
  };
  const certificates = h("textarea", { rows: 4, spellcheck: "false", autocomplete: "off", class: "pasted", oninput: () => later(), placeholder: '{"<key id>":"-----BEGIN CERTIFICATE-----…"}' });
  const addresses = h("datalist", { id: "addresses" });
  const take = button("Use this host’s certificates", { class: "plain", onclick: () => takeCertificates() });
  let time = "now";
  const times = choice("Checked as of", [["now", "Now"], ["then", "When it was sent"]], time, (chosen) => ((time = chosen), later()));
  const headField = field("Headers, or the whole request", head);
  const ofBearer = h("div", { class: "stack" }, field("Certificates", certificates, { hint: "By key id, as the sender’s identity provider publishes them." }), take, field("Address of the endpoint", inputs.audience), addresses, field("Sender’s e-mail", inputs.email), field("Issuer", inputs.issuer));
  const ofBasic = h("div", { class: "pair-fields" }, field("User name", inputs.username), field("Password", inputs.password));
  const ofSignature = h("div", { class: "pair-fields" }, field("Shared key", inputs.sharedKey), field("Header of the signature", inputs.signatureHeader));
  const summary = h("p", { class: "verdict", role: "status" });
  const list = h("ol", { class: "checks" });
  const hint = h("p", { class: "hint" });
  const form = h(
    "section",
    { class: "card stack", "aria-label": "The request" },
    h("h2", { tabindex: "-1", "data-start": true }, "Check a signature"),
    h("p", { class: "hint" }, ABOUT),
    headField,
    field("Body", body),
    h("h3", {}, "What the receiver knows"),
    ofSignature,
    ofBearer,
    ofBasic,
    times,
  );
  const results = h("section", { class: "card stack checks-card", "aria-label": "Checks" }, h("h2", {}, "Checks"), summary, list, hint);
  const element = h("div", { class: "signature-panes" }, form, results);
  let turns = 0;
  let wanted;
  let known;

  /** A whole request that was pasted as headers is taken apart. */
  function onhead() {
    const split = splitRequest(head.value);
    if (split.body !== undefined) [head.value, body.value] = [split.head, split.body];
    later();
  }

  const later = debounce(DELAY_MS, run);

  async function run() {
    const turn = (turns += 1);
    const { headers, unread } = readHeaders(head.value);
    showScheme(headers.get("authorization")?.[0] ?? "");
    headField.showFault(unread.length > 0 ? `“${unread[0].slice(0, 60)}” is not a header. Each has a name, a colon and a value, on one line.` : undefined);
    const isEmpty = head.value.trim() === "" && body.value.trim() === "";
    const checks = isEmpty ? [] : await check({ headers, body: body.value }, expected(), asOf(headers));
    if (turn === turns) show(checks);
  }

  /** Only what the request uses is asked for. */
  function showScheme(authorization) {
    const isBasic = /^basic /i.test(authorization);
    ofBasic.hidden = !isBasic;
    ofBearer.hidden = isBasic;
  }

  const expected = () => {
    const filled = Object.entries(inputs).filter(([, { value }]) => value !== "");
    return { ...Object.fromEntries(filled.map(([name, { value }]) => [name, name === "sharedKey" || name === "password" ? value : value.trim()])), certificates: certificates.value };
  };

  /** The time of the checks: now, or that of the body's signature or of the event. */
  function asOf(headers) {
    if (time === "now") return Date.now();
    const signed = /^t=(\d{1,12}),/.exec(headers.get("x-service-body-signature")?.[0] ?? "")?.[1];
    const event = Date.parse(readEnvelope(body.value)?.time ?? "");
    return signed ? Number(signed) * 1000 : Number.isNaN(event) ? Date.now() : event;
  }

  function show(checks) {
    const { state, text } = checks.length === 0 ? { text: "Paste a request to begin." } : verdict(checks);
    summary.dataset.tone = TONES[state] ?? "";
    if (summary.textContent !== text) summary.replaceChildren(...(state ? [icon(IMAGES[state])] : []), h("span", {}, text));
    list.replaceChildren(...checks.map(checkLine));
    hint.textContent = checks.some((each) => each.state === "fail") ? "Receivers stop at the first check that fails. The others are shown to help." : "";
  }

  async function takeCertificates() {
    try {
      certificates.value = JSON.stringify(await desk.host.certificates(), null, 2);
      run();
    } catch (error) {
      notify(explain(error));
    }
  }

  /** Fills in what a delivery carries. Its token is not known to anyone but the receiver. */
  function fill({ request, webhookId }) {
    if (request === undefined) return notify("What was sent is not kept any more.");
    [head.value, body.value] = [writeHeaders(request.headers), request.body];
    inputs.audience.value = request.url;
    inputs.signatureHeader.value = desk.find(webhookId)?.signatureHeader ?? "";
    run();
  }

  run();
  return {
    element,
    title: () => "Check a signature",
    /** Shows what a delivery carries when the address names one. */
    open({ id }) {
      wanted = id;
    },
    async read() {
      if (known !== desk.webhooks) addresses.replaceChildren(...(desk.webhooks ?? []).map(({ callbackUrl, name }) => h("option", { value: callbackUrl }, name)));
      known = desk.webhooks;
      const id = wanted;
      wanted = undefined;
      if (id !== undefined) fill(await desk.host.delivery(id));
    },
    fail: notify,
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
