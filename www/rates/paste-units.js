/**
 * Creates many business units at once: a table pasted from a spreadsheet is read back, and its units are created one after
 * another. Existing units stay as they are, so a table that was created in part is simply sent again.
 */

import { TillgateError } from "../../js/src/index.js";
import { debounce, field, h } from "../shared/dom.js";
import { editWithDraft } from "../shared/draft.js";
import { edit } from "../shared/editor.js";
import { icon } from "../shared/icon.js";
import { figure } from "../shared/locale.js";
import { counted } from "../shared/messages.js";
import { inOrder, isSameUnit, readUnits, refusalOf } from "./pasted-units.js";
import { KINDS, explain } from "./wording.js";

const EXAMPLE = "SE\tSweden\tGroup\tnordic-retail\nSE-101\tMalmö\tShop\tSE\t2.5";

const HINT =
  "Copy the columns from a spreadsheet: id, name, kind, the id of the unit above, and a markup in percent. Kinds are company, " +
  "group and shop; name and markup may be empty. With column names in the first row, any order works.";

/** The most rows that are read back. */
const MAX_SHOWN = 200;

/** The key of the pasted rows' draft. */
export const DRAFT = "units:";

/** An error that prevents the creation of every unit, not only of one. */
const endsAll = (error) => error.isTemporary || error.code === "unauthenticated" || error.status === 403;

export async function pasteUnits(desk) {
  const open = ({ fields, ...form }) =>
    edit({
      ...form,
      title: "Paste business units",
      wide: true,
      fields,
      explain: (error) => (error.path === "$.rows" ? error.message : explain(error)),
      saved: "The business units were created.",
      review() {
        fields.check();
        return reviewed(fields.value(), fields.progress);
      },
      action: "Create these units",
      hasReason: true,
      save: (rows, _, reason) => createAll(desk, inOrder(rows), { progress: fields.progress, reason }),
    });
  await editWithDraft(desk.memory, DRAFT, (draft) => unitRows(desk, draft), open);
  desk.redraw();
}

function unitRows(desk, draft) {
  const text = h("textarea", { rows: 6, spellcheck: "false", autocomplete: "off", dir: "auto", placeholder: EXAMPLE, class: "pasted", wrap: "off", value: draft });
  const textField = field("Rows", text, { hint: HINT });
  const summary = h("p", { class: "hint", role: "status" });
  const list = h("ol", { class: "pasted-rows", tabindex: "0", "aria-label": "The rows as they are read" });
  let rows = [];
  /** The text that the rows were read from. */
  let readFrom;
  /** The reasons why units were not created, by id. */
  let failed = new Map();

  function draw() {
    readFrom = text.value;
    rows = readUnits(readFrom, desk.units);
    failed = new Map();
    textField.showFault();
    show();
  }

  function show() {
    const faultOf = ({ fault, unit }) => fault ?? failed.get(unit.id);
    const wrong = rows.filter(faultOf).length;
    const there = rows.filter((row) => row.isThere && !faultOf(row)).length;
    const parts = [counted(rows.length, "row"), wrong > 0 ? `${wrong} with a fault` : "all readable", there > 0 && `${there} already there`];
    summary.textContent = rows.length === 0 ? "" : parts.filter(Boolean).join(", ");
    const ordered = [...rows].sort((a, b) => Boolean(faultOf(b)) - Boolean(faultOf(a)) || a.line - b.line);
    list.replaceChildren(...shortened(ordered, (row) => rowLine(row, faultOf(row))));
    list.hidden = rows.length === 0;
  }
  // A fault shown meanwhile stays.
  text.addEventListener("input", debounce(120, () => text.value !== readFrom && draw()));
  draw();

  return {
    element: h("div", { class: "stack" }, textField, summary, list),
    progress: progressOf(),
    value: () => rows,
    typed: () => text.value,
    kept: () => text.value,
    /** Throws if the rows cannot be reviewed. */
    check() {
      draw();
      const message = refusalOf(rows);
      if (message !== undefined) throw new TillgateError({ code: "invalid", path: "$.rows", message });
    },
    /** Shows the faults of the rows, or why units were not created; the others exist by now. */
    showFaults(faults) {
      const own = faults.find(({ path }) => path === "$.rows");
      draw();
      failed = new Map(faults.filter((fault) => fault !== own).map(({ path, message }) => [path, message]));
      textField.showFault(own?.message);
      show();
      text.focus();
      return true;
    },
  };
}

/** The progress of the creation. */
function progressOf() {
  const bar = h("progress", { "aria-label": "Units created" });
  const text = h("p", { class: "hint", role: "status" });
  const element = h("div", { class: "stack tight", hidden: true }, bar, text);
  return {
    element,
    show(done, all) {
      element.hidden = false;
      bar.max = all;
      bar.value = done;
      text.textContent = `${figure(done)} of ${counted(all, "unit")}`;
    },
  };
}

/** What is created and what stays. */
function reviewed(rows, progress) {
  const created = inOrder(rows);
  const there = rows.length - created.length;
  const kinds = Object.entries(KINDS).map(([type, { word }]) => [created.filter(({ unit }) => unit.type === type).length, word.toLowerCase()]);
  const counts = kinds.filter(([count]) => count > 0).map(([count, word]) => (word === "company" && count > 1 ? `${count} companies` : counted(count, word)));
  const stay = there > 0 && h("p", { class: "hint" }, `${counted(there, "unit")} already ${there === 1 ? "exists and stays" : "exist and stay"} unchanged.`);
  const shops = created.some(({ unit }) => unit.type === "STORE") && h("p", { class: "hint" }, "A new shop uses the rates of the units above it at once.");
  progress.element.hidden = true;
  return h(
    "div",
    { class: "stack" },
    h("h3", {}, `New: ${counts.join(", ")}`),
    stay,
    shops,
    h("ol", { class: "pasted-rows", tabindex: "0", "aria-label": "The units to be created" }, shortened(created, (row) => rowLine(row))),
    progress.element,
  );
}

/** Creates units one after another, until the form is closed; throws with the reasons why some failed. */
async function createAll(desk, rows, { progress, reason }) {
  const failed = new Map();
  let end;
  for (const [at, { unit }] of rows.entries()) {
    progress.show(at, rows.length);
    if (!progress.element.isConnected) end ??= "Not created, because the form was closed.";
    if (end !== undefined) failed.set(unit.id, end);
    else if (failed.has(unit.parentId)) failed.set(unit.id, `Not created, because “${unit.parentId}” was not.`);
    else {
      const error = await create(desk, unit, reason);
      if (error) failed.set(unit.id, explain(error));
      if (error && endsAll(error)) end = failed.get(unit.id);
    }
  }
  await desk.reread();
  if (failed.size === 0) return;
  const faults = [...failed].map(([path, message]) => ({ path, message }));
  const done = rows.length - failed.size;
  const message = `${counted(failed.size, "unit")} of ${figure(rows.length)} ${failed.size === 1 ? "was" : "were"} not created: the rows say why. ${done > 0 ? "The others now exist and stay unchanged when you send the rows again." : ""}`.trim();
  throw new TillgateError({ code: "invalid", path: "$.rows", message, faults: [{ path: "$.rows", message }, ...faults] });
}

/** Creates a unit; returns the error if it does not exist afterwards. */
async function create(desk, { id, ...unit }, reason) {
  try {
    await desk.host.writeUnit(id, unit, undefined, reason);
    return undefined;
  } catch (error) {
    if (error.code !== "lost" && error.status !== 412) return error;
    // Another user created it, or it was created and the answer was lost.
    const there = await desk.host.unit(id).catch(() => undefined);
    if (there !== undefined && isSameUnit(there.body, unit)) return undefined;
    return there === undefined ? error : new TillgateError({ code: "taken", message: "another user has just created a unit with this id" });
  }
}

/** The first rows, and the number of others. */
function shortened(rows, lineOf) {
  const more = rows.length - MAX_SHOWN;
  return [...rows.slice(0, MAX_SHOWN).map(lineOf), ...(more > 0 ? [h("li", {}, `and ${counted(more, "more row")}`)] : [])];
}

function rowLine({ line, unit, isThere }, fault) {
  const { id, type, name, parentId, markupPercentage } = unit;
  const parts = [`${KINDS[type]?.word} “${name ?? id}”`, name !== undefined && id, parentId !== undefined && `below ${parentId}`, markupPercentage !== undefined && `markup ${markupPercentage} %`];
  const reading = `${parts.filter(Boolean).join(", ")}${isThere ? ": already exists" : ""}`;
  return h("li", { class: fault ? "wrong" : undefined }, icon(fault ? "alert" : "check"), h("span", {}, `Row ${line}`), h("span", { dir: "auto" }, fault ?? reading));
}
