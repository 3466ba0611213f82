/**
 * The decision about an item, in large type: what it is, why, and the result of each check. The decision of a draft is marked,
 * and shows what tills answer today. Screen readers announce it when typing pauses.
 */

import { TillgateError } from "../../js/src/index.js";
import { HOST } from "../shared/caller.js";
import { curlOf } from "../shared/curl.js";
import { button, debounce, h } from "../shared/dom.js";
import { faultText } from "../shared/faults.js";
import { icon } from "../shared/icon.js";
import { counted } from "../shared/messages.js";
import { ordinary, triesOf } from "./why.js";
import { DECISIONS, resultText, worst } from "./wording.js";

/** The most reasons beside the decision, and values in each; all of them stand below it. */
const MAX_REASONS = 3;
const MAX_VALUES = 4;

/** The decision that a call returns, or the error that it throws. */
export function attempt(call) {
  try {
    return call();
  } catch (error) {
    if (error instanceof TillgateError) return error;
    throw error;
  }
}

/**
 * A decision in words: `{ tone, image, title, why, rows }`. `answer` is the decision about an item, explained, or an error.
 * `by` names the rule, and `isOff` means that the condition is switched off. `ontry` gets the changes that would lift a
 * denial, to fill them in, and `onrule` shows the rule of a result, if possible.
 */
export function verdict(answer, { by, isOff = false, ontry, onrule }) {
  if (answer instanceof Error) return refusal(answer, isOff);
  const decision = worst(answer.results.map((result) => result.decision));
  const { tone, image, title, verb } = DECISIONS[decision];
  const denials = answer.results.filter((result) => result.reason !== null);
  const hard = denials.filter((result) => result.decision === "HARD_DENY");
  const sentences = [...new Set((hard.length > 0 ? hard : denials).map((result) => resultText(result, MAX_VALUES)))];
  const more = sentences.length - MAX_REASONS;
  const why = [`${by} ${verb}.`, ...sentences.slice(0, MAX_REASONS), ...(more > 0 ? [`And ${counted(more, "more reason")}.`] : [])];
  return { tone, image, title, why: why.join(" "), rows: ontry ? answer.results.map((result) => resultRow(result, { ontry, onrule })) : [] };
}

function refusal(error, isOff) {
  const none = { tone: "none", image: "alert", rows: [] };
  if (error.status !== 404) return { ...none, title: "Cannot be decided yet", why: error.faults?.map(faultText).join(" ") ?? error.message };
  if (isOff) return { ...none, image: "pause", title: "Switched off", why: "Tills that ask for this condition get an error, as if it did not exist." };
  return { ...none, title: "No such condition", why: "No condition has this id. Tills that ask for it get an error." };
}

/** The card: `show` takes a verdict and, for a draft, the verdict of `today`. */
export function decisionCard() {
  const mark = h("div", { class: "mark" });
  const when = h("p", { class: "decision-when" });
  const title = h("p", { class: "decision-title" });
  const why = h("p", { class: "decision-why" });
  const now = h("p", { class: "decision-now" });
  const results = h("ul", { class: "results" });
  const status = h("p", { class: "visually-hidden", role: "status", "aria-live": "polite" });
  const head = h("div", { class: "decision-head" }, mark, h("div", {}, when, title, why));
  const element = h("section", { class: "decision", "aria-label": "Decision", tabindex: "-1" }, head, now, results, status);
  const announce = debounce(400, () => {
    const said = [when.textContent + title.textContent, why.textContent, now.textContent].filter((text) => text !== "");
    status.textContent = said.map((text) => text.replace(/\.$/, "")).join(". ").concat(".");
  });

  return {
    element,
    show(decided, today) {
      element.dataset.tone = decided.tone;
      element.classList.toggle("of-draft", today !== undefined);
      mark.replaceChildren(icon(decided.image));
      when.textContent = today ? "If you saved this: " : "";
      title.textContent = decided.title;
      why.textContent = decided.why;
      now.replaceChildren(...(today ? todayText(today) : []));
      results.replaceChildren(...decided.rows);
      results.hidden = decided.rows.length === 0;
      announce();
    },
  };
}

const todayText = ({ tone, image, title, why }) => [
  h("span", { class: "dot", "data-tone": tone }, icon(image)),
  h("span", {}, "Today: ", h("b", {}, title), `. ${why}`),
];

function resultRow(result, { ontry, onrule }) {
  const { tone, image } = DECISIONS[result.decision];
  const rule = onrule && result.reason !== null && button("See the rule", { class: "link", onclick: () => onrule(result) });
  return h(
    "li",
    { "data-tone": tone },
    h("span", { class: "dot" }, icon(image)),
    h("span", { class: "result-name", dir: "auto" }, result.id ?? resultName(result)),
    h("div", { class: "result-why" }, h("p", {}, resultText(result)), tryButtons([result], ontry, rule)),
  );
}

const resultName = ({ rule, restriction }) => {
  if (rule !== "PROJECT_RESTRICTION") return "new rule";
  return restriction === "itemId" ? "item id" : (restriction ?? "project");
};

/**
 * The request and the response in JSON, for developers of tills, and the command that asks the host for reasons. The response
 * is the one for tills, which do not ask for them.
 */
export function exchangeDetails() {
  const pre = (label) => h("pre", { tabindex: "0", "aria-label": label });
  const [sent, received, command] = ["Request", "Response", "Ask why with curl"].map(pre);
  const summary = h("summary", {});
  const responseTitle = h("h2", {});
  const note = h("p", { class: "hint" }, "No till gets this response: the rule is a draft, which only this page knows.");
  const onclick = async () => (await import("../shared/copy.js")).copy(command.textContent, "The command");
  const asking = h("div", {}, h("h2", {}, "Ask why with curl"), command, button("Copy the command", { image: "copy", class: "plain", onclick }));
  const docs = h("p", {}, h("a", { href: "docs", target: "_blank", rel: "opener" }, "All operations of the API"));
  const parts = [note, h("h2", {}, "Request"), sent, responseTitle, received, asking, docs];
  const element = h("details", { class: "exchange", hidden: true }, summary, parts);
  return {
    element,
    show(path, request, answer, { isDraft = false } = {}) {
      element.hidden = false;
      element.classList.toggle("of-draft", isDraft);
      summary.textContent = isDraft ? "Request and response of your draft, for developers" : "Request and response, for developers";
      responseTitle.textContent = isDraft ? "Response, if you saved this" : "Response";
      note.hidden = !isDraft;
      asking.hidden = isDraft;
      sent.textContent = `POST ${path}\n\n${JSON.stringify(request, null, 2)}`;
      const { status, code, faults } = answer;
      received.textContent = JSON.stringify(answer instanceof Error ? { status, code, faults } : ordinary(answer), null, 2);
      command.textContent = curlOf({
        url: `${HOST}${path}?explain=true`,
        headers: { Authorization: "Bearer", "Content-Type": "application/json" },
        body: JSON.stringify(request),
      });
    },
  };
}

/**
 * Buttons that fill in what would lift a denial, and the way to the rule that denies. `ontry` gets what to fill in, and `rule`
 * is the link to the rule, or the button that shows it.
 */
export function tryButtons(results, ontry, rule) {
  const tries = new Map(results.flatMap(triesOf).map(({ text, change }) => [text, change]));
  const onclick = (change) => ({ currentTarget }) => {
    const card = currentTarget.closest(".decision");
    ontry(change);
    // The buttons are redrawn with the decision.
    if (!currentTarget.isConnected) card.focus();
  };
  const buttons = [...tries].map(([text, change]) => button(text, { class: "offer", onclick: onclick(change), dir: "auto" }));
  return buttons.length > 0 || rule ? h("div", { class: "tries" }, buttons, rule) : undefined;
}
