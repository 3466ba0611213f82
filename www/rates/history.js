/**
 * A rate over time: a chart, and a table to restore an earlier value from.
 */

import { writeCsv } from "../shared/csv.js";
import { button, choice, h, keepFocus } from "../shared/dom.js";
import { downloadCsv } from "../shared/download.js";
import { icon } from "../shared/icon.js";
import { counted } from "../shared/messages.js";
import { People } from "../shared/people.js";
import { whoOf } from "../shared/reason.js";
import { exactText } from "../shared/time.js";
import { hrefOf } from "./address.js";
import { timeChart } from "./chart.js";
import { growthText } from "./decimal.js";
import { pairsOf } from "./pairs.js";
import { restoreRate } from "./restore.js";
import { TYPES, explain, keyOf, oppositeOf, pairText } from "./wording.js";

const DAY_MS = 86_400_000;
const RANGES = [["30", "30 days"], ["90", "90 days"], ["400", "Everything"]];

/** The tab; `show` draws the rate in the address, or else the one shown last, or the unit's first. */
export function rateHistory(desk) {
  const select = h("select", { "aria-label": "Rate", onchange: () => go(select.value) });
  const turn = button("Other direction", { image: "swap", class: "plain", onclick: () => go(keyOf(oppositeOf(rate))) });
  let days = "90";
  const ranges = choice("Time", RANGES, days, (chosen) => {
    days = chosen;
    load();
  });
  const chart = timeChart({
    lines: [
      { name: "Rate", valueOf: ({ rateValue }) => asFloat(rateValue) },
      { name: "With markup", valueOf: ({ rateValueWithMarkup }) => asFloat(rateValueWithMarkup) },
    ],
    readingOf: (item) => readingOf(desk, rate, item),
  });
  const card = h("div", { class: "card" }, chart.element);
  const table = h("div", { class: "history-table", tabindex: "0", role: "region", "aria-label": "Values, newest first" });
  const message = h("p", { class: "hint", role: "status" });
  const save = button("Download as CSV", { class: "plain", onclick: () => downloadCsv(`${desk.name(shown.id)}, ${pairText(rate)}.csv`, [valuesCsv(desk, rate, values)]) });
  const body = h("div", { class: "stack" }, card, table, h("div", { class: "inline" }, save));
  const controls = h("div", { class: "history-controls" }, h("div", { class: "joined" }, select, turn), ranges);
  const element = h("div", { class: "stack" }, controls, message, body);
  let shown;
  let rate;
  let values = [];
  let turns = 0;

  const go = (key) => desk.go({ id: shown.id, tab: "history", args: key.split("/") });

  async function load() {
    const asked = (turns += 1);
    const until = Date.now();
    const since = until - Number(days) * DAY_MS;
    try {
      const items = await desk.host.history(shown.id, rate, new Date(since).toISOString());
      if (asked !== turns) return;
      draw(items.map((item) => ({ ...item, time: Date.parse(item.at) })), since, until);
    } catch (error) {
      if (asked === turns) fail(explain(error));
    }
  }

  const fail = (sentence) => {
    message.textContent = sentence;
    body.hidden = true;
  };

  function draw(points, since, until) {
    if (points.length === 0) return fail("There was no such rate in this time.");
    values = points;
    message.textContent = "";
    body.hidden = false;
    const begin = Math.min(Math.max(since, points[0].time), until - DAY_MS);
    chart.draw({ points, since: begin, until, label: `${pairText(rate)} over time`, summary: summaryOf(points) });
    keepFocus(table, () => table.replaceChildren(tableOf(desk, shown, rate, points)));
  }

  return {
    element,
    show(data, { args: [exchangeRateType, currencyIdFrom, currencyIdTo] }) {
      shown = data;
      const pairs = pairsOf(data);
      // Without a rate in the address, use the one shown last.
      const kept = rate && data.used.find((each) => keyOf(each) === keyOf(rate));
      rate = Object.hasOwn(TYPES, exchangeRateType) && currencyIdTo ? { exchangeRateType, currencyIdFrom, currencyIdTo } : (kept ?? pairs[0]?.main);
      controls.hidden = rate === undefined;
      if (rate === undefined) return fail("This unit has no rates yet.");
      select.replaceChildren(...rateOptions(pairs, rate));
      select.value = keyOf(rate);
      load();
    },
  };
}

/** The rates to choose from, by type: both directions of each pair, and the current one. */
function rateOptions(pairs, shown) {
  const rates = pairs.flatMap(({ main, other }) => [main, other]).filter(Boolean);
  if (!rates.some((each) => keyOf(each) === keyOf(shown))) rates.push(shown);
  const ofType = (type) => rates.filter(({ exchangeRateType }) => exchangeRateType === type);
  const option = (each) => h("option", { value: keyOf(each) }, `${TYPES[each.exchangeRateType]}: ${pairText(each)}`);
  const group = (type) => h("optgroup", { label: TYPES[type] }, ofType(type).map(option));
  return Object.keys(TYPES).map(group).filter(({ children }) => children.length > 0);
}

/** For drawing only: the text is what is read out. */
const asFloat = (text) => (text === undefined ? undefined : Number(text));

function readingOf(desk, { currencyIdFrom, currencyIdTo }, { at, rateValue, rateValueWithMarkup, setAt }) {
  if (rateValue === undefined) return `${exactText(at)}: no rate from then on`;
  const markup = rateValueWithMarkup === rateValue ? "" : `, with markup ${rateValueWithMarkup} ${currencyIdFrom}`;
  return `${exactText(at)}: 1 ${currencyIdTo} = ${rateValue} ${currencyIdFrom}${markup}, set at ${desk.name(setAt)}`;
}

function summaryOf(points) {
  const known = points.filter(({ rateValue }) => rateValue !== undefined);
  if (known.length === 0) return "No rate in this time.";
  const sorted = [...known].sort((a, b) => Number(a.rateValue) - Number(b.rateValue));
  const [lowest, highest] = [sorted[0], sorted.at(-1)].map(({ rateValue }) => rateValue);
  const growth = growthText(known[0].rateValue, known.at(-1).rateValue);
  return `${counted(points.length, "value")}, lowest ${lowest}, highest ${highest}, ${growth} over the time shown.`;
}

/** The values as a file, newest first. */
function valuesCsv(desk, { exchangeRateType, currencyIdFrom, currencyIdTo }, points) {
  const header = ["Since", "Type", "One", "In", "Rate", "With markup", "Set at", "Id", "Who", "Reason"];
  const line = ({ at, rateValue, rateValueWithMarkup, setAt, by, note }) => [at, TYPES[exchangeRateType], currencyIdTo, currencyIdFrom, rateValue ?? "no rate", rateValueWithMarkup ?? "", setAt ? desk.name(setAt) : "", setAt ?? "", by?.name ?? by?.clientId ?? "", note ?? ""];
  return writeCsv([header, ...points.map(line).reverse()]);
}

function tableOf(desk, shown, rate, points) {
  const mayWrite = desk.may("exr.rate.write");
  const head = ["Since", `1 ${rate.currencyIdTo} in ${rate.currencyIdFrom}`, "With markup", "Step", "Set at, by", ...(mayWrite ? [""] : [])];
  const people = new People();
  const rows = points.map((item, at) => {
    const onrestore = () => restoreRate(desk, { shown, rate, item });
    return rowOf(desk, { item, previous: points[at - 1], isLast: at === points.length - 1, people, mayWrite, onrestore });
  });
  return h(
    "table",
    { class: "values", role: "table", "aria-label": `${pairText(rate)} over time, newest first` },
    h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, head.map((text) => (text === "" ? cell("") : h("th", { role: "columnheader", scope: "col" }, text))))),
    h("tbody", { role: "rowgroup" }, rows.reverse()),
  );
}

/** The roles are explicit because narrow screens show the rows as cards. */
const cell = (name, ...content) => h("td", { role: "cell", class: name }, content);

function rowOf(desk, { item, previous, isLast, people, mayWrite, onrestore }) {
  const { at, rateValue, rateValueWithMarkup, setAt, by, note } = item;
  const isRestorable = mayWrite && !isLast && rateValue !== undefined;
  const step = rateValue !== undefined && previous?.rateValue !== undefined ? growthText(previous.rateValue, rateValue) : "";
  const restore = { image: "undo", class: "plain", "aria-label": `Go back to this: ${rateValue} of ${exactText(at)}`, onclick: onrestore };
  const isInForce = isLast && rateValue !== undefined;
  return h(
    "tr",
    { role: "row" },
    h("th", { role: "rowheader", scope: "row" }, h("time", { datetime: at }, exactText(at))),
    cell("value-rate", h("b", {}, rateValue ?? "no rate")),
    cell("value-markup", rateValueWithMarkup ?? ""),
    cell("value-step", step),
    cell("value-origin", setAt !== undefined && h("a", { href: hrefOf({ id: setAt }) }, desk.name(setAt)), by && h("p", { class: "hint" }, whoOf(by), people.mark(by)), note && h("p", { class: "reason", dir: "auto" }, note)),
    mayWrite && cell("value-actions", isRestorable && button("Go back", restore), isInForce && h("span", { class: "tag" }, icon("check"), "In force")),
  );
}
