/**
 * A chart of values over time, in steps, because each value holds until the next. The pointer and the arrow keys pick a value,
 * which is read out above; the table beside the chart has the same values.
 */

import { h } from "../shared/dom.js";
import { timeMarks, valueMarks } from "./axis.js";

const SVG = "http://www.w3.org/2000/svg";
const HEIGHT = 280;
const MARGIN = { top: 12, right: 12, bottom: 28, left: 12 };
const LABEL_WIDTH = 7.5;

/** The width of a mark on the time axis. */
const MARK_WIDTH = 76;

/**
 * The chart. `lines` are `{ name, valueOf }`, the first one drawn on top; `readingOf` describes a point in words.
 * `draw({ points, since, until, label })` draws points with a `time`, oldest first.
 */
export function timeChart({ lines, readingOf }) {
  const readout = h("p", { class: "readout", "aria-hidden": "true" });
  const plot = h("div", { class: "plot" });
  const slider = h("input", { type: "range", class: "plot-slider", min: 0, step: 1, oninput: () => pick(Number(slider.value)) });
  const legend = h("ul", { class: "legend" }, lines.map(({ name }, at) => h("li", { "data-line": at }, name)));
  const caption = h("figcaption", { class: "hint" });
  const area = h("div", { class: "plot-area" }, plot, slider);
  const element = h("figure", { class: "time-chart" }, readout, area, legend, caption);
  let drawn;
  let picked;

  /** A line that equals the first one everywhere is left out. */
  const shownLines = () => lines.filter((line, at) => at === 0 || drawn.points.some((point) => line.valueOf(point) !== lines[0].valueOf(point)));

  /** Draws at the available width. */
  function render() {
    if (drawn === undefined || plot.clientWidth === 0) return;
    const scale = scaleOf(drawn, lines, plot.clientWidth);
    const marker = svg("g", { class: "marker" });
    plot.replaceChildren(drawing(drawn, shownLines(), scale, marker));
    drawn = { ...drawn, scale, marker };
    mark();
  }

  function pick(at) {
    if (drawn === undefined || drawn.points.length === 0) return;
    picked = Math.max(0, Math.min(at, drawn.points.length - 1));
    mark();
  }

  /** Marks the picked point and reads it out. */
  function mark() {
    const point = drawn.points[picked];
    if (point === undefined) return;
    slider.value = picked;
    slider.setAttribute("aria-valuetext", readingOf(point));
    readout.textContent = readingOf(point);
    if (drawn.scale !== undefined) drawn.marker.replaceChildren(...marksOf(point, drawn, shownLines()));
  }

  const onpointer = ({ clientX }) => {
    if (drawn?.scale === undefined) return;
    const time = drawn.scale.timeAt(clientX - plot.getBoundingClientRect().left);
    const next = drawn.points.findIndex((point) => point.time > time);
    pick((next < 0 ? drawn.points.length : next) - 1);
  };
  area.addEventListener("pointermove", onpointer);
  area.addEventListener("pointerdown", onpointer);
  // By default the mouse focuses what it is pressed on, after `pointerdown`.
  area.addEventListener("mousedown", (event) => (event.preventDefault(), slider.focus({ preventScroll: true })));
  new ResizeObserver(render).observe(plot);

  return {
    element,
    draw({ points, since, until, label, summary }) {
      drawn = { points, since, until };
      picked = points.length - 1;
      slider.max = Math.max(0, points.length - 1);
      slider.setAttribute("aria-label", label);
      caption.textContent = summary;
      legend.hidden = shownLines().length === 1;
      render();
      mark();
    },
  };
}

/** The chart itself: the axes, the area below the first line, the lines with the first on top, and the marker. */
function drawing(drawn, lines, scale, marker) {
  return svg("svg", { width: scale.width, height: HEIGHT, viewBox: `0 0 ${scale.width} ${HEIGHT}`, "aria-hidden": "true" }, [
    ...axes(scale),
    svg("path", { class: "fill", d: areaPath(drawn, lines[0], scale) }),
    ...lines.map((line, at) => svg("path", { class: "line", "data-line": at, d: stepPath(drawn, line, scale) })).reverse(),
    marker,
  ]);
}

/** The marker of a point: a line down to the axis, and a dot on each line with a value there. */
function marksOf(point, { since, scale: { x, y } }, lines) {
  const at = x(Math.max(point.time, since));
  const dots = lines.map((line, index) => ({ index, value: line.valueOf(point) })).filter(({ value }) => value !== undefined);
  return [
    svg("line", { x1: at, x2: at, y1: MARGIN.top, y2: HEIGHT - MARGIN.bottom }),
    ...dots.map(({ index, value }) => svg("circle", { cx: at, cy: y(value), r: 4.5, "data-line": index })).reverse(),
  ];
}

function scaleOf({ points, since, until }, lines, width) {
  const values = points.flatMap((point) => lines.map(({ valueOf }) => valueOf(point))).filter((value) => value !== undefined);
  const [low, high] = values.length > 0 ? [Math.min(...values), Math.max(...values)] : [0, 1];
  const marks = valueMarks(low, high, 4);
  const left = MARGIN.left + LABEL_WIDTH * Math.max(...marks.map(({ text }) => text.length));
  const [bottom, top] = [marks[0].value, marks.at(-1).value];
  const inner = width - left - MARGIN.right;
  return {
    width,
    left,
    marks,
    times: timeMarks(since, until, Math.max(2, Math.floor(inner / MARK_WIDTH))),
    x: (time) => left + ((time - since) / (until - since)) * inner,
    y: (value) => HEIGHT - MARGIN.bottom - ((value - bottom) / (top - bottom || 1)) * (HEIGHT - MARGIN.top - MARGIN.bottom),
    timeAt: (x) => since + ((x - left) / inner) * (until - since),
  };
}

/** Pairs of neighbors: a point and the time at which its value ends. */
function spans({ points, since, until }, { valueOf }) {
  const all = points.map((point, at) => ({ value: valueOf(point), from: Math.max(point.time, since), to: points[at + 1]?.time ?? until }));
  return all.filter(({ value, to }) => value !== undefined && to > since);
}

function stepPath(drawn, line, { x, y }) {
  let end;
  return spans(drawn, line)
    .map(({ value, from, to }) => {
      const begin = end === from ? `V${y(value)}` : `M${x(from)} ${y(value)}`;
      end = to;
      return `${begin}H${x(to)}`;
    })
    .join("");
}

function areaPath(drawn, line, { x, y }) {
  const floor = HEIGHT - MARGIN.bottom;
  return spans(drawn, line).map(({ value, from, to }) => `M${x(from)} ${floor}V${y(value)}H${x(to)}V${floor}Z`).join("");
}

function axes({ width, left, marks, times, x, y }) {
  const rows = marks.flatMap(({ value, text }) => [
    svg("line", { class: "grid", x1: left, x2: width - MARGIN.right, y1: y(value), y2: y(value) }),
    svg("text", { x: left - 8, y: y(value) + 4, "text-anchor": "end" }, [text]),
  ]);
  const columns = times
    .filter(({ time }) => x(time) < width - 20)
    .flatMap(({ time, text }) => [
      svg("line", { class: "tick", x1: x(time), x2: x(time), y1: HEIGHT - MARGIN.bottom, y2: HEIGHT - MARGIN.bottom + 5 }),
      svg("text", { x: x(time), y: HEIGHT - 7, "text-anchor": "middle" }, [text]),
    ]);
  return [...rows, ...columns];
}

function svg(name, attributes, children = []) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}
