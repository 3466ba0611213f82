/**
 * The form of a new software statement, whose text is shown once.
 */

import { TillgateError } from "../../js/src/index.js";
import { choice, field, h } from "../shared/dom.js";
import { edit } from "../shared/editor.js";
import { showSecret } from "./secret.js";
import { explain, softwareText } from "./wording.js";

/** The lifetimes of a statement, as the host reads them, and in words. */
const LIFETIMES = [
  ["1 day", "1 day"],
  ["7 days", "7 days"],
  ["30 days", "30 days"],
];

const AT_ONCE = "Whoever has the text can have a till let in without being asked, so keep it safe and withdraw it when it is no longer needed.";
const LINES = "Enter each as a name and a value, such as store_number: 0042";
const LOST = "If it was, it is in the list, and its text was lost with the answer: withdraw it, and make another one.";

/** Creates a statement for the software of a template, and shows its text once. */
export async function createStatement(desk, template) {
  const tenant = desk.tenant;
  let answer;
  const isMade = await edit({
    title: `New statement for ${softwareText(template)}`,
    fields: statementFields(template),
    action: "Make it",
    saved: "",
    done: "made",
    save: async (statement) => (answer = await desk.host.createStatement(tenant, statement)),
    latest: async () => undefined,
    advice: () => LOST,
    explain,
  });
  desk.reread();
  if (!isMade) return;
  const detail = "Give it to those who install the tills. It is shown only now.";
  await showSecret({ title: "The statement", detail, parts: [["Statement", answer.softwareStatement]] });
}

function statementFields({ softwareId, softwareVersion, isGlobal, claimsSchema }) {
  const claims = h("textarea", { rows: 3, spellcheck: "false", dir: "auto" });
  const atOnce = h("input", { type: "checkbox", role: "switch" });
  let lifetime = LIFETIMES[0][0];
  const claimsField = field("What it says about each client", claims, { hint: `One per line, such as store_number: 0042. Optional.` });
  const lifetimes = choice("Valid for", LIFETIMES, lifetime, (chosen) => (lifetime = chosen));
  const atOnceField = h("div", { class: "stack tight" }, h("label", { class: "switch" }, atOnce, h("span", {}, "Let them in at once")), h("p", { class: "hint" }, AT_ONCE));
  return {
    element: h("div", { class: "stack" }, claimsField, lifetimes, atOnceField),
    value: () => ({ softwareId, softwareVersion, usingGlobalTemplate: isGlobal, claims: claimsOf(claims.value, claimsSchema), autoApprove: atOnce.checked, expiresIn: lifetime }),
    typed: () => [claims.value, atOnce.checked, lifetime],
    showFaults(faults) {
      const isClaim = ({ path }) => path.startsWith("$.claims");
      const fault = faults.find(isClaim);
      claimsField.showFault(fault && claimText(fault));
      return faults.every(isClaim);
    },
  };
}

/** A fault of the claims as a sentence: a line, or a claim that the host refuses. */
function claimText({ path, message }) {
  const name = path.slice("$.claims.".length) || "The claims";
  return message === LINES ? `${LINES}.` : `${name} ${message}.`;
}

/** The typed claims, as numbers where the template wants them. */
function claimsOf(text, { properties = {} } = {}) {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  return Object.fromEntries(
    lines.map((line) => {
      const [, name, value] = /^\s*([a-z][a-z0-9_]*)\s*[:=]\s*(.*\S)\s*$/.exec(line) ?? [];
      if (name === undefined) throw new TillgateError({ code: "invalid", path: "$.claims", message: LINES });
      const isNumber = /^(number|integer)$/.test(properties[name]?.type) && value !== "" && Number.isFinite(Number(value));
      return [name, isNumber ? Number(value) : value];
    }),
  );
}
