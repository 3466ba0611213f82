/**
 * The module's findings about an edited rule: shown above the form, and at each line that they are about. The messages are the
 * module's own; places are shown, never written as paths.
 */

import { button, h, keepFocus } from "../shared/dom.js";
import { icon } from "../shared/icon.js";
import { sameList } from "../shared/kept.js";
import { counted } from "../shared/messages.js";

/** The most that are listed. */
const MAX_LISTED = 20;

/** Nothing can be allowed. */
const WORST = "UNSATISFIABLE";

let marks = 0;

/**
 * The list above the form. `placeOf` returns the place that a path names, `{ name, element }`, or undefined if it is none of
 * the form.
 */
export function findingsPane(placeOf) {
  const status = h("p", { class: "visually-hidden", role: "status" });
  const title = h("h3", {});
  const list = h("ul", {});
  const section = h("section", { class: "findings", "aria-label": "What to look at", hidden: true }, title, list);
  let found = [];
  let shown = [];
  let marked = [];

  /** Each finding with its places; a line with several of its values is one place. */
  const placed = () =>
    found.map((finding) => {
      const places = finding.places.map(placeOf).filter(Boolean);
      return { ...finding, places: places.filter(({ element }, at) => places.findIndex((each) => each.element === element) === at) };
    });

  function draw(all) {
    section.hidden = all.length === 0;
    title.textContent = `${counted(all.length, "thing")} to look at`;
    status.textContent = all.length === 0 ? "" : `${title.textContent}. ${all[0].message}`;
    const rest = all.length > MAX_LISTED && h("li", { class: "hint" }, `and ${counted(all.length - MAX_LISTED, "finding")} more`);
    keepFocus(list, () => list.replaceChildren(...[...all.slice(0, MAX_LISTED).map(line), rest].filter(Boolean)));
    for (const unmark of marked) unmark();
    marked = [...byElement(all)].map(([element, findings]) => mark(element, findings));
  }

  return {
    elements: [status, section],
    /** Shows the module's findings. */
    show(given) {
      found = given;
      const all = placed();
      const drawn = all.flatMap(({ message, places }) => [message, ...places.flatMap(({ name, element }) => [name, element])]);
      if (sameList(shown, drawn) === shown) return;
      shown = drawn;
      draw(all);
    },
    /** Faults so serious that nothing can be allowed, as sentences. */
    worst: () => found.filter(({ kind }) => kind === WORST).map(({ message }) => message),
  };
}

/** A finding above the form, with links to its places. */
function line({ kind, message, places }) {
  const links = places.map(({ name, element }) => button(name, { class: "link", dir: "auto", onclick: () => goTo(element) }));
  return h("li", { class: kind === WORST ? "worst" : undefined }, icon("alert"), h("div", {}, h("p", { dir: "auto" }, message), links.length > 0 && h("p", { class: "places" }, links)));
}

function byElement(all) {
  const found = new Map();
  for (const finding of all) for (const { element } of finding.places) found.set(element, [...(found.get(element) ?? []), finding]);
  return found;
}

/** The control that gets the focus at a place. */
const controlOf = (element) => element.querySelector("select, input, textarea");

function goTo(element) {
  element.scrollIntoView({ block: "center" });
  controlOf(element)?.focus({ preventScroll: true });
}

/** Marks a place with its findings, also for screen readers; returns a function that removes the marks. */
function mark(element, findings) {
  const id = `finding-${(marks += 1)}`;
  const said = findings.map(({ kind, message }) => h("p", { class: kind === WORST ? "worst" : undefined, dir: "auto" }, icon("alert"), message));
  const box = h("div", { class: "line-findings", id }, said);
  const control = controlOf(element);
  const describedBy = (ids) => (ids.length > 0 ? control?.setAttribute("aria-describedby", ids.join(" ")) : control?.removeAttribute("aria-describedby"));
  const others = () => (control?.getAttribute("aria-describedby") ?? "").split(" ").filter((each) => each !== "" && each !== id);
  element.classList.add("has-findings");
  element.append(box);
  describedBy([id, ...others()]);
  return () => {
    box.remove();
    element.classList.remove("has-findings");
    describedBy(others());
  };
}
