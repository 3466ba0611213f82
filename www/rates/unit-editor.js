/**
 * The form of a business unit: its name, the unit above it, and its markups. A move or another markup changes the rates of
 * the shops below, which is shown before it is saved.
 */

import { TillgateError } from "../../js/src/runtime/browser.js";
import { change, changeList } from "../shared/difference.js";
import { button, choice, field, h, notify } from "../shared/dom.js";
import { editWithDraft } from "../shared/draft.js";
import { edit } from "../shared/editor.js";
import { faultText } from "../shared/faults.js";
import { DECIMAL_HINT, readDecimal } from "./decimal.js";
import { effect } from "./effect.js";
import { KINDS, TYPES, explain, keyOf, pairText } from "./wording.js";

const PARENT_HINT = "The id of a company or group. Another one moves the unit.";
const MARKUP_HINT = "Lowers every rate of the shops below by this much. Empty: as the unit above has it. 0: none.";
const PERCENTAGE_RULE = "must be a number from 0 to less than 100, such as 2.5";

/** Where the draft of a unit is kept; without an id, that of a new one. */
export const draftKey = (id = "") => `unit:${id}`;

/** Creates a unit below another, or a company. */
export async function createUnit(desk, parentId) {
  const type = parentId === undefined ? "COMPANY" : "STORE";
  const id = await openEditor(desk, { title: "New business unit", unit: { type, parentId } });
  if (id !== undefined) desk.go({ id, tab: "details" });
}

/** Edits a unit. */
export async function editUnit(desk, id) {
  try {
    const { body, etag } = await desk.host.unit(id);
    await openEditor(desk, { title: `Edit ${desk.name(id)}`, key: draftKey(id), unit: body, etag });
  } catch (error) {
    notify(explain(error));
  }
}

/** Opens the form, and returns the id of the unit that was saved. */
async function openEditor(desk, { title, key = draftKey(), unit: stored, etag }) {
  const isNew = etag === undefined;
  let id;
  const open = ({ fields, ...form }) =>
    edit({
      ...form,
      title,
      wide: true,
      fields,
      etag,
      explain,
      saved: "Saved.",
      review: async (unit, theirs) => {
        fields.check();
        id = fields.id();
        const changes = unitChanges(desk, theirs ?? (isNew ? undefined : stored), unit);
        if (!isNew && changes.length === 0) return "You have not changed anything.";
        const dryRun = await desk.host.tryUnit(id, unit);
        const name = unit.name ?? id;
        const heading = h("h3", { dir: "auto" }, isNew ? `A new ${KINDS[unit.type].word.toLowerCase()}: ${name}` : "What changes");
        const isFelt = Number(dryRun.businessUnits.affected) > 0 || isMoved(desk, id, unit);
        return h("div", { class: "stack" }, heading, changeList(changes), isFelt && effect({ dryRun, kind: unit.type, units: desk.units }));
      },
      save: async (unit, version) => {
        desk.track(await desk.host.writeUnit(id, unit, version), title);
        await desk.reread();
      },
      latest: () =>
        desk.host.unit(id).catch((error) => {
          if (error.code !== "not_found") throw error;
        }),
      describe: (unit) => describe(desk, unit),
    });
  const isSaved = await editWithDraft(desk.memory, key, (draft) => unitFields(desk, draft ?? stored, { isNew, stored }), open);
  desk.redraw();
  return isSaved ? id : undefined;
}

const isMoved = (desk, id, { parentId }) => desk.units?.get(id) !== undefined && desk.units.get(id).parentId !== parentId;

/** What changes between two versions of a unit. Without `before`, it is new. */
function unitChanges(desk, before, after) {
  const percent = (value) => value && `${value} %`;
  const named = ({ parentId }) => parentId && desk.name(parentId);
  const keys = new Map([before, after].flatMap((unit) => unit?.markups ?? []).map((entry) => [keyOf(entry), entry]));
  const markup = (unit, key) => percent((unit?.markups ?? []).find((entry) => keyOf(entry) === key)?.markupPercentage);
  return [
    change("Name", before?.name, after.name),
    change("Kind", before && KINDS[before.type].word, KINDS[after.type].word),
    change("Below", before && named(before), named(after)),
    change("General markup", percent(before?.markupPercentage), percent(after.markupPercentage)),
    ...[...keys].map(([key, entry]) => change(`Markup, ${TYPES[entry.exchangeRateType]}, ${pairText(entry)} and back`, markup(before, key), markup(after, key))),
  ].filter(Boolean);
}

/** A unit in a sentence. */
function describe(desk, { name, type, parentId, markupPercentage, markups = [] }) {
  const parts = [
    `${KINDS[type].word} “${name ?? "without a name"}”`,
    parentId !== undefined && `below ${desk.name(parentId)}`,
    markupPercentage === undefined ? "no general markup of its own" : `general markup ${markupPercentage} %`,
    ...markups.map((entry) => `${TYPES[entry.exchangeRateType]}, ${pairText(entry)}: ${entry.markupPercentage} %`),
  ];
  return `${parts.filter(Boolean).join("; ")}.`;
}

/** The fields, with what they hold first; `stored` is the unit that is edited. */
function unitFields(desk, unit, { isNew, stored }) {
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
  const entries = h("ol", { class: "rule-list" }, (unit.markups ?? []).map(markupFields));
  const add = button("Add a markup for a pair", {
    image: "plus",
    class: "plain",
    onclick: () => {
      const line = markupFields({ exchangeRateType: "SALES", currencyIdFrom: "", currencyIdTo: "EUR", markupPercentage: "" });
      entries.append(line);
      line.querySelector("select").focus();
    },
  });
  kinds.hidden = idField.hidden = !isNew;
  parentField.hidden = type === "COMPANY";
  const pairMarkups = h("div", { class: "stack tight" }, h("h3", {}, "Markups of single pairs, in both directions"), entries, add);
  const element = h("div", { class: "stack" }, kinds, idField, nameField, parentField, parents, markupField, pairMarkups);
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
    ...(entries.children.length > 0 && { markups: [...entries.children].map((line) => line.read()) }),
  });

  /** What can be told without the host. */
  const faults = () => {
    const isPercentage = (text) => text === undefined || (readDecimal(text) !== undefined && Number(text) < 100);
    const { parentId, markupPercentage, markups = [] } = value();
    const found = [];
    const add = (isWrong, path, message) => isWrong && found.push({ path, message });
    add(isNew && !/^[A-Za-z0-9._:-]{1,128}$/.test(id.value.trim()), "$.businessUnitId", "must be 1 to 128 of A-Z a-z 0-9 _ . : -");
    add(isNew && desk.units?.get(id.value.trim()), "$.businessUnitId", "is taken: another business unit has it");
    add(parentId === "", "$.parentId", "must be the id of a company or group");
    add(parentId && desk.units && !above.some((other) => other.id === parentId), "$.parentId", "must be a company or group that is not below this unit");
    add(!isPercentage(markupPercentage), "$.markupPercentage", PERCENTAGE_RULE);
    markups.forEach((entry, at) => add(!isPercentage(entry.markupPercentage), `$.markups[${at}].markupPercentage`, PERCENTAGE_RULE));
    return found;
  };

  return {
    element,
    value,
    typed: () => ({ ...value(), id: id.value }),
    kept: () => ({ ...value(), id: id.value }),
    id: () => (isNew ? id.value.trim() : stored.id),
    check() {
      const found = faults();
      if (found.length > 0) throw new TillgateError({ code: "invalid", ...found[0], faults: found });
    },
    /** Shows faults at their fields; returns whether every fault has a field. */
    showFaults(all) {
      for (const [path, place] of places) {
        const fault = all.find((each) => each.path === path);
        place.showFault(fault && faultText(fault));
      }
      [...entries.children].forEach((line, at) => line.showFault(all.filter(({ path }) => path.startsWith(`$.markups[${at}]`)).map(faultText).join(" ")));
      element.querySelector("[aria-invalid]")?.focus();
      return all.every(({ path }) => places.some(([each]) => each === path) || /^\$\.markups\[\d+\]/.test(path));
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
