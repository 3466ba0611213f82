/**
 * The dialog that keeps a decision of Preview as a test of the rule: the request, and the decision. Reasons are left out: a
 * rule that is rewritten and decides the same needs no attention.
 */

import { field, confirmed, h } from "../shared/dom.js";
import { edit } from "../shared/editor.js";
import { isolated } from "../shared/locale.js";
import { counted, errorText } from "../shared/messages.js";
import { reasonField, withReason } from "../shared/reason.js";
import { conditionPath } from "./condition-editor.js";
import { projectPath } from "./project-editor.js";
import { failingIndexes, isOfTests } from "./rule-checks.js";
import { askedText, defaultName } from "./test-wording.js";
import { DECISIONS, projectName, worst } from "./wording.js";

/** The attempts to add a test to a newer version, if other users save at the same time. */
const MAX_TRIES = 3;

const CHANGED = "The rule has changed and now decides this differently. Look at the preview again.";

const TAKEN = "The rule has a test with this name. Choose another name.";

/** Keeps a decision about an item as a test of `condition` or `project`, under a name of the user's choice. */
export function keepTest(session, { condition, project, request, answer }) {
  const paths = condition ? pathsOfCondition(condition) : { read: projectPath(project.projectId), write: projectPath(project.projectId) };
  const { projectId, ...asked } = request;
  const decision = worst(answer.results.map((result) => result.decision));
  const fallback = defaultName(asked, decision);
  const name = h("input", { value: fallback, maxlength: 256, autocomplete: "off", dir: "auto", onfocus: () => name.select() });
  const value = () => ({ name: name.value.trim() || fallback, request: asked, expect: { decision } });
  const what = h("p", {}, `${askedText(asked)}: `, h("b", {}, DECISIONS[decision].title), ".");
  const why = `Saving a change of “${condition?.id ?? isolated(projectName(project))}” that decides this differently will show a warning with the name of this test.`;
  const reason = reasonField();
  const element = h("div", { class: "stack" }, what, field("Name of the test", name, { hint: why }), reason);
  const read = () => session.read(paths.read);
  return edit({
    title: "Keep this as a test",
    fields: { element, value, showFaults: () => false },
    action: "Keep the test",
    saved: "The test is kept.",
    done: "kept",
    save: (test) => add(session, paths, { test, reason: reason.read() }),
    latest: read,
    isSaved: ({ tests = [] }, test) => tests.some((each) => each.name === test.name),
    explain: (error) => error.sentence ?? errorText(error),
  });
}

const pathsOfCondition = ({ id, scope }) => ({ read: conditionPath(id), write: conditionPath(id, scope) });

/** Adds a test to the stored version of the rule, whatever others save meanwhile. */
async function add(session, { read, write }, { test, reason }) {
  for (let tries = 1; ; tries += 1) {
    const { body: stored, etag } = await session.read(read);
    const { id, scope, projectId, ...rule } = stored;
    if (rule.tests?.some(({ name }) => name === test.name)) throw Object.assign(new Error(TAKEN), { sentence: TAKEN });
    const body = { ...rule, tests: [...(rule.tests ?? []), test] };
    try {
      return await writeAccepting((query) => session.write(withReason(`${write}${query}`, reason), body, etag), body);
    } catch (error) {
      if (error.status !== 412) throw error;
      if (tries === MAX_TRIES) throw Object.assign(error, { code: "changed", sentence: "Others are changing this rule right now. Try again in a moment." });
    }
  }
}

/**
 * Writes the rule; `write` gets the query of the address. If its tests fail already, the page asks: the host records it with
 * this change too.
 */
async function writeAccepting(write, body) {
  try {
    return await write("");
  } catch (error) {
    if (!isOfTests(error)) throw error;
    const failing = failingIndexes(error);
    if (failing.includes(body.tests.length - 1)) throw Object.assign(error, { sentence: CHANGED });
    const names = failing.map((at) => `“${isolated(body.tests[at]?.name)}”`).join(", ");
    const question = `Keep it although ${counted(failing.length, "other test")} ${failing.length === 1 ? "fails" : "fail"}?`;
    if (!(await confirmed(question, `Even without this test, the rule fails ${names}.`, "Keep the test"))) throw Object.assign(error, { sentence: "The test was not kept." });
    return write("?failingTests=accept");
  }
}
