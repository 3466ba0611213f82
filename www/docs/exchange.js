/**
 * Sends a request and shows its answer: status, time, headers and body, as they arrive. A stream is read until it is stopped.
 */

import { button, h } from "../shared/dom.js";
import { figure } from "../shared/locale.js";
import { TEXT } from "./documents.js";
import { codeBlock, folded, inline } from "./prose.js";

/** The most characters of a body that are shown: the end of a stream, the beginning of others. */
const MAX_SHOWN = 100_000;

const LOST = "There was no answer: the host cannot be reached, or the connection has ended. Send it again once the host answers.";

/** The request and the answer: `{ element, stop, send, close }`. */
export function exchange() {
  const status = h("p", { class: "status-line", role: "status" });
  const content = h("div", { class: "stack tight" });
  const element = h("section", { class: "card stack tight result", "aria-label": "Answer", hidden: true }, h("h2", {}, "Answer"), status, content);
  const stop = button("Stop", { class: "plain", hidden: true, onclick: () => close() });
  let sending;

  const close = () => sending?.abort();
  const say = (tone, ...text) => {
    element.hidden = false;
    element.dataset.tone = tone;
    status.replaceChildren(...text);
    element.scrollIntoView({ block: "nearest" });
  };

  const hideStop = () => {
    if (document.activeElement === stop) stop.form.querySelector("[type=submit]").focus();
    stop.hidden = true;
  };

  /** `getToken` gets the token to send, if any; `meaningOf` explains a status. */
  async function send(url, request, getToken, meaningOf) {
    if (new URL(url).origin !== location.origin) throw new Error(`${url} is not on this host`);
    close();
    const { signal } = (sending = new AbortController());
    stop.hidden = false;
    content.replaceChildren();
    say("none", "Sent. Waiting for the answer…");
    try {
      const headers = getToken ? { ...request.headers, Authorization: `Bearer ${await getToken()}` } : request.headers;
      const begun = performance.now();
      // The token goes to this host only, even if an answer redirects.
      const response = await fetch(url, { ...request, headers, signal, mode: "same-origin", credentials: "omit", cache: "no-store" });
      const time = `${Math.round(performance.now() - begun)} ms`;
      const meaning = meaningOf(response.status) ?? "The document does not list this status.";
      content.append(headersOf(response.headers));
      await show(response, (more) => say(response.ok || response.status === 304 ? "allow" : "deny", h("b", {}, `${response.status} ${response.statusText}`.trim()), ` in ${time}, ${more}`, h("span", { class: "meaning" }, inline(meaning))));
    } catch (error) {
      if (signal.aborted && !content.firstChild) say("none", "Stopped before there was an answer.");
      else if (!signal.aborted) say("deny", error.code ? `It was not sent: ${error.message}.` : LOST);
    } finally {
      if (sending.signal === signal) hideStop();
    }
  }

  /** Shows a body as it arrives, and calls `tell` with the part received so far. */
  async function show(response, tell) {
    const type = response.headers.get("Content-Type") ?? "";
    if (type.startsWith("text/event-stream")) return showStream(response.body, tell);
    const bytes = await response.arrayBuffer();
    const size = `${figure(bytes.byteLength)} bytes`;
    if (bytes.byteLength === 0 || !TEXT.test(type)) return tell(bytes.byteLength === 0 ? "without a body" : `${size} of ${type || "no media type"}`);
    const text = new TextDecoder().decode(bytes);
    const shown = /json/.test(type) ? indented(text) : text;
    content.prepend(codeBlock("The body", shown.slice(0, MAX_SHOWN)));
    tell(shown.length > MAX_SHOWN ? `${size}, only the beginning is shown` : size);
  }

  async function showStream(stream, tell) {
    const block = codeBlock("The events", "");
    const pre = block.firstChild;
    content.prepend(block);
    tell("events arrive as they happen, until you stop");
    try {
      const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return tell("the host has ended the stream");
        const isAtEnd = pre.scrollTop + pre.clientHeight >= pre.scrollHeight - 8;
        pre.textContent = (pre.textContent + value).slice(-MAX_SHOWN);
        if (isAtEnd) pre.scrollTop = pre.scrollHeight;
      }
    } catch (error) {
      tell(error.name === "AbortError" ? "stopped" : "the connection has ended");
    }
  }

  return { element, stop, send, close };
}

function headersOf(headers) {
  const text = [...headers].map(([name, value]) => `${name}: ${value}`).join("\n");
  return folded("Headers", h("pre", { tabindex: "0", "aria-label": "Headers of the answer" }, text));
}

/** Puts each member of JSON on a line, and keeps its numbers as sent. */
function indented(json) {
  let depth = 0;
  const tokens = json.match(/"(?:[^"\\]|\\.)*"|[{[]\s*[}\]]|[{}[\],:]|[^\s{}[\],:"]+/g) ?? [];
  const line = (by) => `\n${"  ".repeat((depth += by))}`;
  const written = { "{": () => `{${line(1)}`, "[": () => `[${line(1)}`, "}": () => `${line(-1)}}`, "]": () => `${line(-1)}]`, ",": () => `,${line(0)}`, ":": () => ": " };
  return tokens.map((token) => written[token]?.() ?? token.replace(/^([{[])\s+/, "$1")).join("");
}
