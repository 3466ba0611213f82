/**
 * The preview of a basket: the decision about each line, the worst of them, and what the cashier has left to ask.
 */

import { button, debounce, field, h } from "../shared/dom.js";
import { faultText } from "../shared/faults.js";
import { icon } from "../shared/icon.js";
import { counted } from "../shared/messages.js";
import { basketLine, lineDecision } from "./basket-line.js";
import { customerFields } from "./customer.js";
import { attempt, exchangeDetails } from "./decision.js";
import { hostCheck } from "./host-check.js";
import { DECISIONS, projectName } from "./wording.js";

/** A mode of the preview: its inputs and outputs, `refresh` for a new catalog, and `close`. */
export function basketMode(session, { state, remember }) {
  const check = hostCheck(session);
  const exchange = exchangeDetails();
  const list = h("ol", { class: "lines" });
  const customer = customerFields(decide, { age: "17", ...state });
  const project = h("select", { onchange: () => (offer(), decide()) });
  const head = h("div", { class: "decision-head" });
  const steps = h("ul", { class: "results" });
  const status = h("p", { class: "visually-hidden", role: "status", "aria-live": "polite" });
  const card = h("section", { class: "decision", "aria-label": "Decision about the basket" }, head, steps, status);
  const announce = debounce(400, (text) => (status.textContent = text));
  const add = button("Add a line", { image: "plus", class: "plain", onclick: () => (addLine({ id: "", conditionIds: [] }).focus(), decide()) });
  let lines = [];
  let wanted = state?.project;

  function addLine(given) {
    const line = basketLine(given, {
      onchange: decide,
      onremove() {
        lines = lines.filter((each) => each !== line);
        add.focus();
        decide();
      },
    });
    lines.push(line);
    list.append(line.element);
    offer();
    return line;
  }

  /** Offers each line the conditions in force, and the properties that the project checks. */
  function offer() {
    const ids = session.inForce().map(({ id }) => id);
    const chosen = session.projects().find(({ projectId }) => projectId === project.value);
    for (const line of lines) line.offer(ids, chosen?.restrictions);
  }

  function decide() {
    remember(undefined, { lines: lines.map((line) => line.state()), project: project.value || undefined, ...customer.state() });
    const isEmpty = lines.length === 0;
    check.element.hidden = exchange.element.hidden = isEmpty;
    if (isEmpty) return draw("none", "basket", "The basket is empty", "Add a line to see the decision.", []);
    const request = { items: lines.map((line) => line.read()), context: { customer: customer.value() } };
    if (project.value !== "") request.projectId = project.value;
    const answer = attempt(() => session.catalog.evaluateBasket(request));
    const faults = answer.faults ?? [];
    customer.showFaults(faults);
    lines.forEach((line, at) => line.showFault(faults.some(({ path }) => path === `$.items[${at}].id`)));
    if (answer instanceof Error) {
      for (const line of lines) line.show(undefined);
      draw("none", "alert", "Cannot be decided yet", faults.map(faultText).join(" "), []);
    } else {
      show(answer);
    }
    exchange.show("/api/v1/evaluations", request, answer);
    check.compare("evaluateBasket", [request], answer);
  }

  const show = (answer) => {
    const decided = answer.items.map(lineDecision);
    lines.forEach((line, at) => line.show(decided[at]));
    const { tone, image } = DECISIONS[answer.decision];
    const questions = new Set(decided.flatMap(({ ask, missing }) => [...ask, ...missing]));
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

  /** What the basket begins with: something free, something by age, and cigars. */
  const firstLines = () => {
    const inForce = session.inForce();
    const chosen = (rule, id) => inForce.find((each) => each.rule === rule && each.id === id) ?? inForce.find((each) => each.rule === rule);
    const [age, license] = [chosen("AGE_RESTRICTION", "alcohol"), chosen("LICENSE_REQUIREMENT", "tobacco")];
    return [
      { id: "bread", conditionIds: [] },
      ...(age ? [{ id: "beer-0.5l", conditionIds: [age.id] }] : []),
      ...(license ? [{ id: "cigars-10", conditionIds: [license.id] }] : []),
    ];
  };

  let isFilled = false;
  return {
    label: "Basket",
    inputs: [h("div", { class: "stack tight" }, h("h2", {}, "Lines"), list, add), field("Project", project), customer.element],
    outputs: [card, check.element, exchange.element],
    close: check.close,
    refresh() {
      const chosen = wanted ?? project.value;
      const options = session.projects().map((each) => h("option", { value: each.projectId }, projectName(each)));
      project.replaceChildren(h("option", { value: "" }, "none"), ...options);
      project.value = chosen;
      if (project.selectedIndex < 0) project.value = "";
      wanted = undefined;
      customer.offer(session.conditions().filter(({ rule }) => rule === "LICENSE_REQUIREMENT").map(({ id }) => id));
      if (!isFilled) for (const line of state?.lines ?? firstLines()) addLine(line);
      isFilled = true;
      offer();
      decide();
    },
  };
}

const step = (tone, image, text) => h("li", { "data-tone": tone }, h("span", { class: "dot" }, icon(image)), h("span", { class: "result-why", dir: "auto" }, text));
