/**
 * The effects of a draft of a condition or a project: whether any decision changes, the ages for which it does, and the result
 * for a list of items or customers, which is loaded when it is opened.
 */

import { debounce, h } from "../shared/dom.js";
import { errorText } from "../shared/messages.js";
import { MAX_AGE, ageChart, decisionsByAge } from "./age-chart.js";
import { call, isLong } from "./apart.js";
import { ageChanges, ageText, effectText } from "./what-if-words.js";

const TITLE = "What would change?";
const REVIEWED = "Which decisions change";
const COMPARING = "Comparing…";

/** The pause after the last keystroke before the draft is compared. */
const PAUSE_MS = 250;

/**
 * The part of a form, closed at first: `{ element, refresh }`. `read` returns the module's input, `{ before, after }`, each a
 * document or null; call `refresh` when it may have changed.
 */
export function whatIf(session, read) {
  let changes;
  const show = () => element.open && changes.show(read());
  const refresh = debounce(PAUSE_MS, show);
  const ontoggle = () => {
    changes ??= whatChanges(session, { isListOpen: true });
    if (!changes.element.isConnected) element.append(changes.element);
    show();
  };
  const element = h("details", { class: "draft what-if", ontoggle }, h("summary", {}, TITLE));
  return { element, refresh: () => element.open && refresh() };
}

/** The part of a review, which shows the effects at once. */
export function whatIfReviewed(session, documents) {
  const changes = whatChanges(session, { isListOpen: session.memory.get("list") !== undefined });
  changes.show(documents);
  return h("section", { class: "stack tight", "aria-label": REVIEWED }, h("h3", {}, REVIEWED), changes.element);
}

/** The changes between two documents, and on a list; `show` compares them. */
function whatChanges(session, { isListOpen }) {
  const effect = h("p", { class: "effect", role: "status" });
  const charts = [ageChart(undefined, "Today"), ageChart(undefined, "If you saved this")];
  const ages = h("div", { class: "ages stack tight" }, h("p", {}), charts.map(({ element }) => element));
  const summary = h("summary", {});
  const listed = h("details", { class: "listed", open: isListOpen, ontoggle: () => showList() }, summary);
  let documents;
  let list;
  let comparing = new AbortController();

  async function showList() {
    if (!listed.open || documents === undefined) return;
    list ??= import("./what-if-list.js").then(({ whatIfList }) => {
      const made = whatIfList(session);
      listed.append(made.element);
      closeWith(listed, made.close);
      return made;
    });
    try {
      (await list).show(documents);
    } catch {
      list = undefined;
      effect.textContent = "The host cannot be reached, so lists cannot be shown. Try again in a moment.";
    }
  }

  return {
    element: h("div", { class: "stack tight" }, effect, ages, listed),
    async show(given) {
      const [before, after] = [given.before, given.after].map(withoutTests);
      comparing.abort();
      const { signal } = (comparing = new AbortController());
      const isApart = isLong(before?.project, after.project);
      if (isApart) effect.textContent = COMPARING;
      const found = await compared({ before, after }, { isApart, signal });
      if (signal.aborted) return;
      effect.textContent = found.text;
      documents = found.isValid ? { before, after, witness: found.witness } : undefined;
      listed.hidden = !found.isValid;
      summary.textContent = after.project ? "For a list of items" : "For a list of items or customers";
      showAges(ages, charts, documents);
      showList();
    },
  };
}

/** Runs `end` once the dialog of an element is closed, or shows something else by then. */
function closeWith(element, end) {
  const onclose = ({ target }) => {
    if (element.isConnected && !target.contains(element)) return;
    document.removeEventListener("close", onclose, true);
    end();
  };
  document.addEventListener("close", onclose, true);
}

/** A document without its tests, which decide nothing and may be incomplete. */
const withoutTests = (document) => document && Object.fromEntries(Object.entries(document).map(([name, rule]) => [name, rule && { ...rule, tests: undefined }]));

/** The module's result for two documents: `{ isValid, text, witness }`. */
async function compared({ before, after }, how) {
  const kind = after.project ? "project" : "condition";
  const itemIds = [before, after].flatMap((document) => document?.project?.restrictions ?? []).flatMap((rule) => rule.itemIds ?? []);
  try {
    const found = await call("compare", { before, after }, how);
    return { isValid: true, text: effectText(kind, found, itemIds), witness: found.witness };
  } catch (error) {
    const why = error.status === 400 ? "The rule is not complete yet." : errorText(error);
    return { isValid: false, text: `${why} Its effect is unknown.` };
  }
}

/** Shows the ages whose decision changes, above the decisions by age, of today and of the draft. */
function showAges(element, charts, documents) {
  const decisions = [documents?.before, documents?.after].map(agesOf);
  const changes = decisions.every(Boolean) ? ageChanges(...decisions) : [];
  element.hidden = changes.length === 0;
  if (element.hidden) return;
  element.firstChild.textContent = changes.map((range) => ageText(range, MAX_AGE)).join(" ");
  charts.forEach((chart, at) => chart.draw((age) => decisions[at][age], undefined, at === 1));
}

/** The decision for each age; undefined if it does not depend on the age alone. */
function agesOf(document) {
  const inForce = [document?.condition, document?.other].filter((each) => each?.enabled);
  const used = inForce.find(({ scope }) => scope === "TENANT") ?? inForce[0];
  return used?.rule === "AGE_RESTRICTION" ? decisionsByAge(used) : undefined;
}
