/**
 * Basket mode: all lines at once, the worst decision, and what is left to ask the operator.
 */

import { TillgateError } from "../js/src/browser.js";
import { agreement } from "./agreement.js";
import { customer } from "./customer.js";
import { button, field, h, icon, paused } from "./dom.js";
import { wire } from "./verdict.js";
import { DECISIONS, counted, fault, projectName, reason, worst } from "./words.js";

/** With more conditions than this, a line shows its own alone. */
const MANY = 8;

/** What a mode of the preview has: its panes, and how to take a new catalog. */
export function basket(session) {
  const badge = agreement(session);
  const talk = wire();
  const lines = h("ol", { class: "lines" });
  const buyer = customer(decide);
  const project = h("select", { onchange: decide });
  const head = h("div", { class: "verdict-head" });
  const todo = h("ul", { class: "checks" });
  const spoken = h("p", { class: "unseen", role: "status", "aria-live": "polite" });
  const card = h("section", { class: "verdict", "aria-label": "Decision about the basket" }, head, todo, spoken);
  const speak = paused(400, (text) => (spoken.textContent = text));
  const add = button("Add a line", { image: "plus", class: "plain", onclick: () => addLine("", []).querySelector("input").focus() });

  const addLine = (id, conditionIds) => {
    const name = h("input", { value: id, placeholder: "item id", spellcheck: "false", "aria-label": "Item id", oninput: decide });
    const chips = h("div", { class: "chips", role: "group", "aria-label": "Conditions of this item" });
    const mark = h("span", { class: "dot" });
    const why = h("p", { class: "line-why" });
    const drop = button("Remove this line", {
      image: "close",
      quiet: true,
      class: "plain",
      onclick: () => {
        line.remove();
        add.focus();
        decide();
      },
    });
    const line = h("li", { class: "line" }, h("div", { class: "line-head" }, mark, name, drop), chips, why);
    line.read = () => ({ id: name.value, conditionIds: [...chips.querySelectorAll("input:checked")].map(({ value }) => value) });
    let offered;
    line.offer = (ids) => {
      // What is focused stays focused when something else has changed.
      if (offered === ids.join()) return;
      const chosen = new Set(offered === undefined ? conditionIds : line.read().conditionIds);
      offered = ids.join();
      const chip = (value) =>
        h("label", { class: "chip" }, h("input", { type: "checkbox", value, checked: chosen.has(value), onchange: decide }), h("span", {}, value));
      const few = ids.length <= MANY ? ids : ids.filter((value) => chosen.has(value));
      chips.replaceChildren(...few.map(chip));
      if (few.length < ids.length) chips.append(more(ids.filter((value) => !chosen.has(value)), (value) => chips.prepend(chip(value)), chosen));
    };
    line.show = (decided) => {
      const { tone, image, short } = DECISIONS[decided.decision];
      line.dataset.tone = tone;
      mark.replaceChildren(icon(image), h("span", { class: "unseen" }, short));
      why.textContent = decided.sentences.join(" ");
    };
    line.addEventListener("added", decide);
    line.offer(session.inForce().map(({ id }) => id));
    lines.append(line);
    decide();
    return line;
  };

  function decide() {
    if (!lines.isConnected && lines.children.length === 0) return;
    const all = [...lines.children];
    if (all.length === 0) {
      draw("none", "basket", "The basket is empty", "Add a line to see what the till would say.", []);
      badge.element.hidden = true;
      return;
    }
    badge.element.hidden = false;
    const request = { items: all.map((line) => line.read()), context: { customer: buyer.value() } };
    if (project.value !== "") request.projectId = project.value;
    let answer;
    try {
      answer = session.catalog.evaluateBasket(request);
      show(answer, all);
    } catch (error) {
      if (!(error instanceof TillgateError)) throw error;
      answer = error;
      for (const line of all) line.removeAttribute("data-tone");
      draw("none", "alert", "Not a question yet", error.faults.map(fault).join(" "), []);
    }
    talk.show("/api/v1/evaluations", request, answer);
    badge.ask("evaluateBasket", [request], answer);
  }

  const show = (answer, all) => {
    const decided = answer.items.map(lineDecision);
    all.forEach((line, at) => line.show(decided[at]));
    const { tone, image } = DECISIONS[answer.decision];
    const questions = new Set(decided.flatMap(({ ask }) => ask));
    const out = decided.filter(({ decision }) => decision === "HARD_DENY").length;
    const title = { ALLOW: "Sell the basket", SOFT_DENY: "Ask first", HARD_DENY: `Take out ${counted(out, "item")}` }[answer.decision];
    const sentence = answer.allow ? "No rule speaks against any item." : "What the operator is told:";
    const rows = [
      ...[...questions].map((question) => todoLine("soft", "ask", question)),
      ...answer.items.flatMap((item, at) => (decided[at].decision === "HARD_DENY" ? [todoLine("deny", "stop", `Take out ${item.id}. ${decided[at].hard.join(" ")}`)] : [])),
    ];
    draw(tone, image, title, sentence, rows);
  };

  const draw = (tone, image, title, sentence, rows) => {
    card.dataset.tone = tone;
    head.replaceChildren(
      h("div", { class: "mark" }, icon(image)),
      h("div", {}, h("p", { class: "verdict-title" }, title), h("p", { class: "verdict-why" }, sentence)),
    );
    todo.replaceChildren(...rows);
    todo.hidden = rows.length === 0;
    speak([title, sentence, ...rows.map((row) => row.textContent)].join(". "));
  };

  return {
    panes: [
      h(
        "section",
        { class: "card questions", "aria-label": "Basket" },
        h("div", { class: "stack tight" }, h("h2", {}, "Lines"), lines, add),
        field("Project", project),
        buyer.element,
      ),
      h("div", { class: "answers" }, card, badge.element, talk.element),
    ],
    refresh() {
      const ids = session.inForce().map(({ id }) => id);
      const chosen = project.value;
      const options = session.projects().map((each) => h("option", { value: each.projectId }, projectName(each)));
      project.replaceChildren(h("option", { value: "" }, "none"), ...options);
      project.value = chosen;
      if (project.selectedIndex < 0) project.value = "";
      buyer.offer(session.conditions().filter(({ rule }) => rule === "LICENSE_REQUIREMENT").map(({ id }) => id));
      for (const line of lines.children) line.offer(ids);
      if (lines.children.length === 0) {
        addLine("bread", []);
        const license = session.inForce().find(({ rule }) => rule === "LICENSE_REQUIREMENT");
        const age = session.inForce().find(({ rule }) => rule === "AGE_RESTRICTION");
        if (age) addLine("beer-0.5l", [age.id]);
        if (license) addLine("cigars-10", [license.id]);
      }
      decide();
    },
  };
}

/** What a line's decision comes to: the worst of its results, and what there is to say and to ask. */
function lineDecision({ results, errors = [] }) {
  const missing = errors.map(({ conditionId }) => `The condition ${conditionId} is not in force.`);
  const of = (decision) => [...new Set(results.filter((result) => result.decision === decision).map((result) => reason(result.reason)))];
  const hard = of("HARD_DENY");
  const ask = [...of("SOFT_DENY"), ...missing];
  const decision = worst([...results.map((result) => result.decision), ...missing.map(() => "SOFT_DENY")]);
  return { decision, hard, ask, sentences: [...hard, ...ask] };
}

/** A choice of further conditions, where there are too many to show them all. */
function more(ids, add, chosen) {
  const options = ids.map((id) => h("option", { value: id }, id));
  const select = h("select", { "aria-label": "Add a condition" }, h("option", { value: "" }, "Add a condition…"), options);
  select.addEventListener("change", () => {
    chosen.add(select.value);
    add(select.value);
    select.selectedOptions[0].remove();
    select.value = "";
    select.dispatchEvent(new Event("added", { bubbles: true }));
  });
  return select;
}

const todoLine = (tone, image, text) => h("li", { "data-tone": tone }, h("span", { class: "dot" }, icon(image)), h("span", { class: "check-why" }, text));
