/**
 * The preview of a basket: the decision about each line, the worst of them, and what the cashier still has to ask.
 */

import { button, h } from "../shared/dom.js";
import { picker, pickerField } from "../shared/picker.js";
import { basketCard } from "./basket-card.js";
import { basketLine, lineDecision } from "./basket-line.js";
import { customerFields } from "./customer.js";
import { attempt, exchangeDetails } from "./decision.js";
import { hostCheck } from "./host-check.js";
import { previewAddress } from "./preview-address.js";
import { ordinary } from "./why.js";
import { projectName } from "./wording.js";

/** The choice of no project. */
const NONE = "";
const NONE_TEXT = "none";

/** A mode of the preview: its inputs and outputs, `refresh` for a new catalog, and `close`. */
export function basketMode(session, { state, remember }) {
  const card = basketCard();
  const check = hostCheck(session);
  const exchange = exchangeDetails();
  const lines = basketLines({ onchange: decide, onadd: offer });
  const customer = customerFields(decide, { age: "17", ...state });
  const project = picker({
    read: () => [[NONE, NONE_TEXT], ...session.projects().map((each) => [each.projectId, projectName(each)])],
    textOf: (id) => (id === NONE ? NONE_TEXT : projectName(session.project(id) ?? { projectId: id })),
    onchange: () => ((isGone = false), (wanted = undefined), offer(), decide()),
  });
  let wanted = state?.project ?? NONE;
  /** True if there is no project with the chosen id. */
  let isGone = false;
  let isFilled = false;

  /** Offers each line the conditions in force and the properties that the project checks. */
  function offer() {
    const ids = session.inForce();
    const chosen = session.project(project.value);
    for (const line of lines.all()) line.offer(ids, chosen?.restrictions);
  }

  function decide() {
    const all = lines.all();
    remember(undefined, { lines: all.map((line) => line.state()), project: wanted ?? (project.value || undefined), ...customer.state() });
    check.element.hidden = exchange.element.hidden = all.length === 0 || isGone;
    if (isGone) return all.forEach((line) => line.show()), card.showGone();
    if (all.length === 0) return card.showEmpty();
    const request = { items: all.map((line) => line.read()), context: { customer: customer.value() } };
    if (project.value !== NONE) request.projectId = project.value;
    const named = request.items.flatMap(({ conditionIds }) => conditionIds);
    const answer = attempt(() => session.catalog(named, request.projectId).evaluateBasket(request, { explain: true }));
    show(all, answer);
    exchange.show("/api/v1/evaluations", request, answer);
    check.compare("evaluateBasket", [request], ordinary(answer));
  }

  function show(all, answer) {
    const faults = answer.faults ?? [];
    customer.showFaults(faults);
    all.forEach((line, at) => line.showFault(faults.some(({ path }) => path === `$.items[${at}].id`)));
    const decided = answer instanceof Error ? [] : answer.items.map(lineDecision);
    all.forEach((line, at) => line.show(decided[at]));
    if (answer instanceof Error) card.showFaults(faults);
    else card.show(answer, decided, { ontry, hrefOf });
  }

  /** Fills in a change that would lift a denial. */
  function ontry({ age, license, ...change }, at) {
    if (age !== undefined) customer.setAge(age);
    else if (license !== undefined) customer.addLicense(license);
    else lines.all()[at].enter(change);
  }

  /** The preview of the rule that decided about a line. */
  function hrefOf({ id }, at) {
    const { id: item, properties } = lines.all()[at].state();
    return id === undefined ? previewAddress("project", project.value, { item, properties }) : previewAddress("condition", id, { item, ...customer.state() });
  }

  return {
    label: "Basket",
    inputs: [lines.element, pickerField("Project", project), customer.element],
    outputs: [card.element, check.element, exchange.element],
    close: check.close,
    refresh() {
      const chosen = wanted ?? project.value;
      isGone = chosen !== NONE && session.project(chosen) === undefined;
      project.show(isGone ? NONE : chosen);
      wanted = isGone ? chosen : undefined;
      customer.offer(session.licenses());
      if (!isFilled) for (const line of state?.lines ?? firstLines(session)) lines.add(line);
      isFilled = true;
      offer();
      decide();
    },
  };
}

/** The lines of a basket; `onadd` is called after a line was added, `onchange` whenever their content has changed. */
function basketLines({ onchange, onadd }) {
  const list = h("ol", { class: "lines" });
  const addButton = button("Add a line", { image: "plus", class: "plain", onclick: () => (add({ id: "", conditionIds: [] }).focus(), onchange()) });
  const element = h("div", { class: "stack tight" }, h("h2", {}, "Lines"), list, addButton);
  let lines = [];

  function add(given) {
    const onremove = () => {
      lines = lines.filter((each) => each !== line);
      addButton.focus();
      onchange();
    };
    const line = basketLine(given, { onchange, onremove });
    lines.push(line);
    list.append(line.element);
    onadd();
    return line;
  }

  return { element, add, all: () => lines };
}

/** The first basket: something free, something with an age limit, and cigars. */
function firstLines(session) {
  const chosen = (rule, id) => [id, ...session.inForce()].map((each) => session.conditionInForce(each)).find((each) => each?.rule === rule);
  const [age, license] = [chosen("AGE_RESTRICTION", "alcohol"), chosen("LICENSE_REQUIREMENT", "tobacco")];
  return [
    { id: "bread", conditionIds: [] },
    ...(age ? [{ id: "beer-0.5l", conditionIds: [age.id] }] : []),
    ...(license ? [{ id: "cigars-10", conditionIds: [license.id] }] : []),
  ];
}
