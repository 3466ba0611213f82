/**
 * The rates that a unit uses: both directions, with markup, and where each is set. A changed rate flashes.
 */

import { button, h, keepFocus } from "../shared/dom.js";
import { icon } from "../shared/icon.js";
import { draftTag } from "../shared/list.js";
import { figure } from "../shared/locale.js";
import { counted } from "../shared/messages.js";
import { dayText, secondText, timeText } from "../shared/time.js";
import { hrefOf } from "./address.js";
import { pairsOf } from "./pairs.js";
import { draftKey as pastedKey, pasteRates } from "./paste.js";
import { deleteRate, draftKey, editRate } from "./rate-editor.js";
import { IMPORT, loadReferenceFile } from "./reference-file.js";
import { TYPES, keyOf, levelsText, pairText, rateText, whoText } from "./wording.js";

const NO_RATES = "Neither this unit nor any above it has rates. Every shop below uses the rates set here.";

/** The tab; `show` draws the rates of a unit. */
export function usedRates(desk) {
  const filter = h("input", { type: "search", placeholder: "Filter, such as SEK", "aria-label": "Filter rates", spellcheck: "false", oninput: draw, onchange: () => desk.note({ filter: (noted = filter.value.trim()) }) });
  const count = h("p", { class: "hint", role: "status" });
  const setButton = button("Set a rate", { image: "plus", class: "primary", hidden: true, onclick: () => editRate(desk, { id: shown.id, pairs: pairsOf(shown) }) });
  const pasteButton = button("Paste rates", { image: "paste", hidden: true, onclick: () => pasteRates(desk, shown.id) });
  const fileButton = button("Load an ECB file", { image: "file", hidden: true, onclick: () => loadReferenceFile(desk, shown.id, shown.setRates.get(shown.id)) });
  const actionsBar = h("div", { class: "toolbar-actions" }, fileButton, pasteButton, setButton);
  const toolbar = h("div", { class: "toolbar" }, h("div", { class: "search" }, icon("search"), filter), count, actionsBar);
  const tables = h("div", { class: "stack" });
  const element = h("div", {}, toolbar, tables);
  let shown;
  /** The filter in the address. */
  let noted = "";
  let known = new Map();
  let knownId;

  function draw() {
    if (shown === undefined) return;
    const pairs = pairsOf(shown);
    const wanted = filter.value.trim().toLowerCase();
    const found = pairs.filter((pair) => `${TYPES[pair.type]} ${pairText(pair.main)} ${desk.name(pair.setAt)} ${pair.setAt}`.toLowerCase().includes(wanted));
    const changed = shown.id === knownId ? pairs.filter(({ key, main, other }) => known.has(key) && known.get(key) !== valuesText(main, other)) : [];
    const added = shown.id === knownId ? pairs.filter(({ key }) => !known.has(key)) : [];
    const flashing = new Set([...changed, ...added].map(({ key }) => key));
    const sections = Object.keys(TYPES).map((type) => typeTable(desk, type, found.filter((pair) => pair.type === type), flashing));
    keepFocus(tables, () => tables.replaceChildren(...sections.filter(Boolean), ...(found.length === 0 ? [emptyState(pairs.length, filter.value)] : [])));
    setButton.lastChild.data = desk.memory.get(draftKey(shown.id)) ? "Set a rate (draft)" : "Set a rate";
    pasteButton.lastChild.data = desk.memory.get(pastedKey(shown.id)) ? "Paste rates (draft)" : "Paste rates";
    setButton.hidden = pasteButton.hidden = !desk.may("exr.rate.write");
    fileButton.hidden = !desk.may(IMPORT);
    count.textContent = flashing.size > 0 ? `${counted(flashing.size, "rate")} changed at ${secondText(Date.now())}` : countText(pairs, found);
    known = new Map(pairs.map(({ key, main, other }) => [key, valuesText(main, other)]));
    knownId = shown.id;
  }

  return {
    element,
    show(data, place) {
      shown = data;
      // Text being typed stays.
      if (place.filter !== noted) filter.value = noted = place.filter;
      draw();
    },
  };
}

const valuesText = (...rates) => rates.map((rate) => `${rate?.rateValue} ${rate?.rateValueWithMarkup} ${rate?.setAt}`).join(" ");

function countText(pairs, found) {
  if (found.length < pairs.length) return `${figure(found.length)} of ${counted(pairs.length, "pair")}`;
  const own = pairs.filter(({ isOwn }) => isOwn).length;
  return `${counted(pairs.length, "pair")}, ${own === 0 ? "none" : figure(own)} set here`;
}

const emptyState = (count, text) =>
  count === 0
    ? h("div", { class: "empty-state" }, h("h2", {}, "No rates yet"), h("p", {}, NO_RATES))
    : h("div", { class: "empty-state" }, icon("search"), h("p", {}, `No rate matches “${text}”.`));

/** The pairs of a type. The roles are explicit because narrow screens show the rows as cards. */
function typeTable(desk, type, pairs, flashing) {
  if (pairs.length === 0) return undefined;
  const head = ["Rate", "With markup", "Where it is set", "Actions"];
  const headCells = head.map((text, at) => h("th", { role: "columnheader", scope: "col" }, at === 3 ? h("span", { class: "visually-hidden" }, text) : text));
  return h(
    "section",
    { class: "pair-section" },
    h("h3", { id: `rates-${type}` }, TYPES[type]),
    h(
      "table",
      { class: "pairs", role: "table", "aria-labelledby": `rates-${type}` },
      h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, headCells)),
      h("tbody", { role: "rowgroup" }, pairs.map((pair) => pairRow(desk, pair, flashing.has(pair.key)))),
    ),
  );
}

function pairRow(desk, pair, isFlashing) {
  return h(
    "tr",
    { role: "row", class: isFlashing ? "changed" : undefined },
    h("td", { role: "cell", class: "pair-rate" }, rateLines(pair)),
    h("td", { role: "cell", class: "pair-markup" }, markupLines(desk, pair)),
    h("td", { role: "cell", class: "pair-origin" }, origin(desk, pair)),
    h("td", { role: "cell", class: "pair-actions" }, actions(desk, pair)),
  );
}

function rateLines({ main, other, areBothSet }) {
  const word = areBothSet ? "and" : "so";
  const title = areBothSet ? "Set too" : "Computed: 1 divided by the rate";
  return [h("b", {}, rateText(main)), other && h("span", { title }, `${word} ${rateText(other)}`)];
}

function markupLines(desk, { main, other, markup }) {
  const isNone = main.rateValueWithMarkup === main.rateValue && (other === undefined || other.rateValueWithMarkup === other.rateValue);
  if (isNone) return h("span", {}, "no markup", markup && markup.at !== desk.id ? h("small", {}, ` ${fromText(desk, markup.at)}`) : undefined);
  const line = (rate) => `${rate.rateValueWithMarkup} ${rate.currencyIdFrom}`;
  return [
    h("b", {}, line(main)),
    other && h("span", {}, line(other)),
    markup && h("small", {}, `${markup.percentage} %${markup.isOwnPair ? " for this pair" : ""}, ${fromText(desk, markup.at)}`),
  ];
}

const fromText = (desk, at) => (at === desk.id ? "set here" : `from ${desk.name(at)}`);

function origin(desk, pair) {
  const { main, setAt, isOwn, levels, reference, changed, changedBy } = pair;
  const link = h("a", { href: hrefOf({ id: setAt }) }, desk.name(setAt));
  return [
    isOwn ? h("span", { class: "tag own" }, "Set here") : h("span", {}, "from ", link, levels === undefined ? "" : `, ${levelsText(levels)}`),
    reference ? referenceTag(reference, main) : h("small", {}, h("time", { datetime: changed }, timeText(changed)), changedBy && `, by ${whoText(changedBy)}`),
    desk.memory.get(draftKey(desk.id, pair)) && draftTag(),
  ];
}

/** The source of a reference rate; marked if the source dropped it, or it was not renewed in time. */
function referenceTag({ source, date, stale }, used) {
  const marked = (text) => h("span", { class: "tag stale" }, icon("alert"), text);
  if (stale) return marked(`${source} has had none since ${dayText(date)}`);
  if (used.stale) return marked(`${source}, ${dayText(date)}: ${counted(Number(used.ageInBusinessDays), "business day")} old`);
  return h("small", {}, `${source}, ${dayText(date)}`);
}

function actions(desk, pair) {
  const { main, isOwn } = pair;
  const name = `${TYPES[main.exchangeRateType]}, ${pairText(main)}`;
  const mayWrite = desk.may("exr.rate.write");
  const history = hrefOf({ id: desk.id, tab: "history", args: keyOf(main).split("/") });
  const action = (label, image, onclick) => button(label, { image, iconOnly: true, class: "plain", onclick });
  return [
    h("a", { class: "button plain", href: history, title: "History", "aria-label": `History of ${name}` }, icon("chart")),
    mayWrite && action(isOwn ? `Change ${name}` : `Set ${name} here`, "pencil", () => editRate(desk, { id: desk.id, pair })),
    mayWrite && isOwn && action(`Delete ${name}`, "trash", () => deleteRate(desk, pair)),
  ];
}
