/**
 * The line icons of the page, in the color of the text beside them.
 */

const PATHS = {
  check: "m5 12.5 4.6 4.6L19 7.4",
  ask: "M8.6 9a3.5 3.5 0 1 1 5.2 3.1c-1.2.7-1.8 1.4-1.8 2.7M12 18.6v.1",
  stop: "m7 7 10 10M17 7 7 17",
  lock: "M7 11V8a5 5 0 0 1 10 0v3M6 11h12v9H6z",
  license: "M4 6.5h16v11H4zM8.5 12.2a1.6 1.6 0 1 0 0-3.2 1.6 1.6 0 0 0 0 3.2M6.5 15c.4-1.2 3.6-1.2 4 0M13.5 10.5h4M13.5 13.5h4",
  sun: "M12 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8M12 3v1.5M12 19.5V21M3 12h1.5M19.5 12H21M5.6 5.6l1 1M17.4 17.4l1 1M18.4 5.6l-1 1M6.6 17.4l-1 1",
  moon: "M20 14.2A8.2 8.2 0 0 1 9.8 4 8.2 8.2 0 1 0 20 14.2z",
  plus: "M12 5v14M5 12h14",
  search: "M11 17a6 6 0 1 0 0-12 6 6 0 0 0 0 12M15.5 15.5 20 20",
  trash: "M5 7h14M10 7V4.5h4V7M7 7l.8 12.5h8.4L17 7",
  pencil: "m5 19 .9-3.7L15.7 5.5l2.8 2.8-9.8 9.8z",
  eye: "M3 12s3.3-6 9-6 9 6 9 6-3.3 6-9 6-9-6-9-6zM12 14.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5",
  out: "M14 5H6v14h8M11 12h9M17 9l3 3-3 3",
  close: "m6 6 12 12M18 6 6 18",
  alert: "M12 4 3 19.5h18zM12 10v4.5M12 17v.1",
  draft: "M5 19h14M7 15l9-9 2.5 2.5-9 9H7z",
  basket: "M4 10h16l-1.6 9H5.6zM8 10l3-6M16 10l-3-6",
  chevron: "m9 6 6 6-6 6",
  company: "M5 20V4.5h9V20M14 10h5v10M3.5 20h17M8.3 8.5h2.4M8.3 12h2.4M8.3 15.5h2.4",
  group: "M4 6.5h6l2 2.5h8v9.5H4z",
  shop: "M4.5 9.5 6 5h12l1.5 4.5zM5.5 9.5V19h13V9.5M10 19v-5h4v5",
  chart: "M4.5 5v14.5H20M8 14.5l3.5-4 3 2.5L19 7.5",
  paste: "M9 5.5H6v14h12v-14h-3M9 4h6v3H9zM9 11.5h6M9 15h6",
  file: "M7 4h7l3.5 3.5V20H7zM14 4v3.5h3.5",
  swap: "M4.5 9H19l-3.5-3.5M19.5 15H5l3.5 3.5",
  undo: "M8.5 5.5 4.5 9.5l4 4M4.5 9.5H15a4.75 4.75 0 0 1 0 9.5h-3.5",
  send: "M4 11.5 20 4l-5 16-3.5-6.5zM11.5 13.5 20 4",
  clock: "M12 20a8 8 0 1 0 0-16 8 8 0 0 0 0 16M12 7.5V12l3 2",
  copy: "M9 9h10v10.5H9zM15 9V4.5H5V15h4",
  key: "M8.5 18.5a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7M11 12.5l7.5-7.5M15.5 8l2.5 2.5",
  pause: "M8.5 6v12M15.5 6v12",
  retry: "M19 12a7 7 0 1 1-2.2-5.1L19 9M19 4.5V9h-4.5",
};

/** A line icon. It is hidden from screen readers, which read the text. */
export function icon(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", PATHS[name]);
  svg.append(path);
  return svg;
}
