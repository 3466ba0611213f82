/**
 * A converter with the rates of a unit. It is computed in the page with the same module as the host's, from the rates that
 * the unit uses now.
 */

import { TillgateError, convert } from "../../js/src/runtime/browser.js";
import { button, choice, field, h } from "../shared/dom.js";
import { faultText } from "../shared/faults.js";
import { DECIMAL_HINT, readDecimal } from "./decimal.js";
import { TYPES, rateText } from "./wording.js";

/** The tab; `show` takes the rates of a unit. What was entered stays. */
export function converter(desk) {
  const amount = h("input", { value: "100", inputmode: "decimal", autocomplete: "off", oninput: draw });
  const from = h("select", { onchange: () => (offerTo(), draw()) });
  const to = h("select", { onchange: draw });
  const withMarkup = h("input", { type: "checkbox", role: "switch", checked: true, onchange: draw });
  const amountField = field("Amount", amount, { hint: DECIMAL_HINT });
  const turn = button("Swap the currencies", { image: "swap", iconOnly: true, class: "plain", onclick: swap });
  const types = h("div", {});
  const result = h("p", { class: "converted", role: "status" });
  const applied = h("p", { class: "hint" });
  const form = h(
    "div",
    { class: "card stack converter" },
    types,
    h("div", { class: "convert-fields" }, amountField, field("From", from), turn, field("To", to)),
    h("label", { class: "switch" }, withMarkup, h("span", {}, "With markup")),
    h("div", { class: "convert-result" }, result, applied),
  );
  const none = h("p", { class: "hint" }, "This unit has no rates to convert with.");
  const element = h("div", {}, form, none);
  let type = "SALES";
  let used = [];
  let offered;

  const ofType = () => used.filter(({ exchangeRateType }) => exchangeRateType === type);

  function offerTypes(known) {
    if (known.join() === offered) return;
    offered = known.join();
    const options = known.map((each) => [each, TYPES[each]]);
    types.replaceChildren(choice("Type", options, type, (chosen) => ((type = chosen), offerFrom(), draw())));
  }

  function offerFrom() {
    offer(from, ofType().map(({ currencyIdTo }) => currencyIdTo), "EUR");
    offerTo();
  }

  function offerTo() {
    offer(to, ofType().filter(({ currencyIdTo }) => currencyIdTo === from.value).map(({ currencyIdFrom }) => currencyIdFrom), to.value);
  }

  function swap() {
    const [before, after] = [from.value, to.value];
    from.value = after;
    offerTo();
    to.value = before;
    draw();
  }

  /** Applies the rate from the wanted currency to the given one: one of the given is worth that many of the wanted. */
  function draw() {
    const rate = ofType().find(({ currencyIdFrom, currencyIdTo }) => currencyIdFrom === to.value && currencyIdTo === from.value);
    const typed = readDecimal(amount.value);
    amountField.showFault(typed === undefined ? "Enter an amount such as 100 or 99.50." : undefined);
    result.textContent = applied.textContent = "";
    if (typed === undefined || rate === undefined) return;
    const value = withMarkup.checked ? rate.rateValueWithMarkup : rate.rateValue;
    try {
      result.replaceChildren(`${typed} ${from.value} = `, h("b", {}, `${convert(typed, value, { currency: to.value })} ${to.value}`));
    } catch (error) {
      if (!(error instanceof TillgateError)) throw error;
      amountField.showFault(error.faults.map(({ path, message }) => faultText({ path, message }).replace("The request", "The amount")).join(" "));
    }
    const markup = withMarkup.checked && rate.rateValueWithMarkup !== rate.rateValue ? ` with markup; without it, ${rateText(rate)}` : "";
    applied.textContent = `At ${rateText({ ...rate, rateValue: value })}${markup}. Set at ${desk.name(rate.setAt)}.`;
  }

  return {
    element,
    show(data) {
      used = data.used;
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

/** Offers currencies; the chosen one stays where it can. */
function offer(select, codes, preferred) {
  const all = [...new Set(codes)].sort();
  const wanted = [select.value, preferred].find((code) => all.includes(code)) ?? all[0];
  select.replaceChildren(...all.map((code) => h("option", { value: code }, code)));
  if (wanted !== undefined) select.value = wanted;
}
