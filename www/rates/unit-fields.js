/**
 * The form of a business unit: its kind, id, name, parent, markups, and how far rates may move.
 */

import { TillgateError } from "../../js/src/index.js";
import { button, choice, field, h } from "../shared/dom.js";
import { DOTS_RULE, faultText, isDots } from "../shared/faults.js";
import { picker, pickerField } from "../shared/picker.js";
import { DECIMAL_HINT, readDecimal } from "./decimal.js";
import { KINDS, TYPES } from "./wording.js";

const PARENT_HINT = "A company or group. Changing it moves the unit.";
const ID_HINT = "The id of a company or group. Changing it moves the unit.";
const MARKUP_HINT = "Lowers every rate of the shops below by this much. Empty: same as the unit above. 0: none.";
const TOLERANCE_HINT = "A rate that moves further needs confirmation. Empty: same as the unit above. 0: any step.";
const PERCENTAGE_RULE = "must be a number from 0 to less than 100, such as 2.5";

/** The fields, with their first values; `stored` is the edited unit. */
export function unitFields(desk, unit, { isNew, stored }) {
  const text = (value, properties) => h("input", { value: value ?? "", spellcheck: "false", autocomplete: "off", dir: "auto", ...properties });
  let { type } = unit;
  const id = text(unit.id, { maxlength: 128 });
  const name = text(unit.name, { maxlength: 256 });
  /** The possible parents, if known: not every user may list units. */
  const above = () => (desk.units?.all() ?? []).filter((other) => other.type !== "STORE" && (isNew || !desk.units.isAtOrBelow(other.id, stored.id)));
  const titleOf = (id) => (desk.name(id) === id ? id : `${desk.name(id)} (${id})`);
  const isKnown = desk.units !== undefined;
  const parent = isKnown ? picker({ read: () => above().map((other) => [other.id, titleOf(other.id)]), textOf: titleOf, onchange() {} }) : text(unit.parentId);
  if (isKnown) parent.show(unit.parentId);
  const markup = text(unit.markupPercentage, { inputmode: "decimal" });
  const tolerance = text(unit.tolerancePercentage, { inputmode: "decimal" });
  const idField = field("Id", id, { hint: "Tills and subscribers know the unit by this id. Letters, digits and _ . : -" });
  const nameField = field("Name", name);
  const parentField = isKnown ? pickerField("Below", parent, { hint: PARENT_HINT }) : field("Below", parent, { hint: ID_HINT });
  const markupField = field("General markup in percent", markup, { hint: `${MARKUP_HINT} ${DECIMAL_HINT}` });
  const toleranceField = field("Largest step of a rate in percent", tolerance, { hint: TOLERANCE_HINT });
  const kinds = choice("Kind", Object.entries(KINDS).map(([kind, { word }]) => [kind, word]), type, (chosen) => {
    type = chosen;
    parentField.hidden = type === "COMPANY";
  });
  const pairs = pairPercentages(MARKUPS, unit.markups);
  const steps = pairPercentages(TOLERANCES, unit.tolerances);
  kinds.hidden = idField.hidden = !isNew;
  parentField.hidden = type === "COMPANY";
  const element = h("div", { class: "stack" }, kinds, idField, nameField, parentField, markupField, pairs.element, toleranceField, steps.element);
  const places = [
    ["$.businessUnitId", idField],
    ["$.name", nameField],
    ["$.parentId", parentField],
    ["$.markupPercentage", markupField],
    ["$.tolerancePercentage", toleranceField],
  ];

  const value = () => ({
    type,
    ...(type !== "COMPANY" && { parentId: (parent.value ?? "").trim() }),
    ...(name.value.trim() && { name: name.value.trim() }),
    ...(markup.value.trim() && { markupPercentage: readDecimal(markup.value) ?? markup.value.trim() }),
    ...pairs.value(),
    ...(tolerance.value.trim() && { tolerancePercentage: readDecimal(tolerance.value) ?? tolerance.value.trim() }),
    ...steps.value(),
  });

  return {
    element,
    value,
    typed: () => ({ ...value(), id: id.value }),
    kept: () => ({ ...value(), id: id.value }),
    id: () => (isNew ? id.value.trim() : stored.id),
    check() {
      const found = faultsOf(value(), { newId: isNew ? id.value.trim() : undefined, units: desk.units, above: above() });
      if (found.length > 0) throw new TillgateError({ code: "invalid", ...found[0], faults: found });
    },
    /** Shows faults at their fields; returns true if every fault has a field. */
    showFaults(all) {
      for (const [path, place] of places) {
        const fault = all.find((each) => each.path === path);
        place.showFault(fault && faultText(fault));
      }
      pairs.showFaults(all);
      steps.showFaults(all);
      element.querySelector("[aria-invalid]")?.focus();
      return all.every(({ path }) => places.some(([each]) => each === path) || /^\$\.(markups|tolerances)\[\d+\]/.test(path));
    },
  };
}

/** The faults that need no host. `newId` is the id of a new unit, `above` the possible parents. */
function faultsOf({ parentId, ...unit }, { newId, units, above }) {
  const isPercentage = (text) => text === undefined || (readDecimal(text) !== undefined && Number(text) < 100);
  const found = [];
  const add = (isWrong, path, message) => isWrong && found.push({ path, message });
  add(newId !== undefined && !/^[A-Za-z0-9._:-]{1,128}$/.test(newId), "$.businessUnitId", "must be 1 to 128 of A-Z a-z 0-9 _ . : -");
  add(isDots(newId), "$.businessUnitId", DOTS_RULE);
  add(newId !== undefined && units?.get(newId), "$.businessUnitId", "is taken: another business unit has it");
  add(parentId === "", "$.parentId", "must be a company or group");
  add(parentId && units && !above.some((other) => other.id === parentId), "$.parentId", "must be a company or group that is not below this unit");
  for (const { list, member } of [MARKUPS, TOLERANCES]) {
    add(!isPercentage(unit[member]), `$.${member}`, PERCENTAGE_RULE);
    unit[list]?.forEach((entry, at) => add(!isPercentage(entry[member]), `$.${list}[${at}].${member}`, PERCENTAGE_RULE));
  }
  return found;
}

/** The settings of single pairs: the members of the list and of its entries, and their words. */
const MARKUPS = {
  list: "markups",
  member: "markupPercentage",
  heading: "Markups of single pairs, in both directions",
  add: "Add a markup for a pair",
  remove: "Remove this markup",
  label: "Markup in percent",
  placeholder: "2.5",
};
const TOLERANCES = {
  list: "tolerances",
  member: "tolerancePercentage",
  heading: "Largest steps of single pairs",
  add: "Add a largest step for a pair",
  remove: "Remove this largest step",
  label: "Largest step in percent",
  placeholder: "20",
};

/** The percentages of single pairs; `value` returns them as a unit has them, absent if there are none. */
function pairPercentages(kind, given = []) {
  const entries = h("ol", { class: "rule-list" }, given.map((entry) => pairFields(kind, entry)));
  const onclick = () => {
    const line = pairFields(kind, { exchangeRateType: "SALES", currencyIdFrom: "", currencyIdTo: "EUR", [kind.member]: "" });
    entries.append(line);
    line.querySelector("select").focus();
  };
  const add = button(kind.add, { image: "plus", class: "plain", onclick });
  return {
    element: h("div", { class: "stack tight" }, h("h3", {}, kind.heading), entries, add),
    value: () => (entries.children.length > 0 ? { [kind.list]: [...entries.children].map((line) => line.read()) } : {}),
    showFaults(all) {
      [...entries.children].forEach((line, at) => line.showFault(all.filter(({ path }) => path.startsWith(`$.${kind.list}[${at}]`)).map(faultText).join(" ")));
    },
  };
}

/** The fields of a pair in the list; `read` returns it. */
function pairFields(kind, entry) {
  const { exchangeRateType, currencyIdFrom, currencyIdTo } = entry;
  const type = h("select", { "aria-label": "Type" }, Object.entries(TYPES).map(([value, text]) => h("option", { value }, text)));
  type.value = exchangeRateType;
  const code = (value, label, placeholder) => h("input", { value, class: "code", maxlength: 3, "aria-label": label, placeholder, spellcheck: "false", autocomplete: "off" });
  const [one, other] = [code(currencyIdTo, "One currency", "EUR"), code(currencyIdFrom, "The other currency", "SEK")];
  const percentage = h("input", { value: entry[kind.member], inputmode: "decimal", "aria-label": kind.label, placeholder: kind.placeholder, autocomplete: "off" });
  const fault = h("p", { class: "fault", hidden: true });
  const remove = button(kind.remove, { image: "trash", iconOnly: true, class: "plain", onclick: () => line.remove() });
  const line = h("li", { class: "markup-fields" }, type, one, other, percentage, h("span", {}, "%"), remove, fault);
  line.read = () => ({
    exchangeRateType: type.value,
    currencyIdFrom: other.value.trim().toUpperCase(),
    currencyIdTo: one.value.trim().toUpperCase(),
    [kind.member]: readDecimal(percentage.value) ?? percentage.value.trim(),
  });
  line.showFault = (sentence) => {
    fault.textContent = sentence;
    fault.hidden = sentence === "";
    for (const input of [one, other, percentage]) input.toggleAttribute("aria-invalid", sentence !== "");
    if (sentence !== "") for (const input of [one, other, percentage]) input.setAttribute("aria-invalid", "true");
  };
  return line;
}
