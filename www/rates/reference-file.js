/**
 * Loads a file of the European Central Bank at a unit. The host reads the file: it first returns the changes and the faults of
 * the file.
 */

import { TillgateError } from "../../js/src/index.js";
import { binaryText } from "../shared/csv.js";
import { field, h } from "../shared/dom.js";
import { edit } from "../shared/editor.js";
import { counted } from "../shared/messages.js";
import { dayText } from "../shared/time.js";
import { effect } from "./effect.js";
import { questionAbout, withSlips } from "./slips.js";
import { TYPES, explain, identityOf, rateText } from "./wording.js";

/** The permission to load one. */
export const IMPORT = "exr.reference-rate.import";

/** The largest file that the host takes. */
const MAX_MIB = 16;

/** The most faults, and omitted rates, that are shown. */
const MAX_FAULTS = 5;
const MAX_LEFT_OUT = 10;

const HINT = "The daily rates or their history, as the bank publishes them: XML, CSV, or a zip file of one of them.";

/** Opens the dialog. `setRates` are the rates set at the unit. */
export async function loadReferenceFile(desk, id, setRates) {
  const kind = desk.units?.get(id)?.type;
  const title = `Load an ECB file for ${desk.name(id)}`;
  const fields = fileFields(setRates);
  let question;
  const isSaved = await edit({
    title,
    wide: true,
    fields,
    explain,
    done: "loaded",
    saved: "Loaded. The rates are in force.",
    advice: () => "Loading the same file once more changes nothing else.",
    repeat: "Load it again",
    async review() {
      await fields.check();
      const asked = fields.value();
      const dryRun = await desk.host.tryReferenceFile(id, asked);
      const changes = changesOf(dryRun, asked);
      question = questionAbout(changes);
      fields.offerAll(dryRun.deviations);
      const heading = h("h3", {}, `Reference rates of ${dayText(dryRun.document.date)}`);
      return h("div", { class: "stack" }, heading, effect({ changes, notes: notesOf(dryRun, changes), dryRun, kind, units: desk.units }), leftOut(dryRun, asked));
    },
    action: "Load these rates",
    confirm: () => question,
    hasReason: true,
    save: async (asked, _, reason) => desk.track((await desk.host.loadReferenceFile(id, asked, reason)).correlationId, title),
  });
  if (isSaved) desk.reread();
}

function fileFields(setRates) {
  const used = new Set(setRates.filter(({ reference }) => reference).map(({ exchangeRateType }) => exchangeRateType));
  const file = h("input", { type: "file", accept: ".xml,.csv,.zip,text/xml,application/xml,text/csv,application/zip", onchange: read });
  const fileField = field("File", file, { hint: HINT });
  const check = (text, checked) => {
    const input = h("input", { type: "checkbox", checked });
    return { input, label: h("label", { class: "check" }, input, h("span", {}, text)) };
  };
  const types = Object.entries(TYPES).map(([type, word]) => [type, check(word, used.size === 0 ? type === "SALES" : used.has(type))]);
  const crosses = check("Also the rates between its other currencies, via the euro");
  const all = check("Also rates that move further than allowed");
  const typesFault = h("p", { class: "fault", hidden: true });
  const typeSet = h("fieldset", {}, h("legend", {}, "For these types"), types.map(([, { label }]) => label), typesFault);
  const element = h("div", { class: "stack" }, fileField, typeSet, crosses.label, all.label);
  all.label.hidden = true;
  const none = { refused: "Choose a file first." };
  let content = none;
  let reading;

  function read() {
    const [chosen] = file.files;
    content = none;
    fileField.showFault();
    reading = chosen && contentOf(chosen).then((found) => {
      if (chosen !== file.files[0]) return;
      content = found;
      fileField.showFault(found.refused);
    });
  }

  const value = () => ({
    document: content.bytes,
    exchangeRateTypes: types.filter(([, { input }]) => input.checked).map(([type]) => type),
    crosses: crosses.input.checked,
    acceptDeviation: all.input.checked,
  });

  const fault = (path, message) => new TillgateError({ code: "invalid", path, message, faults: [{ path, message }] });

  return {
    element,
    value,
    typed: () => ({ ...value(), document: file.value }),
    /** Offers to load the omitted rates too. */
    offerAll(deviations = []) {
      all.label.hidden = deviations.length === 0 && !all.input.checked;
    },
    /** Throws if there is nothing to load. */
    async check() {
      await reading;
      if (content.bytes === undefined) throw fault("$.file", content.refused);
      if (value().exchangeRateTypes.length === 0) throw fault("$.exchangeRateTypes", "Choose at least one type.");
    },
    showFaults(faults) {
      const own = ({ path }) => path === "$.file";
      const ofFile = faults.filter((each) => own(each) || each.path === "$.document");
      const ofTypes = faults.find(({ path }) => path === "$.exchangeRateTypes");
      const told = ofFile.slice(0, MAX_FAULTS).map((each) => (own(each) ? each.message : fileFault(each.message)));
      const more = ofFile.length - told.length;
      fileField.showFault([...told, more > 0 && `${counted(more, "more fault")}.`].filter(Boolean).join(" "));
      typesFault.textContent = ofTypes?.message ?? "";
      typesFault.hidden = ofTypes === undefined;
      (ofFile.length > 0 ? file : types[0][1].input).focus();
      return faults.every((each) => ofFile.includes(each) || each === ofTypes);
    },
  };
}

/** The content of a file, `{ bytes }`, or why it is no file of rates, `{ refused }`. */
async function contentOf(chosen) {
  if (chosen.size > MAX_MIB * 1024 * 1024) return { refused: `The file is larger than ${MAX_MIB} MiB, too large for a file of rates.` };
  try {
    const bytes = new Uint8Array(await chosen.arrayBuffer());
    const refused = binaryText(bytes);
    // The bank publishes its history as a zip archive.
    return refused && !refused.includes("a zip archive") ? { refused } : { bytes };
  } catch {
    return { refused: "The file cannot be read." };
  }
}

/** A fault that the host found in a file: `line 3, SEK: must be …`, `day 2026-11-20, SEK: …`, or about the whole file. */
function fileFault(message) {
  const sentence = /^(line|day) /.test(message) ? message : `the file ${message}`;
  return `${sentence.replace(/^./, (first) => first.toUpperCase())}.`;
}

/** Each changed rate; likely typing errors come first. */
function changesOf({ changes = [], deviations }, { acceptDeviation }) {
  const all = changes.map((rate) => ({ rate: { ...identityOf(rate), rateValue: rate.new }, before: rate.old, after: rate.new }));
  return withSlips(all, all.map(({ rate }) => rate), acceptDeviation ? deviations : []);
}

function notesOf({ document: { older, stale, skipped } }, changes) {
  return [
    older && "A newer file was already loaded: its rates stay, and this file only adds history.",
    !older && changes.length === 0 && "No rate that is set here changes. Loading the file adds the days that the history lacks.",
    stale.length > 0 && `No longer in the file, so they stay unchanged: ${stale.join(", ")}.`,
    skipped.length > 0 && `In the file, but not loaded, because they are unknown here or not quoted on its last day: ${skipped.join(", ")}.`,
  ].filter(Boolean);
}

/** The rates left out because they would move further than they may. */
function leftOut({ deviations = [] }, { acceptDeviation }) {
  if (deviations.length === 0 || acceptDeviation) return undefined;
  const line = (rate) => h("li", {}, `${TYPES[rate.exchangeRateType]}: ${rateText({ ...rate, rateValue: rate.new })} instead of ${rate.old} (${rate.percent} %)`);
  const more = deviations.length - MAX_LEFT_OUT;
  const isOne = deviations.length === 1;
  return h(
    "section",
    { class: "stack tight", "aria-label": "Left out" },
    h("p", {}, isOne ? "1 rate is left out, because it would move further than allowed. Go back to load it too." : `${counted(deviations.length, "rate")} are left out, because they would move further than allowed. Go back to load them too.`),
    h("ul", { class: "left-out" }, deviations.slice(0, MAX_LEFT_OUT).map(line), more > 0 && h("li", {}, `and ${counted(more, "more rate")}`)),
  );
}
