/**
 * Places the marks on the axes of a chart. Knows numbers and times, but no elements.
 */

const DAY_MS = 86_400_000;
const STEPS_DAYS = [1, 2, 7, 14];
const STEPS_MONTHS = [1, 2, 3, 6, 12];

/** The marks of the values from `low` to `high`: about `count` round numbers, with the decimals that they need. */
export function valueMarks(low, high, count) {
  const rough = (high - low) / count || Math.abs(high) / 10 || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((each) => each >= rough);
  const decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const marks = [];
  for (let at = Math.floor(low / step); at * step < high + step; at += 1) marks.push(at * step);
  return marks.map((value) => ({ value, text: value.toFixed(decimals) }));
}

/** The marks of a time span: days or first days of months, at most `count`. */
export function timeMarks(since, until, count) {
  const days = (until - since) / DAY_MS;
  const stepDays = STEPS_DAYS.find((step) => days / step <= count);
  if (stepDays !== undefined) return dayMarks(since, until, stepDays);
  const stepMonths = STEPS_MONTHS.find((step) => days / 30.4 / step <= count) ?? 12;
  return monthMarks(since, until, stepMonths);
}

function dayMarks(since, until, step) {
  const format = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
  const marks = [];
  const at = new Date(since);
  at.setHours(24, 0, 0, 0);
  for (; at <= until; at.setDate(at.getDate() + step)) marks.push({ time: at.getTime(), text: format.format(at) });
  return marks;
}

function monthMarks(since, until, step) {
  const marks = [];
  const at = new Date(since);
  at.setHours(0, 0, 0, 0);
  at.setDate(1);
  at.setMonth(Math.ceil((at.getMonth() + 1) / step) * step);
  for (; at <= until; at.setMonth(at.getMonth() + step)) marks.push({ time: at.getTime(), text: monthText(at) });
  return marks;
}

/** A month; January has its year. */
function monthText(date) {
  const month = date.toLocaleDateString("en-GB", { month: "short" });
  return date.getMonth() === 0 ? `${month} ${date.getFullYear()}` : month;
}
