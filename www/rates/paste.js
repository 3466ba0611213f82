/**
 * Changes many rates at once: rows pasted from a spreadsheet are read back as sentences, and saved together or not at all.
 */

import { TillgateError } from "../../js/src/index.js";
import { button, debounce, field, h, notify } from "../shared/dom.js";
import { faultText } from "../shared/faults.js";
import { icon } from "../shared/icon.js";
import { figure } from "../shared/locale.js";
import { counted, errorText } from "../shared/messages.js";
import { DECIMAL_HINT } from "./decimal.js";
import { readPasted, refusal, writtenRows } from "./pasted.js";
import { typeRates } from "./rate-change.js";
import { TYPES, pairText, rateText } from "./wording.js";

const EXAMPLE = "Sales\tSEK\tEUR\t11.05\nSales\tNOK\tEUR\t11,71";

const HINT =
  "Copy four columns from a spreadsheet: type, from, to, rate. The row “Sales, SEK, EUR, 11.05” means 1 EUR = 11.05 SEK. " +
  "“delete” instead of a rate deletes it.";

/** The most rows that are read back. */
const MAX_SHOWN = 200;

/** The key of the draft of rows pasted for a unit. */
export const draftKey = (id) => `rates:${id}`;

export const pasteRates = (desk, id) =>
  typeRates(desk, { id, title: `Paste rates for ${desk.name(id)}`, key: draftKey(id), formOf: (draft) => pasteFields(desk, id, draft), wide: true });

function pasteFields(desk, id, draft) {
  const text = h("textarea", { rows: 6, spellcheck: "false", autocomplete: "off", placeholder: EXAMPLE, class: "pasted", wrap: "off", value: draft });
  const textField = field("Rows", text, { hint: `${HINT} ${DECIMAL_HINT}` });
  const summary = h("p", { class: "hint", role: "status" });
  const rows = h("ol", { class: "pasted-rows", tabindex: "0", "aria-label": "The rows as they are read" });
  const fill = button("Begin with the rates that are set here", { class: "plain", onclick: () => fillIn() });
  const element = h("div", { class: "stack" }, textField, fill, summary, rows);
  let read = readPasted("");

  /** Faults that the host found, by the row in the change. */
  let refused = new Map();

  const fillIn = async () => {
    try {
      text.value = writtenRows(await desk.host.setAt(id));
      draw();
      text.focus();
    } catch (error) {
      notify(errorText(error));
    }
  };

  function draw() {
    read = readPasted(text.value);
    refused = new Map();
    textField.showFault();
    show();
  }

  function show() {
    const faultOf = (row) => row.fault ?? refused.get(row);
    const wrong = read.rows.filter(faultOf).length;
    fill.hidden = text.value !== "";
    summary.textContent = read.rows.length === 0 ? "" : `${counted(read.rows.length, "row")}${wrong > 0 ? `, ${figure(wrong)} with a fault` : ", all readable"}`;
    // Faults come first: they need work.
    const ordered = [...read.rows].sort((a, b) => Boolean(faultOf(b)) - Boolean(faultOf(a)) || a.line - b.line);
    const more = ordered.length - MAX_SHOWN;
    const lines = ordered.slice(0, MAX_SHOWN).map((row) => rowLine(row, faultOf(row)));
    rows.replaceChildren(...lines, ...(more > 0 ? [h("li", {}, `and ${counted(more, "more row")}`)] : []));
    rows.hidden = read.rows.length === 0;
  }
  text.addEventListener("input", debounce(120, draw));
  draw();

  return {
    element,
    value: () => read.change,
    typed: () => text.value,
    kept: () => text.value,
    /** Throws if the rows cannot be reviewed. */
    check() {
      draw();
      const message = refusal(read);
      if (message !== undefined) throw new TillgateError({ code: "invalid", path: "$.rows", message });
    },
    showFaults(faults) {
      const own = faults.find(({ path }) => path === "$.rows");
      textField.showFault(own?.message);
      const at = (path) => /^\$\.(set|delete)\[(\d+)\]/.exec(path);
      for (const fault of faults) {
        const [, list, index] = at(fault.path) ?? [];
        const row = list && rowsOf(read, list)[index];
        if (row) refused.set(row, faultText(fault));
      }
      show();
      text.focus();
      return faults.every(({ path }) => path === "$.rows" || at(path));
    },
  };
}

/** The rows of a list of the change, in its order. */
const rowsOf = ({ rows }, list) => rows.filter(({ fault, isDeleted }) => fault === undefined && isDeleted === (list === "delete"));

function rowLine({ line, rate, isDeleted }, fault) {
  const reading = isDeleted ? `${TYPES[rate.exchangeRateType]}: ${pairText(rate)} is deleted` : `${TYPES[rate.exchangeRateType]}: ${rateText(rate)}`;
  return h(
    "li",
    { class: fault ? "wrong" : undefined },
    icon(fault ? "alert" : "check"),
    h("span", {}, `Row ${line}`),
    h("span", {}, fault ?? reading),
  );
}
