/**
 * The preview of a basket: the decision about each line, the worst of them, and what the cashier has left to ask.
 */

import { TillgateError } from "../js/src/browser.js";
import { customerFields } from "./customer.js";
import { exchangeDetails } from "./decision.js";
import { button, debounce, field, h, icon } from "./dom.js";
import { hostCheck } from "./host-check.js";
import { DECISIONS, counted, faultText, projectName, reasonText, worst } from "./messages.js";

/** With more conditions than this, a line shows only those that are chosen. */
const MAX_CHIPS = 8;

/** A mode of the preview: its panes, and `refresh` for a new catalog. */
export function basketMode(session) {
  const check = hostCheck(session);
  const exchange = exchangeDetails();
  const lines = h("ol", { class: "lines" });
  const customer = customerFields(decide);
  const project = h("select", { onchange: decide });
  const head = h("div", { class: "decision-head" });
  const steps = h("ul", { class: "results" });
  const status = h("p", { class: "visually-hidden", role: "status", "aria-live": "polite" });
  const card = h("section", { class: "decision", "aria-label": "Decision about the basket" }, head, steps, status);
  const announce = debounce(400, (text) => (status.textContent = text));
  const add = button("Add a line", { image: "plus", class: "plain", onclick: () => addLine("", []).querySelector("input").focus() });

  const addLine = (id, conditionIds) => {
    const name = h("input", { value: id, placeholder: "item id", spellcheck: "false", "aria-label": "Item id", oninput: decide });
    const chips = h("div", { class: "chips", role: "group", "aria-label": "Conditions of this item" });
    const mark = h("span", { class: "dot" });
    const why = h("p", { class: "line-why" });
    const removeLine = button("Remove this line", {
      image: "close",
      iconOnly: true,
      class: "plain",
      onclick: () => {
        line.remove();
        add.focus();
        decide();
      },
    });
    const line = h("li", { class: "line" }, h("div", { class: "line-head" }, mark, name, removeLine), chips, why);
    line.read = () => ({ id: name.value, conditionIds: [...chips.querySelectorAll("input:checked")].map(({ value }) => value) });
    let offered;
    line.offer = (ids) => {
      // Drawing the chips again would lose the focus.
      if (offered === ids.join()) return;
      const chosen = new Set(offered === undefined ? conditionIds : line.read().conditionIds);
      offered = ids.join();
      const chip = (value) =>
        h("label", { class: "chip" }, h("input", { type: "checkbox", value, checked: chosen.has(value), onchange: decide }), h("span", {}, value));
      const shown = ids.length <= MAX_CHIPS ? ids : ids.filter((value) => chosen.has(value));
      chips.replaceChildren(...shown.map(chip));
      if (shown.length < ids.length) chips.append(moreConditions(ids.filter((value) => !chosen.has(value)), (value) => chips.prepend(chip(value)), chosen));
    };
    line.show = (decided) => {
      const { tone, image, short } = DECISIONS[decided.decision];
      line.dataset.tone = tone;
      mark.replaceChildren(icon(image), h("span", { class: "visually-hidden" }, short));
      why.textContent = decided.messages.join(" ");
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
      draw("none", "basket", "The basket is empty", "Add a line to see the decision.", []);
      check.element.hidden = true;
      return;
    }
    check.element.hidden = false;
    const request = { items: all.map((line) => line.read()), context: { customer: customer.value() } };
    if (project.value !== "") request.projectId = project.value;
    let answer;
    try {
      answer = session.catalog.evaluateBasket(request);
      show(answer, all);
    } catch (error) {
      if (!(error instanceof TillgateError)) throw error;
      answer = error;
      for (const line of all) line.removeAttribute("data-tone");
      draw("none", "alert", "Cannot be decided yet", error.faults.map(faultText).join(" "), []);
    }
    exchange.show("/api/v1/evaluations", request, answer);
    check.compare("evaluateBasket", [request], answer);
  }

  const show = (answer, all) => {
    const decided = answer.items.map(lineDecision);
    all.forEach((line, at) => line.show(decided[at]));
    const { tone, image } = DECISIONS[answer.decision];
    const questions = new Set(decided.flatMap(({ ask }) => ask));
    const denied = decided.filter(({ decision }) => decision === "HARD_DENY").length;
    const title = { ALLOW: "Sell the basket", SOFT_DENY: "Ask first", HARD_DENY: `Remove ${counted(denied, "item")}` }[answer.decision];
    const sentence = answer.allow ? "No rule forbids any item." : "What the cashier is told:";
    const rows = [
      ...[...questions].map((question) => step("soft", "ask", question)),
      ...answer.items.flatMap((item, at) => (decided[at].decision === "HARD_DENY" ? [step("deny", "stop", `Remove ${item.id}. ${decided[at].hard.join(" ")}`)] : [])),
    ];
    draw(tone, image, title, sentence, rows);
  };

  const draw = (tone, image, title, sentence, rows) => {
    card.dataset.tone = tone;
    head.replaceChildren(
      h("div", { class: "mark" }, icon(image)),
      h("div", {}, h("p", { class: "decision-title" }, title), h("p", { class: "decision-why" }, sentence)),
    );
    steps.replaceChildren(...rows);
    steps.hidden = rows.length === 0;
    announce([title, sentence, ...rows.map((row) => row.textContent)].join(". "));
  };

  return {
    panes: [
      h(
        "section",
        { class: "card inputs", "aria-label": "Basket" },
        h("div", { class: "stack tight" }, h("h2", {}, "Lines"), lines, add),
        field("Project", project),
        customer.element,
      ),
      h("div", { class: "outputs" }, card, check.element, exchange.element),
    ],
    refresh() {
      const ids = session.inForce().map(({ id }) => id);
      const chosen = project.value;
      const options = session.projects().map((each) => h("option", { value: each.projectId }, projectName(each)));
      project.replaceChildren(h("option", { value: "" }, "none"), ...options);
      project.value = chosen;
      if (project.selectedIndex < 0) project.value = "";
      customer.offer(session.conditions().filter(({ rule }) => rule === "LICENSE_REQUIREMENT").map(({ id }) => id));
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

/** The decision about a line: the worst of its results, the denials, and what is left to ask. */
function lineDecision({ results, errors = [] }) {
  const missing = errors.map(({ conditionId }) => `The condition ${conditionId} is not in force.`);
  const of = (decision) => [...new Set(results.filter((result) => result.decision === decision).map((result) => reasonText(result.reason)))];
  const hard = of("HARD_DENY");
  const ask = [...of("SOFT_DENY"), ...missing];
  const decision = worst([...results.map((result) => result.decision), ...missing.map(() => "SOFT_DENY")]);
  return { decision, hard, ask, messages: [...hard, ...ask] };
}

/** A menu of the conditions that are not shown as chips. */
function moreConditions(ids, add, chosen) {
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

const step = (tone, image, text) => h("li", { "data-tone": tone }, h("span", { class: "dot" }, icon(image)), h("span", { class: "result-why" }, text));
