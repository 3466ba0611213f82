/**
 * Restores an earlier rate of a unit, from its history: sets the value again or, if it came from a unit above, follows that
 * unit again.
 */

import { choice, h, notify } from "../shared/dom.js";
import { isSame } from "./decimal.js";
import { pairsOf } from "./pairs.js";
import { changeRates } from "./rate-change.js";
import { explain, identityOf, keyOf, oppositeOf, pairKeyOf, rateText } from "./wording.js";

/** Opens the dialog for a value of the history of `rate`. */
export async function restoreRate(desk, { shown, rate, item }) {
  const { id } = shown;
  try {
    const own = (await desk.host.setAt(id)).filter((set) => pairKeyOf(set) === pairKeyOf(rate));
    const set = await Promise.all(directions(shown, rate, own).map((each) => valueAt(desk, id, each, { rate, item })));
    const follow = own.length > 0 && item.setAt !== id ? { delete: own.map(identityOf) } : undefined;
    const inherited = follow && (await inheritedRate(desk, id, rate));
    const title = `Go back to ${rateText({ ...rate, ...item })}`;
    return await changeRates(desk, { id, title, fields: restoreFields(desk, id, { set, follow, inherited, item }), reviewed: true, isRestoring: true });
  } catch (error) {
    notify(explain(error));
  }
}

/** The directions to set: those set now; otherwise the one that is set above. */
function directions(shown, rate, own) {
  if (own.length > 0) return own.map(identityOf);
  const pair = pairsOf(shown).find(({ key }) => key === pairKeyOf(rate));
  return [identityOf(pair?.main ?? rate)];
}

/** A direction with its value at the time of an item of the history. */
async function valueAt(desk, id, direction, { rate, item }) {
  if (keyOf(direction) === keyOf(rate)) return { ...direction, rateValue: item.rateValue };
  const [then] = await desk.host.history(id, oppositeOf(rate), item.at, 1);
  return { ...direction, rateValue: then.rateValue };
}

/** The rate that a unit would use without its own; undefined if there is none, or it is unknown. */
async function inheritedRate(desk, id, rate) {
  const above = desk.units?.get(id)?.parentId;
  if (above === undefined) return undefined;
  return (await desk.host.used(above)).find((used) => keyOf(used) === keyOf(rate));
}

/**
 * If the value came from a unit above, that unit can be followed again instead; this is the default if it still has the value.
 */
function restoreFields(desk, id, { set, follow, inherited, item }) {
  const isSameStill = inherited !== undefined && isSame(inherited.rateValue, item.rateValue);
  let change = follow && isSameStill ? follow : { set };
  const element = h("div", { class: "stack" });
  if (follow !== undefined) {
    const followed = inherited === undefined ? "Delete the rate that is set here" : `Follow ${desk.name(inherited.setAt)} again, now ${inherited.rateValue}`;
    const options = [["set", `Set ${item.rateValue} at ${desk.name(id)}`], ["follow", followed]];
    const onchange = (chosen) => (change = chosen === "follow" ? follow : { set });
    const how = choice("How", isSameStill ? options.reverse() : options, isSameStill ? "follow" : "set", onchange);
    how.classList.add("stacked");
    element.append(how);
  }
  return { element, value: () => change, typed: () => "", showFaults: () => false };
}
