/**
 * The form of a project: its name and its rules.
 */

import { button, field, h } from "../shared/dom.js";
import { faultText } from "../shared/faults.js";
import { keeping, restrictionFields } from "./restriction-fields.js";

/** Where the draft of a project is kept; without an id, that of a new one. */
export const draftKey = (id = "") => `project:${id}`;

/** The form; `show` fills it, `value` reads it. */
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
    show(project) {
      readName = keeping(name, project.name ?? "");
      rules.replaceChildren(...project.restrictions.map(restrictionFields));
    },
    value: () => ({ ...(readName() !== "" && { name: readName() }), restrictions: [...rules.children].map((rule) => rule.read()) }),
    /** Shows faults at their fields; returns whether every fault has one. */
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
