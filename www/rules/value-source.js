/**
 * The sources of a long list: typing one value, pasting many, reading files. In a table, the user chooses the column.
 */

import { button, field, h } from "../shared/dom.js";
import { binaryText, decodeText, readingCsv } from "../shared/csv.js";
import { counted } from "../shared/messages.js";
import { inSlices } from "../shared/slices.js";
import { hasKinds, valuesWithKinds } from "./value-list.js";

/** A larger file holds no list of values. */
const MAX_MIB = 32;

/** The most columns to choose from: more could not be found. */
const MAX_COLUMNS = 100;

/** Likely headings of a column of values. */
const HEADINGS = /^(ids?|items?|item.?ids?|values?|skus?|ean|gtin|codes?|names?|articles?|article.?(id|number)|artikel(nummer)?)$/i;

const [CELLS, LINES] = ["cells", "lines"];
const [ALL_CELLS, WHOLE_LINES] = ["every cell", "the whole lines"];

/** The values in the cells of a column, or in all; a paste has no blank ones, a table no empty ones. */
function* valuesIn(rows, { column, hasHeading, isFile }) {
  for (const row of hasHeading ? rows.slice(1) : rows) {
    for (const cell of column === CELLS ? row : row.slice(column, column + 1)) {
      if (isFile && row.length === 1 ? true : (isFile ? cell : cell.trim()) !== "") yield cell;
    }
  }
}

/**
 * The controls. `onadd` gets values, what could not be read, and the delimiter of their table; `say` gets a sentence about the
 * current work.
 */
export function valueSource({ onadd, say }) {
  const typed = h("input", { spellcheck: "false", autocomplete: "off", dir: "auto", onkeydown: onkey, onpaste });
  const typedField = field("Add a value", typed, { hint: "Or paste many at once, also from a spreadsheet, or drop a CSV file on the list." });
  const joined = h("div", { class: "joined" });
  const file = h("input", { type: "file", class: "visually-hidden", accept: ".csv,.txt,.tsv,text/csv,text/plain", tabindex: "-1", "aria-label": "CSV file", onchange: onfile });
  const pick = button("Add a file…", { image: "paste", class: "plain", onclick: () => file.click() });
  const place = h("div", {});
  typedField.insertBefore(joined, typedField.children[1]);
  joined.append(typed, button("Add", { onclick: addTyped }));
  let turns = 0;

  function onkey(event) {
    if (event.key !== "Enter" || event.isComposing) return;
    event.preventDefault();
    addTyped();
  }

  function addTyped() {
    const { value } = typed;
    typed.focus();
    if (value.trim() === "") return say("Enter a value first.");
    typed.value = "";
    onadd([value], []);
  }

  function onpaste(event) {
    const text = event.clipboardData.getData("text/plain");
    if (!/[\r\n\t]/.test(text)) return;
    event.preventDefault();
    take(text);
  }

  function onfile() {
    const [chosen] = file.files;
    if (chosen) takeFile(chosen);
    file.value = "";
  }

  async function takeFile(chosen) {
    if (chosen.size > MAX_MIB * 1024 * 1024) return say(`“${chosen.name}” is larger than ${MAX_MIB} MiB, too large for a list of values. Nothing was added.`);
    const turn = (turns += 1);
    say(`Reading “${chosen.name}”…`);
    try {
      const bytes = new Uint8Array(await chosen.arrayBuffer());
      if (turn !== turns) return;
      const refused = binaryText(bytes);
      if (refused) return say(`${refused} Nothing was added.`);
      take(decodeText(bytes), true);
    } catch {
      say(`“${chosen.name}” cannot be read.`);
    }
  }

  async function take(text, isFile = false) {
    const turn = (turns += 1);
    say("Reading…");
    const read = (options) => inSlices(readingCsv(text, options), () => turn === turns);
    const table = await read();
    if (table === undefined) return;
    const { delimiter, rows, faults } = table;
    if (rows.length === 0) return say("There is no value in it.");
    if (hasKinds(rows)) return onadd(valuesWithKinds(rows), faults, delimiter);
    if (rows[0].length === 1 && !(rows.length > 1 && HEADINGS.test(rows[0][0].trim()))) return onadd(valuesIn(rows, { column: 0, isFile }), faults);
    say("");
    choose(rows, async ({ column, hasHeading }) => {
      if (column !== LINES) return onadd(valuesIn(rows, { column, hasHeading, isFile }), faults, delimiter);
      const lines = await read({ delimiter: "" });
      if (lines) onadd(valuesIn(lines.rows, { column: 0, hasHeading, isFile }), lines.faults);
    });
  }

  /** Asks which column has the values. */
  function choose(rows, onchosen) {
    const [first] = rows;
    const samples = (column) => rows.slice(1, 4).map((row) => row[column]).filter(Boolean).map(short).join(", ");
    const options = first.slice(0, MAX_COLUMNS).map((cell, at) => [at, [short(cell) || `column ${at + 1}`, samples(at)].filter(Boolean).join(": ")]);
    if (first.length > 1) options.push([CELLS, ALL_CELLS], [LINES, WHOLE_LINES]);
    const column = h("select", {}, options.map(([value, text]) => h("option", { value }, text)));
    const named = first.findIndex((cell) => HEADINGS.test(cell.trim()));
    column.value = rows.length === 1 ? CELLS : String(Math.max(0, named < MAX_COLUMNS ? named : 0));
    const heading = h("input", { type: "checkbox", checked: named >= 0 && rows.length > 1 });
    const more = first.length > MAX_COLUMNS && h("p", { class: "hint" }, `Only the first ${MAX_COLUMNS} columns can be chosen.`);
    const close = () => (place.replaceChildren(), typed.focus());
    const confirm = () => {
      close();
      onchosen({ column: Number.isNaN(Number(column.value)) ? column.value : Number(column.value), hasHeading: heading.checked });
    };
    const said = `${counted(rows.length, "line")} with ${counted(first.length, "column")}. What are the values?`;
    place.replaceChildren(
      h(
        "section",
        { class: "value-columns", "aria-label": "What to add" },
        h("p", {}, said),
        field("The values are in", column),
        h("label", { class: "check" }, heading, "The first line is a heading"),
        more,
        h("div", { class: "actions" }, button("Cancel", { class: "plain", onclick: close }), button("Add these", { onclick: confirm })),
      ),
    );
    column.focus();
  }

  return { element: h("div", { class: "stack tight" }, typedField, place), pick: [pick, file], take, takeFile, focus: () => typed.focus() };
}

const short = (text) => (text.length > 32 ? `${text.slice(0, 32)}…` : text);
