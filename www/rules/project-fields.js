/**
 * The form of a project: its name and its rules.
 */

import { button, field, h } from "../shared/dom.js";
import { faultText } from "../shared/faults.js";
import { keeping, restrictionFields } from "./restriction-fields.js";
import { ruleLabel } from "./rule-changes.js";

/** The key of a project's draft; without an id, that of a new one. */
export const draftKey = (id = "") => `project:${id}`;

/** The form; `show` fills it, `value` reads it, and `placeOf` returns the line of the rule that a path is about. */
export function projectFields() {
  const name = h("input", { autocomplete: "off", dir: "auto" });
  const nameField = field("Name", name);
  const rules = h("ol", { class: "rule-list" });
  const add = button("Add a rule", {
    image: "plus",
    class: "plain",
    onclick: () => {
      const fields = restrictionFields({ type: "WHITELIST", propertyName: "", allowedValues: [], exclusive: false });
      rules.append(fields);
      fields.querySelector("select").focus();
    },
  });
  let readName;
  return {
    element: h("div", { class: "stack" }, nameField, h("div", { class: "stack tight" }, h("h3", {}, "Rules"), rules, add)),
    /** Fills the form; changes are counted against the `stored` project. */
    show(project, stored = project) {
      readName = keeping(name, project.name ?? "");
      const left = [...stored.restrictions];
      rules.replaceChildren(...project.restrictions.map((rule) => restrictionFields(rule, takeStored(left, rule))));
    },
    /** Makes the form start with one of its rules when it is opened. */
    beginAt: (at) => rules.children[at]?.querySelector("select").setAttribute("autofocus", ""),
    value: () => ({ ...(readName() !== "" && { name: readName() }), restrictions: [...rules.children].map((rule) => rule.read()) }),
    placeOf(path) {
      const [, at] = /^\$\.restrictions\[(\d+)\]/.exec(path) ?? [];
      const line = rules.children[at];
      return line && { name: `Rule ${Number(at) + 1}: ${ruleLabel(line.read())}`, element: line };
    },
    /** Shows faults at their fields; returns true if every fault has one. */
    showFaults(faults) {
      let placed = 0;
      for (const rule of rules.children) rule.showFault();
      const ofName = faults.find(({ path }) => path === "$.name");
      nameField.showFault(ofName && faultText(ofName));
      for (const fault of faults) {
        const [, at] = /^\$\.restrictions\[(\d+)\]/.exec(fault.path) ?? [];
        if (at !== undefined) rules.children[at]?.showFault(fault);
        if (at !== undefined || fault === ofName) placed += 1;
      }
      return placed === faults.length;
    },
  };
}

/** The values of the stored rule that checks the same thing; each stored rule is used once. */
function takeStored(left, { type, propertyName }) {
  const at = left.findIndex((rule) => rule.type === type && rule.propertyName === propertyName);
  const [{ allowedValues, deniedValues, itemIds } = {}] = at < 0 ? [] : left.splice(at, 1);
  return allowedValues ?? deniedValues ?? itemIds ?? [];
}
