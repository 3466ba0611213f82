/**
 * Elements and controls that several views share. Knows no rules.
 */

import { icon } from "./icon.js";

/** An element. Properties that begin with `on` are listeners, all others attributes. */
export function h(name, properties = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "value" || key === "checked" || key === "disabled") element[key] = value;
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== undefined && child !== null && child !== false));
  return element;
}

let fields = 0;

/** A control with its label, a hint below it, and a line for its fault (`showFault`, which takes a sentence or its parts). */
export function field(label, control, { hint, wide } = {}) {
  control.id ||= `field-${(fields += 1)}`;
  const about = hint && h("p", { class: "hint", id: `${control.id}-hint` }, hint);
  const fault = h("p", { class: "fault", id: `${control.id}-fault`, hidden: true });
  control.setAttribute("aria-describedby", [about?.id, fault.id].filter(Boolean).join(" "));
  const element = h("div", { class: wide ? "field wide" : "field" }, h("label", { for: control.id }, label), control, about, fault);
  element.showFault = (sentence) => {
    fault.replaceChildren(...[sentence ?? ""].flat());
    fault.hidden = !sentence;
    control.toggleAttribute("aria-invalid", Boolean(sentence));
    if (sentence) control.setAttribute("aria-invalid", "true");
  };
  return element;
}

/** Radio buttons that look like one control. */
export function choice(label, options, chosen, onchange) {
  const name = `choice-${(fields += 1)}`;
  const buttons = options.map(([value, text]) => {
    const input = h("input", { type: "radio", name, value, checked: value === chosen, onchange: () => onchange(value) });
    return h("label", {}, input, h("span", {}, text));
  });
  const element = h("fieldset", { class: "choice" }, h("legend", {}, label), h("div", { class: "segments" }, buttons));
  element.choose = (value) => {
    for (const input of element.querySelectorAll("input")) input.checked = input.value === value;
  };
  return element;
}

/** A button with an icon and a text. `iconOnly` shows the text to screen readers only. */
export function button(text, { image, iconOnly, ...properties } = {}) {
  const label = iconOnly ? h("span", { class: "visually-hidden" }, text) : text;
  const title = iconOnly ? text : undefined;
  return h("button", { type: "button", title, ...properties }, image && icon(image), label);
}

/**
 * Redraws the content of an element, and keeps the focus on the same control, by its name and its place among those of that
 * name.
 */
export function keepFocus(element, draw) {
  const controls = () => [...element.querySelectorAll("a, button, input, select, summary, [tabindex]")];
  const focused = element.contains(document.activeElement) ? document.activeElement : undefined;
  const name = focused && accessibleName(focused);
  const at = focused && controls().filter((control) => accessibleName(control) === name).indexOf(focused);
  draw();
  // A moved control has lost the focus too.
  if (focused && document.activeElement !== focused) controls().filter((control) => accessibleName(control) === name)[at]?.focus();
}

/** Makes these elements the children of another, in this order. Those already in place are not touched. */
export function arrange(parent, elements) {
  const kept = new Set(elements);
  for (const child of [...parent.children]) if (!kept.has(child)) child.remove();
  elements.forEach((element, at) => parent.children[at] === element || parent.insertBefore(element, parent.children[at] ?? null));
}

/** Runs only the last of several calls, `ms` after it. */
export function debounce(ms, run) {
  let timer;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => run(...given), ms);
  };
}

/** Opens a dialog and returns its value once closed. The focus then returns to where it was. */
export function openDialog(element) {
  const opener = document.activeElement;
  const name = accessibleName(opener);
  document.body.append(element);
  element.showModal();
  return new Promise((resolve) => {
    element.addEventListener("close", () => {
      element.remove();
      // The opener may have been redrawn meanwhile.
      if (!opener.isConnected) [...document.querySelectorAll("main button")].find((other) => accessibleName(other) === name)?.focus();
      resolve(element.returnValue);
    });
  });
}

const accessibleName = (element) => element.getAttribute("aria-label") ?? element.labels?.[0]?.textContent ?? element.textContent;

/** Asks for a confirmation; `more` is an element below the detail. */
export async function confirmed(question, detail, action, more) {
  const dialog = h(
    "dialog",
    { class: "small", "aria-labelledby": "confirm-title", "aria-describedby": "confirm-detail" },
    h("h2", { id: "confirm-title" }, question),
    h("p", { id: "confirm-detail" }, detail),
    more,
    h(
      "div",
      { class: "actions" },
      button("Cancel", { class: "plain", autofocus: true, onclick: () => dialog.close("") }),
      button(action, { class: "danger", onclick: () => dialog.close("yes") }),
    ),
  );
  return (await openDialog(dialog)) === "yes";
}

/** How long a notice is shown, and one with a link, which takes time to reach. */
const NOTICE_MS = 6000;
const LINK_MS = 20_000;

/** Shows a notice, a sentence or its parts, for a few seconds; screen readers announce it. */
export function notify(sentence) {
  const notices = document.getElementById("notices");
  const notice = h("p", { class: "notice", onclick: ({ target }) => target.closest("a") && notice.remove() }, sentence);
  notices.append(notice);
  setTimeout(() => notice.remove(), notice.querySelector("a") ? LINK_MS : NOTICE_MS);
}
