/**
 * The form for one rate: 1 EUR = 11.05 SEK.
 */

import { TillgateError, calculate } from "../../js/src/index.js";
import { choice, field, h } from "../shared/dom.js";
import { faultText } from "../shared/faults.js";
import { DECIMAL_HINT, growthText, readDecimal } from "./decimal.js";
import { changeRates, given, typeRates } from "./rate-change.js";
import { TYPES, identityOf, keyOf, oppositeOf, rateText } from "./wording.js";

/** The key of a rate's draft; without a pair, that of a new one. */
export const draftKey = (id, pair) => `rate:${id}/${pair?.key ?? ""}`;

/** Sets a rate at a unit, or changes that of a pair. `pairs` are the unit's, to know what a new one replaces. */
export function editRate(desk, { id, pair, pairs = [] }) {
  const name = desk.name(id);
  const title = pair ? `${pair.isOwn ? "Change a rate" : "Set a rate"} for ${name}` : `Set a rate for ${name}`;
  return typeRates(desk, { id, title, key: draftKey(id, pair), formOf: (draft) => rateFields(desk, { pair, pairs, draft }) });
}

/** Deletes the rates set at a unit for a pair. */
export async function deleteRate(desk, { main, other, areBothSet }) {
  const change = { delete: [main, ...(areBothSet ? [other] : [])].map(identityOf) };
  return changeRates(desk, { id: desk.id, title: `Delete the rate of ${desk.name(desk.id)}`, fields: given(change), reviewed: true });
}

function rateFields(desk, { pair, pairs, draft }) {
  const first = draft?.set[0] ?? pair?.main;
  let type = first?.exchangeRateType ?? "SALES";
  const text = (value, properties) => h("input", { value, spellcheck: "false", autocomplete: "off", oninput: draw, ...properties });
  const target = text(first?.currencyIdTo ?? "EUR", { class: "code", maxlength: 3, list: "currencies", disabled: Boolean(pair) });
  const source = text(first?.currencyIdFrom ?? "", { class: "code", maxlength: 3, list: "currencies", disabled: Boolean(pair) });
  const value = text(first?.rateValue ?? "", { inputmode: "decimal" });
  const types = choice("Type", Object.entries(TYPES), type, (chosen) => {
    type = chosen;
    draw();
  });
  if (pair) for (const input of types.querySelectorAll("input")) input.disabled = true;
  const [targetField, valueField, sourceField] = [field("1 unit of", target), field("is worth", value), field("in", source)];
  const reading = h("p", { class: "reading" });
  const now = h("p", { class: "hint" });
  const list = h("datalist", { id: "currencies" }, currencies(pairs).map((code) => h("option", { value: code })));
  const sentence = h("div", { class: "sentence" }, targetField, h("span", { "aria-hidden": "true" }, "="), valueField, sourceField);
  const element = h("div", { class: "stack" }, types, sentence, list, h("p", { class: "hint" }, DECIMAL_HINT), reading, now);

  const rate = () => ({
    exchangeRateType: type,
    currencyIdFrom: source.value.trim().toUpperCase(),
    currencyIdTo: target.value.trim().toUpperCase(),
    rateValue: readDecimal(value.value) ?? value.value.trim(),
  });

  /** The rates of the pair in the form, in both directions. */
  const usedNow = () => {
    const sides = pair ? [pair] : pairs;
    return sides.flatMap(({ main, other }) => [main, other]).filter(Boolean);
  };

  /** Reads the rate back in both directions, and says what it replaces. */
  function draw() {
    const typed = rate();
    const isWhole = /^[A-Z]{3}$/.test(typed.currencyIdFrom) && /^[A-Z]{3}$/.test(typed.currencyIdTo) && readDecimal(value.value) !== undefined;
    const answer = isWhole ? computed([{ op: "check", rates: [typed] }, { op: "opposite", rate: typed.rateValue }]) : undefined;
    reading.textContent = answer ? `${rateText(typed)}, so ${rateText({ ...oppositeOf(typed), rateValue: answer[1].rate })}` : "";
    const current = usedNow().find((other) => keyOf(other) === keyOf(typed));
    const origin = current && (current.setAt === desk.id ? "set here" : `from ${desk.name(current.setAt)}`);
    const replaced = current ? [`Now ${rateText(current)}, ${origin}${answer ? `: ${growthText(current.rateValue, typed.rateValue)}` : ""}.`] : [];
    const kept = (pair ? [pair] : pairs).find((other) => other.isOwn && !other.areBothSet && keyOf(other.main) === keyOf(oppositeOf(typed)));
    if (kept) replaced.push(`${rateText(kept.main)} is set here too, and stays as it is.`);
    now.textContent = replaced.join(" ");
    now.hidden = replaced.length === 0;
  }
  draw();

  return {
    element,
    value: () => ({ set: [rate()] }),
    /** Shows faults at their fields; returns true if every fault has a field. */
    showFaults(faults) {
      const at = (name) => faults.find(({ path }) => path.endsWith(`.${name}`));
      const show = (name, control) => control.showFault(at(name) && faultText(at(name)));
      show("currencyIdTo", targetField);
      show("currencyIdFrom", sourceField);
      show("rateValue", valueField);
      element.querySelector("[aria-invalid]")?.focus();
      return faults.every(({ path }) => /\.(currencyId(To|From)|rateValue)$/.test(path));
    },
  };
}

/** The answers to calls of rate math; undefined if they have a fault. */
function computed(calls) {
  try {
    return calculate(calls);
  } catch (error) {
    if (error instanceof TillgateError) return undefined;
    throw error;
  }
}

/** The currencies to suggest, those in use first. */
function currencies(pairs) {
  const used = pairs.flatMap(({ main }) => [main.currencyIdTo, main.currencyIdFrom]);
  const all = Intl.supportedValuesOf?.("currency") ?? [];
  return [...new Set([...used, ...all])];
}
