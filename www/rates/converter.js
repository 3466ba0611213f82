/**
 * A converter with a unit's current rates. The page computes with the same module as the host.
 */

import { TillgateError, convert, sha256 } from "../../js/src/index.js";
import { button, choice, field, h } from "../shared/dom.js";
import { faultText } from "../shared/faults.js";
import { picker, pickerField } from "../shared/picker.js";
import { DECIMAL_HINT, readDecimal } from "./decimal.js";
import { TYPES, keyOf, rateText } from "./wording.js";

/** The tab; `show` takes the rates of a unit, and the pair in the address. The input stays. */
export function converter(desk) {
  const amount = h("input", { value: "100", inputmode: "decimal", autocomplete: "off", oninput: draw });
  const from = currencyPicker(() => ofType().map(({ currencyIdTo }) => currencyIdTo), () => (to.offer(), note()));
  const to = currencyPicker(() => ofType().filter(({ currencyIdTo }) => currencyIdTo === from.value).map(({ currencyIdFrom }) => currencyIdFrom), note);
  const withMarkup = h("input", { type: "checkbox", role: "switch", checked: true, onchange: draw });
  const amountField = field("Amount", amount, { hint: DECIMAL_HINT });
  const turn = button("Swap the currencies", { image: "swap", iconOnly: true, class: "plain", onclick: swap });
  const types = h("div", {});
  const result = resultPane(desk);
  const form = h(
    "div",
    { class: "card stack converter" },
    types,
    h("div", { class: "convert-fields" }, amountField, pickerField("From", from), turn, pickerField("To", to)),
    h("label", { class: "switch" }, withMarkup, h("span", {}, "With markup")),
    result.element,
  );
  const none = h("p", { class: "hint" }, "This unit has no rates to convert with.");
  const element = h("div", {}, form, none);
  // Without rates there is nothing to choose from.
  form.hidden = none.hidden = true;
  let type = "SALES";
  let used = [];
  let offered;

  const ofType = () => used.filter(({ exchangeRateType }) => exchangeRateType === type);

  function offerTypes(known) {
    if (known.join() === offered) return;
    offered = known.join();
    types.replaceChildren(choice("Type", known.map((each) => [each, TYPES[each]]), type, (chosen) => ((type = chosen), offerFrom(), note())));
  }

  /** Draws the choice and notes it in the address: the rate is from the wanted currency to the given one. */
  function note() {
    draw();
    if (from.value && to.value) desk.note({ pair: [type, to.value, from.value] });
  }

  function choosePair(chosen, given, wanted) {
    type = chosen;
    types.firstChild?.choose(type);
    from.show(given);
    to.show(wanted);
  }

  function offerFrom() {
    from.offer("EUR");
    to.offer();
  }

  function swap() {
    const before = from.value;
    from.show(to.value);
    to.show(before);
    note();
  }

  /** Applies the rate from the wanted currency to the given one: one of the given is worth that many of the wanted. */
  function draw() {
    const rate = ofType().find(({ currencyIdFrom, currencyIdTo }) => currencyIdFrom === to.value && currencyIdTo === from.value);
    const typed = readDecimal(amount.value);
    result.clear();
    amountField.showFault(typed === undefined ? "Enter an amount such as 100 or 99.50." : rate && result.show(typed, rate, withMarkup.checked));
  }

  return {
    element,
    show(data, { args: [exchangeRateType, wanted, given] }) {
      used = data.used;
      if (used.some((rate) => keyOf(rate) === [exchangeRateType, wanted, given].join("/"))) choosePair(exchangeRateType, given, wanted);
      const known = Object.keys(TYPES).filter((each) => used.some(({ exchangeRateType }) => exchangeRateType === each));
      if (!known.includes(type)) type = known[0] ?? "SALES";
      form.hidden = known.length === 0;
      none.hidden = known.length > 0;
      offerTypes(known);
      offerFrom();
      draw();
    },
  };
}

/** The result, and the rate that it uses; `show` returns the fault of the amount, if any. */
function resultPane(desk) {
  const sum = h("p", { class: "converted", role: "status" });
  const applied = h("p", { class: "hint" });
  return {
    element: h("div", { class: "convert-result" }, sum, applied),
    clear: () => (sum.textContent = applied.textContent = ""),
    show(amount, rate, withMarkup) {
      const { currencyIdFrom: wanted, currencyIdTo: given } = rate;
      const rateValue = withMarkup ? rate.rateValueWithMarkup : rate.rateValue;
      const markup = rateValue === rate.rateValue ? "" : ` with markup; without it, ${rateText(rate)}`;
      const { converted, fault } = conversion(amount, rateValue, wanted);
      if (fault === undefined) sum.replaceChildren(`${amount} ${given} = `, h("b", {}, `${converted} ${wanted}`));
      applied.textContent = `At ${rateText({ ...rate, rateValue })}${markup}. Set at ${desk.name(rate.setAt)}. Computed by version ${sha256.slice(0, 8)} of the rate math.`;
      return fault;
    },
  };
}

/** An amount in another currency, or why it cannot be converted: `{ converted }` or `{ fault }`. */
function conversion(amount, rateValue, currency) {
  try {
    return { converted: convert(amount, rateValue, { currency }) };
  } catch (error) {
    if (!(error instanceof TillgateError)) throw error;
    return { fault: error.faults.map((each) => faultText(each).replace("The request", "The amount")).join(" ") };
  }
}

/** A field for one of the currencies that `read` returns. `offer` keeps the chosen one if possible. */
function currencyPicker(read, onchange) {
  const codes = () => [...new Set(read())].sort();
  const control = picker({ read: () => codes().map((code) => [code, code]), textOf: (code) => code, autocapitalize: "characters", onchange });
  control.offer = (preferred) => {
    const all = codes();
    control.show([control.value, preferred].find((code) => all.includes(code)) ?? all[0]);
  };
  return control;
}
