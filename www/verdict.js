/**
 * A decision, large: what it is, why, and what each check says. Spoken when typing pauses.
 */

import { h, icon, paused } from "./dom.js";
import { ALLOWS, DECISIONS, fault, reason, worst } from "./words.js";

/** The card; `show` takes an item's decision, `fail` an error. */
export function verdict() {
  const mark = h("div", { class: "mark" });
  const title = h("p", { class: "verdict-title" });
  const why = h("p", { class: "verdict-why" });
  const checks = h("ul", { class: "checks" });
  const spoken = h("p", { class: "unseen", role: "status", "aria-live": "polite" });
  const card = h("section", { class: "verdict", "aria-label": "Decision" }, h("div", { class: "verdict-head" }, mark, h("div", {}, title, why)), checks, spoken);
  const speak = paused(400, () => (spoken.textContent = `${title.textContent}. ${why.textContent}`));

  const draw = (tone, image, words, sentence, rows) => {
    card.dataset.tone = tone;
    mark.replaceChildren(icon(image));
    title.textContent = words;
    why.textContent = sentence;
    checks.replaceChildren(...rows);
    checks.hidden = rows.length === 0;
    speak();
  };

  return {
    element: card,
    show(decision, nothing = "No rule speaks against it.") {
      const { tone, image, title } = DECISIONS[worst(decision.results.map((result) => result.decision))];
      const speaking = decision.results.filter((result) => result.reason !== null);
      const hard = speaking.filter((result) => result.decision === "HARD_DENY");
      const sentences = new Set((hard.length > 0 ? hard : speaking).map((result) => reason(result.reason)));
      draw(tone, image, title, [...sentences].join(" ") || nothing, decision.results.map(check));
    },
    fail(error) {
      if (error.code === "not_found") {
        draw("none", "alert", "No such condition", "No condition of this id is in force: it is missing, or switched off.", []);
      } else {
        draw("none", "alert", "Not a question yet", error.faults?.map(fault).join(" ") ?? error.message, []);
      }
    },
  };
}

/** A line for one check. */
export function check(result) {
  const { tone, image } = DECISIONS[result.decision];
  return h(
    "li",
    { "data-tone": tone },
    h("span", { class: "dot" }, icon(image)),
    h("span", { class: "check-name" }, result.id ?? (result.restriction === "itemId" ? "item id" : (result.restriction ?? "project"))),
    h("span", { class: "check-why" }, result.reason === null ? ALLOWS : reason(result.reason)),
  );
}

/** What a till sends and gets, for who builds one; `show` takes both. */
export function wire() {
  const sent = h("pre", { tabindex: "0" });
  const got = h("pre", { tabindex: "0" });
  const element = h("details", { class: "wire" }, h("summary", {}, "What a till sends and gets"), h("h3", {}, "It sends"), sent, h("h3", {}, "It gets"), got);
  return {
    element,
    show(path, request, answer) {
      sent.textContent = `POST ${path}\n\n${JSON.stringify(request, null, 2)}`;
      const { status, code, faults } = answer;
      got.textContent = JSON.stringify(answer instanceof Error ? { status, code, faults } : answer, null, 2);
    },
  };
}
