/**
 * The decision about an item, in large type: what it is, why, and the result of each check. Screen readers announce it
 * when typing pauses.
 */

import { debounce, h, icon } from "./dom.js";
import { DECISIONS, faultText, reasonText, worst } from "./messages.js";

/** The card. `show` takes the decision about an item, `fail` an error. */
export function decisionCard() {
  const mark = h("div", { class: "mark" });
  const title = h("p", { class: "decision-title" });
  const why = h("p", { class: "decision-why" });
  const results = h("ul", { class: "results" });
  const status = h("p", { class: "visually-hidden", role: "status", "aria-live": "polite" });
  const head = h("div", { class: "decision-head" }, mark, h("div", {}, title, why));
  const element = h("section", { class: "decision", "aria-label": "Decision" }, head, results, status);
  const announce = debounce(400, () => (status.textContent = `${title.textContent}. ${why.textContent}`));

  const draw = (tone, image, heading, sentence, rows) => {
    element.dataset.tone = tone;
    mark.replaceChildren(icon(image));
    title.textContent = heading;
    why.textContent = sentence;
    results.replaceChildren(...rows);
    results.hidden = rows.length === 0;
    announce();
  };

  return {
    element,
    show(decision, allowed = "No rule forbids it.") {
      const { tone, image, title } = DECISIONS[worst(decision.results.map((result) => result.decision))];
      const denials = decision.results.filter((result) => result.reason !== null);
      const hard = denials.filter((result) => result.decision === "HARD_DENY");
      const sentences = new Set((hard.length > 0 ? hard : denials).map((result) => reasonText(result.reason)));
      draw(tone, image, title, [...sentences].join(" ") || allowed, decision.results.map(resultRow));
    },
    fail(error) {
      if (error.code === "not_found") {
        draw("none", "alert", "No such condition", "No condition with this id is in force: it does not exist or is switched off.", []);
      } else {
        draw("none", "alert", "Cannot be decided yet", error.faults?.map(faultText).join(" ") ?? error.message, []);
      }
    },
  };
}

function resultRow(result) {
  const { tone, image } = DECISIONS[result.decision];
  return h(
    "li",
    { "data-tone": tone },
    h("span", { class: "dot" }, icon(image)),
    h("span", { class: "result-name" }, result.id ?? (result.restriction === "itemId" ? "item id" : (result.restriction ?? "project"))),
    h("span", { class: "result-why" }, reasonText(result.reason)),
  );
}

/** The request and the response in JSON, for developers of tills. */
export function exchangeDetails() {
  const sent = h("pre", { tabindex: "0" });
  const received = h("pre", { tabindex: "0" });
  const summary = h("summary", {}, "Request and response, for developers");
  const element = h("details", { class: "exchange" }, summary, h("h3", {}, "Request"), sent, h("h3", {}, "Response"), received);
  return {
    element,
    show(path, request, answer) {
      sent.textContent = `POST ${path}\n\n${JSON.stringify(request, null, 2)}`;
      const { status, code, faults } = answer;
      received.textContent = JSON.stringify(answer instanceof Error ? { status, code, faults } : answer, null, 2);
    },
  };
}
