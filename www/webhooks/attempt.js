/**
 * One attempt of a delivery: its time, its result, and the endpoint's answer.
 */

import { h } from "../shared/dom.js";
import { icon } from "../shared/icon.js";
import { recentText } from "../shared/time.js";
import { answerText, detailText, failureText, tookText } from "./wording.js";

/** The element of an attempt; `number` is its position among all. */
export function attemptLine(attempt, number) {
  const { at, durationMs, status, error, answer } = attempt;
  const text = error === undefined ? `Delivered: the endpoint answered ${answerText(status)}.` : failureText(attempt);
  return h(
    "li",
    { class: "attempt", "data-tone": error === undefined ? "allow" : "deny" },
    h("span", { class: "dot" }, icon(error === undefined ? "check" : "stop")),
    h(
      "div",
      { class: "stack tight" },
      h("p", {}, text),
      h("p", { class: "hint" }, `Attempt ${number}, `, h("time", { datetime: at, title: at }, recentText(at)), `, ${[tookText(durationMs), error && detailText(error)].filter(Boolean).join(". ")}`),
      answer && h("details", { class: "exchange" }, h("summary", {}, "What it answered"), h("pre", { tabindex: "0" }, answer)),
    ),
  );
}
