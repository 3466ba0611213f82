/**
 * The dialog that creates or changes a business unit. A move or another markup changes the rates of the shops below, which is
 * shown before saving.
 */

import { change, changeList } from "../shared/difference.js";
import { h, notify } from "../shared/dom.js";
import { editWithDraft } from "../shared/draft.js";
import { edit } from "../shared/editor.js";
import { storedBy } from "../shared/reason.js";
import { shortest } from "./decimal.js";
import { effect } from "./effect.js";
import { unitFields } from "./unit-fields.js";
import { KINDS, TYPES, explain, keyOf, pairText } from "./wording.js";

/** The key of a unit's draft; without an id, that of a new one. */
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

/** Opens the form, and returns the id of the saved unit. */
async function openEditor(desk, { title, key = draftKey(), unit: stored, etag }) {
  const isNew = etag === undefined;
  let id = isNew ? undefined : stored.id;
  const open = ({ fields, ...form }) =>
    edit({
      ...form,
      title,
      wide: true,
      fields,
      etag,
      follow: isNew ? undefined : desk.follow,
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
      hasReason: true,
      save: async (unit, version, reason) => {
        desk.track(await desk.host.writeUnit(id, unit, version, reason), title);
        await desk.reread();
      },
      latest: () =>
        desk.host.unit(id).catch((error) => {
          if (error.status !== 404) throw error;
        }),
      lastBy: storedBy,
      isSaved: (body, unit) => unitChanges(desk, body, unit).length === 0,
      describe: (unit) => describe(desk, unit),
    });
  const isSaved = await editWithDraft(desk.memory, key, (draft) => unitFields(desk, draft ?? stored, { isNew, stored }), open);
  desk.redraw();
  return isSaved ? id : undefined;
}

const isMoved = (desk, id, { parentId }) => desk.units?.get(id) !== undefined && desk.units.get(id).parentId !== parentId;

/** The changes between two versions of a unit. Without `before`, it is new. */
function unitChanges(desk, before, after) {
  const percent = (value) => value && `${shortest(value)} %`;
  const named = ({ parentId }) => parentId && desk.name(parentId);
  const ofPairs = (list, member, label) => {
    const keys = new Map([before, after].flatMap((unit) => unit?.[list] ?? []).map((entry) => [keyOf(entry), entry]));
    const value = (unit, key) => percent((unit?.[list] ?? []).find((entry) => keyOf(entry) === key)?.[member]);
    return [...keys].map(([key, entry]) => change(`${label}, ${TYPES[entry.exchangeRateType]}, ${pairText(entry)} and back`, value(before, key), value(after, key)));
  };
  return [
    change("Name", before?.name, after.name),
    change("Kind", before && KINDS[before.type].word, KINDS[after.type].word),
    change("Below", before && named(before), named(after)),
    change("General markup", percent(before?.markupPercentage), percent(after.markupPercentage)),
    ...ofPairs("markups", "markupPercentage", "Markup"),
    change("Largest step of a rate", percent(before?.tolerancePercentage), percent(after.tolerancePercentage)),
    ...ofPairs("tolerances", "tolerancePercentage", "Largest step"),
  ].filter(Boolean);
}

/** A unit in a sentence. */
function describe(desk, { name, type, parentId, markupPercentage, markups = [], tolerancePercentage, tolerances = [] }) {
  const parts = [
    `${KINDS[type].word} “${name ?? "without a name"}”`,
    parentId !== undefined && `below ${desk.name(parentId)}`,
    markupPercentage === undefined ? "no general markup of its own" : `general markup ${markupPercentage} %`,
    ...markups.map((entry) => `${TYPES[entry.exchangeRateType]}, ${pairText(entry)}: ${entry.markupPercentage} %`),
    tolerancePercentage !== undefined && `largest step ${tolerancePercentage} %`,
    ...tolerances.map((entry) => `largest step of ${TYPES[entry.exchangeRateType]}, ${pairText(entry)}: ${entry.tolerancePercentage} %`),
  ];
  return `${parts.filter(Boolean).join("; ")}.`;
}
