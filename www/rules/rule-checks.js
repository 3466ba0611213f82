/**
 * The checks of an edited rule: the module's findings, and the results of its tests. They are added to the form of a condition
 * or a project, and the tests to the form's value. Only the review, which names failing tests, offers to save a rule with
 * them.
 */

import { TillgateError, findings, runTests } from "../../js/src/index.js";
import { button, debounce, h, notify } from "../shared/dom.js";
import { icon } from "../shared/icon.js";
import { isolated } from "../shared/locale.js";
import { counted } from "../shared/messages.js";
import { withReason } from "../shared/reason.js";
import { findingsPane } from "./findings.js";
import { previewAddress } from "./preview-address.js";
import { failureText, testList } from "./rule-tests.js";
import { valueCount } from "./rule-values.js";
import { expectedText, licenseIds } from "./test-wording.js";

const PAUSE_MS = 150;

/** Rules with more values are checked on demand only: typing would slow down. */
const MAX_VALUES = 10_000;

const LARGE = "With this many values, mistakes are not checked while you type.";

/** The header of a global condition's change: how many tests of tenants fail since. */
const TENANTS_FAILING = "Tillgate-Failing-Tests";

/**
 * The checks of a condition. `scopeOf` returns the scope of a value, `stored` the stored condition; `id` is undefined for a
 * new one.
 */
export function conditionChecks(session, fields, { id, scopeOf, stored }) {
  const documentOf = (value) => {
    const scope = scopeOf(value);
    const others = [session.condition(value.id), session.inPlaceOf(value.id)];
    const other = others.find((each) => each !== undefined && each.scope !== scope) ?? null;
    return { document: { condition: { ...value, id: value.id || "new", scope }, other } };
  };
  const addressOf = ({ item, context }) => {
    const { customer_age: age, licenses } = context.customer ?? {};
    const state = { item: item.id, age: String(age ?? ""), licenses: licenses ? licenseIds(licenses) : undefined };
    return previewAddress("condition", id, state);
  };
  return new RuleChecks(session, fields, { stored, documentOf, addressOf: id !== undefined && addressOf });
}

/** The checks of a project with an id; `stored` returns the stored project. Rules without a property are left out. */
export function projectChecks(session, fields, { id, stored }) {
  const documentOf = (value) => {
    const lines = [...value.restrictions.keys()].filter((at) => value.restrictions[at].propertyName !== "");
    const project = { ...value, projectId: id, restrictions: lines.map((at) => value.restrictions[at]) };
    return { document: { project }, pathOf: (path) => path.replace(/^\$\.restrictions\[(\d+)\]/, (_, at) => `$.restrictions[${lines[at]}]`) };
  };
  const addressOf = ({ item }) => previewAddress("project", id, { item: item.id, properties: item.additionalProperties ?? {} });
  return new RuleChecks(session, fields, { stored, documentOf, addressOf: stored() !== undefined && addressOf });
}

class RuleChecks {
  #session;
  #form;
  #subject;
  #pane;
  #list;
  #large = h("p", { class: "hint", hidden: true }, `${LARGE} `, button("Look now", { class: "link", onclick: () => this.#look({ isAsked: true }) }));
  #isLarge = false;
  /** The document that was checked last, as a text. */
  #looked;
  /** The reviewed rule, as a text, and its failing tests. */
  #reviewed = { failures: [] };
  /** The rule that the host refused, as a text, and the tests that it says fail. */
  #refused;

  constructor(session, form, subject) {
    const later = debounce(PAUSE_MS, () => this.#look());
    const open = (test) => this.#open(test);
    this.#session = session;
    this.#form = form;
    this.#subject = subject;
    this.#pane = findingsPane((path) => form.placeOf(path));
    this.#list = testList({ onchange: later, onopen: subject.addressOf ? open : undefined });
    const element = h("div", { class: "stack" }, this.#pane.elements, this.#large, form.element);
    // A button of the form may change the rule; a click elsewhere, such as on a finding, does not.
    const onevent = ({ type, target }) => (type !== "click" || target.closest("button")) && later();
    for (const type of ["input", "change", "click"]) form.element.addEventListener(type, onevent);
    const show = (value, options) => {
      form.show(value, options);
      this.#list.show(value.tests ?? this.#storedTests());
      later();
    };
    /** The form, including the tests. */
    this.fields = { ...form, element, show, value: () => ({ ...form.value(), ...this.#tests() }) };
    /** The list of tests, at the very end. */
    this.tests = this.#list.element;
  }

  /** The part of a value to keep as a draft: without unchanged tests, because others may add some. */
  kept({ tests, ...rule }) {
    const isSame = tests === undefined || JSON.stringify(tests) === JSON.stringify(this.#storedTests());
    return isSame ? rule : { ...rule, tests };
  }

  /** Adds failing tests, and that nothing could be allowed, to a review; false if a test has a fault. */
  review(element) {
    if (!this.#list.check()) return false;
    const value = this.fields.value();
    const failures = this.#failures(value);
    if (valueCount(value) <= MAX_VALUES) this.#pane.show(this.#find(value));
    this.#reviewed = { text: JSON.stringify(value), failures };
    const worst = this.#pane.worst().map((message) => h("p", { class: "warning", dir: "auto" }, icon("alert"), message));
    element.prepend(...[failures.length > 0 && failing(failures), ...worst].filter(Boolean));
    return element;
  }

  /** The text of the button that saves the reviewed rule. */
  action() {
    const { failures } = this.#reviewed;
    return failures.length > 0 ? saveAlthough(failures) : "Save";
  }

  /** The question before a rule that fails tests is saved; undefined if none fails. */
  question() {
    const { failures } = this.#reviewed;
    if (failures.length === 0) return undefined;
    const [first, ...others] = failures;
    const name = isolated(first.name);
    const expected = others.length === 0 ? `“${name}”` : `“${name}” and ${counted(others.length, "more test")}`;
    return [`${saveAlthough(failures)}?`, `The rule fails ${expected}. Its history will show that it was saved anyway.`, "Save anyway"];
  }

  /** Writes the rule. Failing tests are accepted if the review named them, and are reviewed otherwise. */
  async write(path, body, version, reason) {
    const text = JSON.stringify(this.fields.value());
    const isAccepted = this.#reviewed.failures.length > 0 && this.#reviewed.text === text;
    try {
      const { headers } = await this.#session.write(withReason(isAccepted ? `${path}?failingTests=accept` : path, reason), body, version);
      const failing = Number(headers.get(TENANTS_FAILING));
      if (failing > 0) notify(`${counted(failing, "test")} of tenants now ${failing === 1 ? "fails" : "fail"}.`);
    } catch (error) {
      if (!isOfTests(error)) throw error;
      this.#refused = { text, indexes: failingIndexes(error) };
      throw Object.assign(error, { isToReview: true });
    }
  }

  #storedTests() {
    return this.#subject.stored()?.tests ?? [];
  }

  #tests() {
    const tests = this.#list.value();
    return tests.length > 0 || this.#storedTests().length > 0 ? { tests } : {};
  }

  #look({ isAsked = false } = {}) {
    if (!this.fields.element.isConnected) return;
    const value = this.#isLarge && !isAsked ? undefined : this.fields.value();
    if (value) this.#isLarge = valueCount(value) > MAX_VALUES;
    this.#large.hidden = !this.#isLarge;
    if (this.#isLarge && !isAsked) {
      this.#looked = undefined;
      this.#pane.show([]);
      return this.#list.showResult(undefined);
    }
    const text = JSON.stringify(this.#subject.documentOf(value).document);
    if (text === this.#looked) return;
    this.#looked = text;
    this.#list.check();
    this.#pane.show(this.#find(value));
    // In its own task, so that the browser can draw and take input in between.
    setTimeout(() => text === this.#looked && this.#list.showResult(this.#run(value)));
  }

  /** The findings about a value; none while it is incomplete. */
  #find(value) {
    const { document, pathOf = (path) => path } = this.#subject.documentOf(value);
    const found = unlessRefused(() => findings(document)) ?? [];
    return found.map(({ places, ...finding }) => ({ ...finding, places: places.map(pathOf) }));
  }

  /** The test results of a value; undefined while it is incomplete. */
  #run(value) {
    if ((value.tests ?? []).length === 0) return { passed: 0, failed: [] };
    return unlessRefused(() => runTests(this.#subject.documentOf(value).document));
  }

  /** The failing tests of a value, each with its result: from the host, or else from the module here. */
  #failures(value) {
    if (this.#refused?.text === JSON.stringify(value)) {
      const found = this.#refused.indexes.map((at) => value.tests?.[at]).filter(Boolean);
      return found.map(({ name, expect }) => ({ name, said: `Expected: ${expectedText(expect)}. The host decides differently.` }));
    }
    return (this.#run(value)?.failed ?? []).map((failed) => ({ name: failed.name, said: failureText(failed) }));
  }

  /** Shows a test's request in Preview. The input is kept as a draft. */
  #open({ request }) {
    this.fields.element.closest("dialog").close("kept");
    location.hash = this.#subject.addressOf(request);
  }
}

const saveAlthough = ({ length }) => `Save although ${counted(length, "test")} ${length === 1 ? "fails" : "fail"}`;

/** The failing tests, as a part of a review. */
const failing = (failures) =>
  h(
    "section",
    { class: "failing", "aria-label": "Tests that fail" },
    h("h3", {}, icon("alert"), `If you save this, ${counted(failures.length, "test")} ${failures.length === 1 ? "fails" : "fail"}`),
    h("ul", {}, failures.map(({ name, said }) => h("li", {}, h("b", { dir: "auto" }, name), h("p", {}, said)))),
  );

/** True if the host refused a rule because of its tests. */
export const isOfTests = ({ code }) => code === "tests_failed";

/** The positions of the tests that failed. */
export const failingIndexes = ({ faults }) => faults.map(({ path }) => Number(/^\$\.tests\[(\d+)\]/.exec(path)[1]));

/** The result of a call of the module; undefined if it refuses the input, which is then incomplete. */
function unlessRefused(call) {
  try {
    return call();
  } catch (error) {
    if (error instanceof TillgateError) return undefined;
    throw error;
  }
}
