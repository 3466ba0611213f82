/**
 * The form of a business unit: its kind, its id, its name, the unit above it, and its markups.
 */

import { TillgateError } from "../../js/src/runtime/browser.js";
import { button, choice, field, h } from "../shared/dom.js";
import { DOTS_RULE, faultText, isDots } from "../shared/faults.js";
import { DECIMAL_HINT, readDecimal } from "./decimal.js";
import { KINDS, TYPES } from "./wording.js";

const PARENT_HINT = "The id of a company or group. Another one moves the unit.";
const MARKUP_HINT = "Lowers every rate of the shops below by this much. Empty: as the unit above has it. 0: none.";
const PERCENTAGE_RULE = "must be a number from 0 to less than 100, such as 2.5";

/** The fields, with what they hold first; `stored` is the unit that is edited. */
export function unitFields(desk, unit, { isNew, stored }) {
  const text = (value, properties) => h("input", { value: value ?? "", spellcheck: "false", autocomplete: "off", ...properties });
  let { type } = unit;
  const id = text(unit.id, { maxlength: 128 });
  const name = text(unit.name, { maxlength: 256 });
  const parent = text(unit.parentId, { list: "parents", oninput: showParent });
  const markup = text(unit.markupPercentage, { inputmode: "decimal" });
  const idField = field("Id", id, { hint: "Tills and subscribers know the unit by this id. Letters, digits and _ . : -" });
  const nameField = field("Name", name);
  const parentField = field("Below", parent, { hint: PARENT_HINT });
  const markupField = field("General markup in percent", markup, { hint: `${MARKUP_HINT} ${DECIMAL_HINT}` });
  const parentName = parentField.querySelector(".hint");
  const kinds = choice("Kind", Object.entries(KINDS).map(([kind, { word }]) => [kind, word]), type, (chosen) => {
    type = chosen;
    parentField.hidden = type === "COMPANY";
  });
  const above = (desk.units?.all() ?? []).filter((other) => other.type !== "STORE" && (isNew || !desk.units.isAtOrBelow(other.id, stored.id)));
  const parents = h("datalist", { id: "parents" }, above.map((other) => h("option", { value: other.id }, other.name ?? "")));
  const pairs = pairMarkups(unit.markups);
  kinds.hidden = idField.hidden = !isNew;
  parentField.hidden = type === "COMPANY";
  const element = h("div", { class: "stack" }, kinds, idField, nameField, parentField, parents, markupField, pairs.element);
  const places = [["$.businessUnitId", idField], ["$.name", nameField], ["$.parentId", parentField], ["$.markupPercentage", markupField]];

  /** Shows the name of the unit that an id stands for. */
  function showParent() {
    const found = desk.units?.get(parent.value.trim());
    parentName.textContent = found ? `${KINDS[found.type].word} “${desk.name(found.id)}”` : PARENT_HINT;
  }
  showParent();

  const value = () => ({
    type,
    ...(type !== "COMPANY" && { parentId: parent.value.trim() }),
    ...(name.value.trim() && { name: name.value.trim() }),
    ...(markup.value.trim() && { markupPercentage: readDecimal(markup.value) ?? markup.value.trim() }),
    ...pairs.value(),
  });

  return {
    element,
    value,
    typed: () => ({ ...value(), id: id.value }),
    kept: () => ({ ...value(), id: id.value }),
    id: () => (isNew ? id.value.trim() : stored.id),
    check() {
      const found = faultsOf(value(), { newId: isNew ? id.value.trim() : undefined, units: desk.units, above });
      if (found.length > 0) throw new TillgateError({ code: "invalid", ...found[0], faults: found });
    },
    /** Shows faults at their fields; returns whether every fault has a field. */
    showFaults(all) {
      for (const [path, place] of places) {
        const fault = all.find((each) => each.path === path);
        place.showFault(fault && faultText(fault));
      }
      pairs.showFaults(all);
      element.querySelector("[aria-invalid]")?.focus();
      return all.every(({ path }) => places.some(([each]) => each === path) || /^\$\.markups\[\d+\]/.test(path));
    },
  };
}

/** What can be told without the host. `newId` is the id of a new unit, `above` the units that one can be below. */
function faultsOf({ parentId, markupPercentage, markups = [] }, { newId, units, above }) {
  const isPercentage = (text) => text === undefined || (readDecimal(text) !== undefined && Number(text) < 100);
  const found = [];
  const add = (isWrong, path, message) => isWrong && found.push({ path, message });
  add(newId !== undefined && !/^[A-Za-z0-9._:-]{1,128}$/.test(newId), "$.businessUnitId", "must be 1 to 128 of A-Z a-z 0-9 _ . : -");
  add(isDots(newId), "$.businessUnitId", DOTS_RULE);
  add(newId !== undefined && units?.get(newId), "$.businessUnitId", "is taken: another business unit has it");
  add(parentId === "", "$.parentId", "must be the id of a company or group");
  add(parentId && units && !above.some((other) => other.id === parentId), "$.parentId", "must be a company or group that is not below this unit");
  add(!isPercentage(markupPercentage), "$.markupPercentage", PERCENTAGE_RULE);
  markups.forEach((entry, at) => add(!isPercentage(entry.markupPercentage), `$.markups[${at}].markupPercentage`, PERCENTAGE_RULE));
  return found;
}

/** The markups of single pairs; `value` returns them as a unit has them: absent when there are none. */
function pairMarkups(given = []) {
  const entries = h("ol", { class: "rule-list" }, given.map(markupFields));
  const onclick = () => {
    const line = markupFields({ exchangeRateType: "SALES", currencyIdFrom: "", currencyIdTo: "EUR", markupPercentage: "" });
    entries.append(line);
    line.querySelector("select").focus();
  };
  const add = button("Add a markup for a pair", { image: "plus", class: "plain", onclick });
  return {
    element: h("div", { class: "stack tight" }, h("h3", {}, "Markups of single pairs, in both directions"), entries, add),
    value: () => (entries.children.length > 0 ? { markups: [...entries.children].map((line) => line.read()) } : {}),
    showFaults(all) {
      [...entries.children].forEach((line, at) => line.showFault(all.filter(({ path }) => path.startsWith(`$.markups[${at}]`)).map(faultText).join(" ")));
    },
  };
}

/** The fields of the markup of a pair, in a line of the list; `read` returns it. */
function markupFields({ exchangeRateType, currencyIdFrom, currencyIdTo, markupPercentage }) {
  const type = h("select", { "aria-label": "Type" }, Object.entries(TYPES).map(([value, text]) => h("option", { value }, text)));
  type.value = exchangeRateType;
  const code = (value, label, placeholder) => h("input", { value, class: "code", maxlength: 3, "aria-label": label, placeholder, spellcheck: "false", autocomplete: "off" });
  const [one, other] = [code(currencyIdTo, "One currency", "EUR"), code(currencyIdFrom, "The other currency", "SEK")];
  const percentage = h("input", { value: markupPercentage, inputmode: "decimal", "aria-label": "Markup in percent", placeholder: "2.5", autocomplete: "off" });
  const fault = h("p", { class: "fault", hidden: true });
  const remove = button("Remove this markup", { image: "trash", iconOnly: true, class: "plain", onclick: () => line.remove() });
  const line = h("li", { class: "markup-fields" }, type, one, other, percentage, h("span", {}, "%"), remove, fault);
  line.read = () => ({
    exchangeRateType: type.value,
    currencyIdFrom: other.value.trim().toUpperCase(),
    currencyIdTo: one.value.trim().toUpperCase(),
    markupPercentage: readDecimal(percentage.value) ?? percentage.value.trim(),
  });
  line.showFault = (sentence) => {
    fault.textContent = sentence;
    fault.hidden = sentence === "";
    for (const input of [one, other, percentage]) input.toggleAttribute("aria-invalid", sentence !== "");
    if (sentence !== "") for (const input of [one, other, percentage]) input.setAttribute("aria-invalid", "true");
  };
  return line;
}
