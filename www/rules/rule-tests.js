/**
 * The tests of a rule in its editor: what each asks and expects, and whether the current input still decides so. They can be
 * renamed and removed here; Preview adds new ones.
 */

import { button, h } from "../shared/dom.js";
import { icon } from "../shared/icon.js";
import { figure } from "../shared/locale.js";
import { counted } from "../shared/messages.js";
import { askedText, expectedText, failureTexts } from "./test-wording.js";

let tests = 0;

const HOW = "To be warned about a change in a decision, open it in Preview and choose “Keep this as a test”.";
const NOT_RUN = "They run once the rule is complete.";

/** The results of a test: the tone, the image, and the text for screen readers. */
const OUTCOMES = {
  passed: { tone: "allow", image: "check", said: "Passes" },
  failed: { tone: "deny", image: "stop", said: "Fails" },
  unknown: { tone: "none", image: "ask", said: "Not run" },
};

/**
 * The list. `show` shows tests, `value` reads them, and `showResult` shows their results, `{ failed }`, or nothing if they
 * could not be run. `check` shows names that are not unique, and returns true if all are. `onchange` is called when a test is
 * renamed or removed, and `onopen` gets one to show in Preview; without it, none can be shown.
 */
export function testList({ onchange, onopen }) {
  const status = h("p", { class: "hint", role: "status" });
  const rows = h("ol", { class: "tests" });
  const element = h("section", { class: "stack tight", "aria-label": "Tests" }, h("h3", { tabindex: "-1" }, "Tests"), status, rows);

  /** Says something unless it is said already: screen readers would announce it again. */
  const say = (text) => status.textContent === text || (status.textContent = text);

  function remove(row) {
    const next = row.nextElementSibling ?? row.previousElementSibling;
    row.remove();
    (next?.querySelector("input") ?? element.firstElementChild).focus();
    onchange();
  }

  return {
    element,
    show(tests) {
      rows.replaceChildren(...tests.map((test) => testRow(test, { onchange, onremove: remove, onopen })));
      rows.hidden = tests.length === 0;
      say(tests.length === 0 ? HOW : "");
    },
    value: () => [...rows.children].map((row) => row.read()),
    check() {
      const all = [...rows.children];
      const names = all.map((row) => row.read().name);
      const isRepeated = names.map((name, at) => names.indexOf(name) < at);
      all.forEach((row, at) => row.showFault(isRepeated[at]));
      return !isRepeated.includes(true);
    },
    showResult(result) {
      const all = [...rows.children];
      rows.hidden = all.length === 0;
      say(all.length === 0 ? HOW : result ? resultText(all.length, result.failed.length) : NOT_RUN);
      const failures = new Map(result?.failed.map((failure) => [failure.index, failure]));
      all.forEach((row, at) => row.showOutcome(result && (failures.has(at) ? "failed" : "passed"), failures.get(at)));
    },
  };
}

/** The number of tests that fail and pass. */
function resultText(count, failed) {
  if (failed === 0) return count === 1 ? "The test passes." : `All ${counted(count, "test")} pass.`;
  const passed = count - failed;
  return `${counted(failed, "test")} ${failed === 1 ? "fails" : "fail"}${passed > 0 ? `, ${figure(passed)} ${passed === 1 ? "passes" : "pass"}` : ""}.`;
}

function testRow(test, { onchange, onremove, onopen }) {
  const id = `test-${(tests += 1)}`;
  const dot = h("span", { class: "dot" });
  const properties = { value: test.name, maxlength: 256, autocomplete: "off", dir: "auto", "aria-label": "Name of the test", "aria-describedby": id };
  const name = h("input", { ...properties, oninput: onchange });
  const failure = h("p", { class: "fault", hidden: true });
  const fault = h("p", { class: "fault", hidden: true });
  const open = onopen && button("Preview", { image: "eye", class: "plain", "aria-label": `Open the test “${test.name}” in Preview`, onclick: () => onopen(test) });
  const removeRow = button(`Remove the test “${test.name}”`, { image: "trash", iconOnly: true, class: "plain", onclick: () => onremove(row) });
  const about = h("p", { class: "hint" }, `${askedText(test.request)}: ${expectedText(test.expect)}`);
  const row = h("li", { class: "test" }, dot, name, h("div", { class: "test-actions" }, open, removeRow), h("div", { class: "test-about", id }, fault, about, failure));
  const shown = name.value;
  // An empty name means the old one.
  row.read = () => ({ ...test, name: name.value === shown ? test.name : name.value.trim() || test.name });
  row.showFault = (isRepeated) => {
    fault.textContent = isRepeated ? "Another test has this name." : "";
    fault.hidden = !isRepeated;
    if (isRepeated) name.setAttribute("aria-invalid", "true");
    else name.removeAttribute("aria-invalid");
  };
  row.showOutcome = (outcome = "unknown", failed) => {
    const { tone, image, said } = OUTCOMES[outcome];
    row.dataset.tone = tone;
    dot.replaceChildren(icon(image), h("span", { class: "visually-hidden" }, said));
    failure.textContent = failed ? failureText(failed) : "";
    failure.hidden = failed === undefined;
  };
  row.showOutcome();
  return row;
}

/** The expectation of a failing test, and the decision. */
export function failureText(failed) {
  const [expected, actual] = failureTexts(failed);
  return `Expected: ${expected}. Actual: ${actual}.`;
}
