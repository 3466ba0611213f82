/**
 * Changes rates of a business unit: a form, the dry run, then one atomic change. A rate that another user changed meanwhile is
 * not overwritten unseen, and a likely typing error is not set without asking.
 */

import { TillgateError, calculate, oppositeRate } from "../../js/src/index.js";
import { h } from "../shared/dom.js";
import { editWithDraft } from "../shared/draft.js";
import { edit } from "../shared/editor.js";
import { figure } from "../shared/locale.js";
import { whoOf } from "../shared/reason.js";
import { isSame } from "./decimal.js";
import { effect } from "./effect.js";
import { questionAbout, withSlips } from "./slips.js";
import { TYPES, explain, keyOf, oppositeOf, pairKeyOf, pairText, rateText } from "./wording.js";

const DAY_MS = 86_400_000;

/** Opens a form with its draft, which is kept under `key`; `formOf` makes the form. Returns true if something was saved. */
export async function typeRates(desk, { key, formOf, ...rest }) {
  const isSaved = await editWithDraft(desk.memory, key, formOf, (form) => changeRates(desk, { ...rest, ...form }));
  desk.redraw();
  return isSaved;
}

/**
 * Opens the dialog and returns true if something was saved. `fields` is a form whose value is a change, `{ set?, delete? }`;
 * its `check` may throw why there is none. With `reviewed`, the dry run is shown at once. `isRestoring` goes back to earlier
 * values: however far they are from today's, they are no typing errors.
 */
export async function changeRates(desk, { id, title, fields, isRestoring = false, ...rest }) {
  const kind = desk.units?.get(id)?.type;
  let seen;
  /** The rates that were set when the form was opened or reviewed. */
  let known;
  /** True if shown rates look like typing errors: saving accepts them. */
  let hasSlips = false;
  /** The extra question before that, if a rate moves very far. */
  let question;

  const review = async () => {
    fields.check?.();
    const change = fields.value();
    check(change);
    const above = desk.units?.get(id)?.parentId;
    const usedAbove = above !== undefined && change.delete?.length > 0 ? desk.host.used(above) : [];
    const asked = [desk.host.setAt(id), desk.host.used(id), usedAbove, desk.host.tryRates(id, change)];
    const [set, used, inherited, dryRun] = await Promise.all(asked);
    known = set;
    seen = touched(set, change);
    const meant = changesOf(change, { set, used, inherited, isKnown: desk.units?.get(id) !== undefined });
    const changes = isRestoring ? meant : withSlips(meant, change.set, dryRun.deviations);
    hasSlips = changes.some(({ slip }) => slip);
    question = questionAbout(changes);
    return effect({ changes, isRestoring, notes: notesOf(desk.units, id, change, { set, used, inherited }), dryRun, kind, units: desk.units });
  };

  /** Saves over the version seen. If only other rates changed since, it tries again. */
  const save = async (change, reason, attempts = 5) => {
    const { body, etag } = await desk.host.setAtWithVersion(id);
    if (versionOf(touched(body, change)) !== versionOf(seen)) throw new TillgateError({ code: "version_outdated", status: 412, message: "the rates have changed" });
    try {
      const { correlationId } = await desk.host.changeRates(id, change, etag, { acceptDeviation: hasSlips || isRestoring, reason });
      desk.track(correlationId, title);
    } catch (error) {
      if (error.status !== 412 || attempts === 1) throw error;
      await save(change, reason, attempts - 1);
    }
  };

  const latest = async () => ({ body: touched(await desk.host.setAt(id), fields.value()) });
  const isOutdated = ({ body }) => known !== undefined && versionOf(body) !== versionOf(touched(known, fields.value()));
  desk.host.setAt(id).then((set) => (known ??= set)).catch(() => {});
  /** The user who changed the first rate that differs. */
  const lastBy = async (theirs) => {
    const [before, now] = [known ?? [], theirs.set].map(valuesOf);
    const rate = [...theirs.set, ...theirs.delete].find((each) => before.get(keyOf(each)) !== now.get(keyOf(each)));
    const values = rate && (await desk.host.history(id, rate, new Date(Date.now() - DAY_MS).toISOString()));
    const by = values?.at(-1)?.by;
    return by && whoOf(by);
  };
  const action = () => (hasSlips ? "Set it anyway" : "Save");
  const others = { confirm: () => question, latest, lastBy, isOutdated, follow: desk.follow, isSaved: holds };
  const isSaved = await edit({ ...rest, ...others, title, fields, review, action, save: (change, _, reason) => save(change, reason), hasReason: true, describe, explain, saved: savedText(kind) });
  if (isSaved) desk.reread();
  return isSaved;
}

/** Throws the faults that a change has at any unit, before it is written as JSON. */
function check({ set = [] }) {
  if (set.length === 0) return;
  try {
    calculate([{ op: "check", rates: set }]);
  } catch (error) {
    if (error.status !== 400) throw error;
    // Only the host knows if the opposite is set at the unit.
    const faults = error.faults.filter(({ message }) => !message.startsWith("has an opposite"));
    if (faults.length === 0) return;
    const placed = faults.map(({ path, message }) => ({ path: path.replace("$.calls[0].rates", "$.set"), message }));
    throw new TillgateError({ code: "invalid", ...placed[0], faults: placed });
  }
}

/** A form without controls, for a given change. */
export const given = (change) => ({ element: h("div", {}), value: () => change, showFaults: () => false });

const savedText = (kind) => (kind === "STORE" || kind === undefined ? "Saved. The rate is in force." : "Saved. The shops are getting it now.");

/** The current rates that a change would write or delete, as a change. */
function touched(set, { set: written = [], delete: gone = [] }) {
  const now = new Map(set.map((rate) => [keyOf(rate), rate]));
  const all = [...written, ...gone];
  return { set: all.flatMap((rate) => now.get(keyOf(rate)) ?? []), delete: all.filter((rate) => !now.has(keyOf(rate))) };
}

/** True if the rates that a change touches already have its values. */
function holds(now, { set = [], delete: gone = [] }) {
  const values = valuesOf(now.set);
  const isSet = (rate) => values.has(keyOf(rate)) && isSame(values.get(keyOf(rate)), rate.rateValue);
  return set.every(isSet) && gone.every((rate) => !values.has(keyOf(rate)));
}

/**
 * Each rate of a change with its values before and after, without unchanged ones. A deletion `isLast` if it leaves the unit
 * without a rate of its pair, where it `isKnown` what is set above.
 */
function changesOf({ set = [], delete: gone = [] }, now) {
  const usedNow = valuesOf(now.used);
  const setNow = valuesOf(now.set);
  const inherited = valuesOf(now.inherited);
  const isGone = new Set(gone.map(keyOf));
  const remaining = new Map([...setNow, ...valuesOf(set)].filter(([key]) => !isGone.has(key)));
  const isUnchanged = (rate) => setNow.has(keyOf(rate)) && isSame(setNow.get(keyOf(rate)), rate.rateValue);
  const written = set.filter((rate) => !isUnchanged(rate)).map((rate) => ({ rate, before: usedNow.get(keyOf(rate)), after: rate.rateValue }));
  const removed = gone
    .filter((rate) => setNow.has(keyOf(rate)))
    .map((rate) => {
      const opposite = remaining.get(keyOf(oppositeOf(rate)));
      const after = opposite === undefined ? inherited.get(keyOf(rate)) : oppositeRate(opposite);
      return { rate, before: usedNow.get(keyOf(rate)), after, isLast: after === undefined && now.isKnown };
    });
  return [...removed, ...written];
}

const valuesOf = (rates) => new Map(rates.map((rate) => [keyOf(rate), rate.rateValue]));

/** Changes beside the values: where rates come from. */
function notesOf(units, id, { set = [], delete: gone = [] }, now) {
  const own = new Set(now.set.map(pairKeyOf));
  const from = new Map(now.used.map((rate) => [pairKeyOf(rate), rate.setAt]));
  const name = (unit) => units?.name(unit) ?? unit;
  const left = new Set(set.map(pairKeyOf).filter((pair) => !own.has(pair) && from.has(pair)).map((pair) => name(from.get(pair))));
  const above = new Set(now.inherited.map(pairKeyOf));
  const follows = gone.some((rate) => own.has(pairKeyOf(rate)) && above.has(pairKeyOf(rate))) && set.length === 0;
  return [
    left.size > 0 && `${name(id)} then keeps its own rate: changes at ${[...left].join(" or ")} no longer reach it.`,
    follows && `${name(id)} then follows the units above it again.`,
  ].filter(Boolean);
}

const versionOf = ({ set, delete: gone }) => JSON.stringify([set.map((rate) => [keyOf(rate), rate.rateValue]), gone.map(keyOf)]);

/** Rates as a sentence. */
function describe({ set = [], delete: gone = [] }) {
  const lines = [
    ...set.map((rate) => `${TYPES[rate.exchangeRateType]}: ${rateText(rate)}`),
    ...gone.map((rate) => `${TYPES[rate.exchangeRateType]}: ${pairText(rate)} is not set here`),
  ];
  const more = lines.length - 6;
  return `${lines.slice(0, 6).join("; ")}${more > 0 ? `; and ${figure(more)} more` : ""}.`;
}
