/**
 * The frame of each page of the host: the header, with the theme, a link past it, and the place for notices.
 */

import { button, h } from "./dom.js";
import { icon } from "./icon.js";
import { keepFocusUncovered } from "./uncover.js";

const themeButton = button("", { iconOnly: true, class: "plain", onclick: () => applyTheme(isDark() ? "light" : "dark") });

/** Draws the frame. `brand` are the address and the text of the header's first link, and `end` makes the end of the header. */
export function frame({ main, nav, brand, end }) {
  const image = h("img", { src: new URL("../icon.svg", import.meta.url).href, alt: "", width: "28", height: "28" });
  document.body.append(
    h("a", { class: "skip", href: "#main", onclick: (event) => (event.preventDefault(), main.focus()) }, "Skip to the content"),
    h("header", {}, h("a", { class: "brand", href: brand.href }, image, brand.text), nav, h("div", { class: "header-end" }, end(themeButton))),
    main,
    h("div", { id: "notices", "aria-live": "polite" }),
  );
  applyTheme(storedTheme());
  keepFocusUncovered();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => applyTheme());
}

const isDark = () =>
  (document.documentElement.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";

/** Applies a theme, light or dark; the default is the system's. */
function applyTheme(chosen) {
  if (chosen) {
    document.documentElement.dataset.theme = chosen;
    storeTheme(chosen);
  }
  const label = isDark() ? "Use light colours" : "Use dark colours";
  themeButton.replaceChildren(icon(isDark() ? "sun" : "moon"), h("span", { class: "visually-hidden" }, label));
  themeButton.title = label;
}

/** Stores the theme if the browser allows it. */
function storeTheme(theme) {
  try {
    localStorage.setItem("theme", theme);
  } catch {}
}

function storedTheme() {
  try {
    return localStorage.getItem("theme");
  } catch {
    return null;
  }
}
