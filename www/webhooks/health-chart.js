/**
 * The last 24 hours of a webhook as bars: deliveries above the line, failed attempts below it. A sentence says the same for
 * users who cannot see it.
 */

import { h } from "../shared/dom.js";
import { counted } from "../shared/messages.js";
import { countsText } from "./wording.js";

const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 240;
const ABOVE = 40;
const BELOW = 24;
const GAP = 2;

/** The least height of a bar, so that one failure among thousands is visible. */
const LEAST = 3;

const HOUR = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });

/** The chart of a webhook's health. */
export function healthChart(health) {
  const caption = h("figcaption", { class: "health-caption", "aria-hidden": "true" }, h("span", {}, "24 hours ago"), h("span", {}, "now"));
  return h("figure", { class: "health-chart" }, bars(health), caption);
}

function bars(health) {
  const { hours } = health;
  // Both sides have the same scale, which leaves room for the highest bar on either.
  const scale = Math.min(ABOVE / mostOf(hours, "delivered"), (BELOW - 1) / mostOf(hours, "failed"));
  const step = WIDTH / Math.max(1, hours.length);
  const chart = svg("svg", { viewBox: `0 0 ${WIDTH} ${ABOVE + BELOW}`, preserveAspectRatio: "none", role: "img", "aria-label": summaryOf(health) });
  hours.forEach((hour, at) => {
    const [up, down] = [heightOf(hour.delivered, scale), heightOf(hour.failed, scale)];
    const place = { x: at * step + GAP / 2, width: step - GAP };
    const group = svg("g", {}, titleOf(hours, at), svg("rect", { class: "room", x: at * step, width: step, y: 0, height: ABOVE + BELOW }));
    if (up > 0) group.append(svg("rect", { class: "delivered", ...place, y: ABOVE - up, height: up }));
    if (down > 0) group.append(svg("rect", { class: "failed", ...place, y: ABOVE + 1, height: down }));
    chart.append(group);
  });
  chart.append(svg("line", { x1: 0, x2: WIDTH, y1: ABOVE + 0.5, y2: ABOVE + 0.5 }));
  return chart;
}

const mostOf = (hours, name) => Math.max(1, ...hours.map((hour) => hour[name]));

const heightOf = (count, scale) => (count === 0 ? 0 : Math.max(LEAST, count * scale));

function titleOf(hours, at) {
  const title = svg("title", {});
  title.textContent = `${spanText(hours, at)}: ${countsText(hours[at])}`;
  return title;
}

/** The time of a bar; the last hour is not over. */
function spanText(hours, at) {
  const begin = Date.parse(hours[at].hour);
  return `${HOUR.format(begin)} to ${at === hours.length - 1 ? "now" : HOUR.format(begin + 3_600_000)}`;
}

/** The chart in words: the sums, and the time of most failures. */
function summaryOf({ delivered, failed, hours }) {
  const sums = `The last 24 hours: ${countsText({ delivered, failed })}.`;
  const most = Math.max(0, ...hours.map((hour) => hour.failed));
  if (most === 0) return sums;
  const worst = hours.findIndex((hour) => hour.failed === most);
  return `${sums} Most failed from ${spanText(hours, worst)}: ${counted(most, "attempt")}.`;
}

function svg(name, attributes, ...children) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}
