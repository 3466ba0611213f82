/**
 * The event types of a webhook: all, or some. Known ones are offered, others can be added.
 */

import { button, field, h } from "../shared/dom.js";
import { ALL, eventTypeText } from "./wording.js";

const FORM = /^[a-z0-9-]+(\.[a-z0-9-]+)*\.v\d+$/;
const RULE = "Names in lower case with dots between them, and a version at the end, such as orders.events.v1.";

/** The fields; `value` returns the event types. */
export function eventTypeFields(desk, chosen) {
  const all = h("input", { type: "checkbox", role: "switch", checked: chosen.includes(ALL), onchange: () => show() });
  const list = h("ul", { class: "event-types" });
  const own = h("input", { spellcheck: "false", autocomplete: "off", maxlength: 256, onkeydown: onenter });
  const ownField = field("Another event type", own, { hint: RULE });
  const add = button("Add", { image: "plus", onclick: () => addOwn() });
  const fault = h("p", { class: "fault", hidden: true });
  const joined = h("div", { class: "joined" });
  own.replaceWith(joined);
  joined.append(own, add);
  const some = h("div", { class: "stack tight" }, list, ownField);
  const element = h("fieldset", {}, h("legend", {}, "Events"), h("label", { class: "switch" }, all, h("span", {}, "All events")), some, fault);
  const known = desk.eventTypes();
  for (const type of [...known, ...chosen.filter((each) => each !== ALL && !known.includes(each))]) offer(type, chosen.includes(type));
  show();

  function offer(type, isChosen) {
    const box = h("input", { type: "checkbox", value: type, checked: isChosen });
    list.append(h("li", {}, h("label", { class: "check" }, box, h("span", {}, `${eventTypeText(type)} `, h("code", {}, type)))));
    return box;
  }

  function addOwn() {
    const type = own.value.trim();
    ownField.showFault(FORM.test(type) ? undefined : RULE);
    if (!FORM.test(type)) return own.focus();
    const box = boxes().find(({ value }) => value === type) ?? offer(type, true);
    box.checked = true;
    own.value = "";
    own.focus();
  }

  /** Enter adds the event type instead of saving the form. */
  function onenter(event) {
    if (event.key !== "Enter" || own.value.trim() === "") return;
    event.preventDefault();
    addOwn();
  }

  function boxes() {
    return [...list.querySelectorAll("input")];
  }

  function show() {
    some.hidden = all.checked;
  }

  return {
    element,
    /** The event types, including one that was typed but not added. */
    value() {
      if (all.checked) return [ALL];
      const typed = own.value.trim();
      const types = boxes().filter(({ checked }) => checked).map(({ value }) => value);
      return typed === "" || types.includes(typed) ? types : [...types, typed];
    },
    showFault(sentence) {
      fault.textContent = sentence ?? "";
      fault.hidden = !sentence;
    },
  };
}
