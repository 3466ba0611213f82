/**
 * Projects: the list, and the forms that create, change and delete them.
 */

import { button, confirmed, field, h, icon, notify } from "./dom.js";
import { edit } from "./editor.js";
import { list } from "./list.js";
import { counted, errorText, faultText, projectName, restrictionText } from "./messages.js";
import { projectPath } from "./session.js";

const TYPES = [
  ["WHITELIST", "A property must be one of"],
  ["BLACKLIST", "A property must not be one of"],
  ["BOOLEAN", "A property must be yes or no"],
  ["WHITELISTEDITEMS", "Only these items"],
  ["BLACKLISTEDITEMS", "Never these items"],
];

/** The view. */
export function projects(session) {
  return list({
    read: () => session.projects(),
    key: ({ projectId }) => projectId,
    text: (project) => `${projectName(project)} ${project.projectId} ${project.restrictions.map(restrictionText).join(" ")}`,
    row: (project) => row(session, project),
    create: () => editProject(session),
    labels: {
      title: "Projects",
      noun: "project",
      empty: "No projects yet",
      about: "A project says what may be bought for it: which product groups, which items, and which items never.",
    },
  });
}

function row(session, project) {
  const { projectId, restrictions } = project;
  const name = projectName(project);
  const rules = restrictions.slice(0, 3).map((restriction) => h("li", {}, restrictionText(restriction)));
  const more = restrictions.length - rules.length;
  return h(
    "li",
    { class: "row tall" },
    h("span", { class: "row-mark" }, String(restrictions.length)),
    h(
      "div",
      { class: "row-text" },
      h("h2", {}, name),
      h("p", { class: "id" }, projectId),
      rules.length > 0 ? h("ul", { class: "rules" }, rules, more > 0 && h("li", {}, `and ${counted(more, "rule")} more`)) : h("p", {}, "Everything may be bought."),
    ),
    h(
      "div",
      { class: "row-actions" },
      h("a", { class: "button plain", href: `#/preview/project/${projectId}`, "aria-label": `Preview ${name}` }, icon("eye"), h("span", {}, "Preview")),
      button("Edit", { image: "pencil", class: "plain", "aria-label": `Edit ${name}`, onclick: () => editProject(session, project) }),
      button(`Delete ${name}`, { image: "trash", iconOnly: true, class: "plain", onclick: () => remove(session, project) }),
    ),
  );
}

async function editProject(session, project) {
  const id = project?.projectId ?? newId();
  const read = () => session.read(projectPath(id));
  let stored = { body: { restrictions: [] } };
  try {
    if (project) stored = await read();
  } catch (error) {
    return notify(errorText(error));
  }
  return edit({
    title: project ? `Edit ${projectName(project)}` : "New project",
    wide: true,
    fields: projectFields(stored.body),
    etag: stored.etag,
    save: (body, version) => session.write(projectPath(id), body, version),
    latest: () =>
      read().catch((error) => {
        if (error.code !== "not_found") throw error;
      }),
    describe: ({ name, restrictions }) => `${name ? `${name}: ` : ""}${restrictions.map(restrictionText).join("; ") || "everything may be bought"}.`,
  });
}

async function remove(session, { projectId, ...project }) {
  const name = projectName({ projectId, ...project });
  try {
    const { etag } = await session.read(projectPath(projectId));
    const detail = "Tills that use it will be told that the project is unknown.";
    if (!(await confirmed(`Delete ${name}?`, detail, "Delete"))) return;
    await session.remove(projectPath(projectId), etag);
    notify(`${name} was deleted.`);
  } catch (error) {
    notify(error.code === "outdated" ? "It was not deleted, because someone else has just changed it. Check it again." : errorText(error));
  }
}

/** The form of a project. */
function projectFields(project) {
  const name = h("input", { value: project.name ?? "", autocomplete: "off" });
  const rules = h("ol", { class: "rule-list" });
  const add = button("Add a rule", {
    image: "plus",
    class: "plain",
    onclick: () => {
      const fields = ruleFields({ type: "WHITELIST", propertyName: "", allowedValues: [] });
      rules.append(fields);
      fields.querySelector("select").focus();
    },
  });
  rules.append(...project.restrictions.map(ruleFields));
  return {
    element: h("div", { class: "stack" }, field("Name", name), h("div", { class: "stack tight" }, h("h3", {}, "Rules"), rules, add)),
    value: () => ({ ...(name.value.trim() && { name: name.value.trim() }), restrictions: [...rules.children].map((rule) => rule.read()) }),
    /** Shows faults at their rules; returns whether every fault has a rule. */
    showFaults(faults) {
      let placed = 0;
      for (const rule of rules.children) rule.showFault("");
      for (const fault of faults) {
        const [, at] = /^\$\.restrictions\[(\d+)\]/.exec(fault.path) ?? [];
        if (at === undefined) continue;
        rules.children[at]?.showFault(faultText(fault));
        placed += 1;
      }
      return placed === faults.length;
    },
  };
}

/** The fields of one restriction, in a line of the list; `read` returns the restriction. */
function ruleFields(restriction) {
  const values = restriction.allowedValues ?? restriction.deniedValues ?? restriction.itemIds ?? [];
  const type = h("select", { "aria-label": "Type of rule", onchange: show }, TYPES.map(([value, text]) => h("option", { value }, text)));
  type.value = restriction.type;
  const property = h("input", { value: restriction.propertyName ?? "", spellcheck: "false", autocomplete: "off" });
  const propertyField = field("Property", property);
  const texts = h("textarea", { rows: Math.min(8, Math.max(3, values.length)), spellcheck: "false", value: values.filter((value) => typeof value === "string").join("\n") });
  const textsField = field("Values, one per line", texts);
  // The values yes and no are booleans, not the texts.
  const flags = [true, false].map((flag) =>
    h("label", { class: "check" }, h("input", { type: "checkbox", checked: values.includes(flag), "data-flag": String(flag) }), flag ? "yes" : "no"),
  );
  const flagsRow = h("div", { class: "inline", role: "group", "aria-label": "And" }, h("span", { class: "hint" }, "and"), flags);
  const wanted = h("select", {}, h("option", { value: "true" }, "yes"), h("option", { value: "false" }, "no"));
  wanted.value = String(restriction.value ?? false);
  const wantedField = field("Must be", wanted);
  const exclusive = h("input", { type: "checkbox", checked: restriction.exclusive ?? false });
  const fault = h("p", { class: "fault", hidden: true });
  const removeRule = button("Remove this rule", { image: "trash", iconOnly: true, class: "plain", onclick: () => line.remove() });
  const line = h(
    "li",
    { class: "rule-fields" },
    h("div", { class: "rule-head" }, type, removeRule),
    h("div", { class: "rule-body" }, propertyField, wantedField, textsField),
    flagsRow,
    h("label", { class: "check" }, exclusive, "Check this rule separately from others of the same kind"),
    fault,
  );

  function show() {
    const ofItems = type.value.endsWith("ITEMS");
    propertyField.hidden = ofItems;
    wantedField.hidden = type.value !== "BOOLEAN";
    textsField.hidden = type.value === "BOOLEAN";
    textsField.querySelector("label").textContent = ofItems ? "Item ids, one per line" : "Values, one per line";
    flagsRow.hidden = ofItems || type.value === "BOOLEAN";
  }
  show();

  line.read = () => {
    const lines = texts.value.split("\n").map((text) => text.trim()).filter((text) => text !== "");
    const chosen = flags.map((label) => label.querySelector("input")).filter(({ checked }) => checked);
    const all = [...lines, ...chosen.map(({ dataset }) => dataset.flag === "true")];
    const propertyName = property.value.trim();
    const shapes = {
      WHITELIST: { propertyName, allowedValues: all },
      BLACKLIST: { propertyName, deniedValues: all },
      BOOLEAN: { propertyName, value: wanted.value === "true" },
      WHITELISTEDITEMS: { itemIds: lines },
      BLACKLISTEDITEMS: { itemIds: lines },
    };
    return { type: type.value, ...shapes[type.value], exclusive: exclusive.checked };
  };
  line.showFault = (sentence) => {
    fault.textContent = sentence;
    fault.hidden = sentence === "";
  };
  return line;
}

/** A random UUID. `crypto.randomUUID` exists only on pages that were loaded over TLS. */
function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}
