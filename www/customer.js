/**
 * The customer: an age and licenses, each of which may not have been asked yet.
 */

import { button, choice, field, h } from "./dom.js";

/** The fields; `onchange` is told of each keystroke. */
export function customer(onchange) {
  const age = h("input", { type: "number", inputmode: "numeric", min: 0, max: 150, step: 1, placeholder: "not asked", value: "17" });
  const forget = button("Not asked", { class: "plain", onclick: () => set("") });
  const ageField = field("Customer’s age", h("div", { class: "joined" }, age, forget));
  ageField.querySelector("label").htmlFor = age.id = "customer-age";
  age.addEventListener("input", onchange);

  let asked = "no";
  const known = h("div", { class: "chips", role: "group", "aria-label": "Licenses the customer has" });
  const others = h("input", { placeholder: "others, separated by commas", spellcheck: "false", "aria-label": "Other licenses" });
  others.addEventListener("input", onchange);
  const have = h("div", { class: "stack tight", hidden: true }, known, others);
  const licensesChoice = choice("Licenses", [["no", "Not asked"], ["yes", "Has these"]], asked, (value) => {
    asked = value;
    have.hidden = value === "no";
    onchange();
  });
  const licenses = h("div", { class: "stack tight" }, licensesChoice, have);

  const set = (value) => {
    age.value = value;
    onchange();
  };

  return {
    element: h("div", { class: "stack" }, ageField, licenses),
    setAge: set,
    /** The age, when it was asked and is one. */
    age: () => (age.value === "" || !age.checkValidity() ? undefined : Number(age.value)),
    /** Which of the two are to be seen. */
    show(needs) {
      ageField.hidden = !needs.age;
      licenses.hidden = !needs.licenses;
    },
    /** The licenses that there are. */
    offer(ids) {
      if (ids.join() === [...known.querySelectorAll("input")].map(({ value }) => value).join()) return;
      const chosen = new Set(checked(known));
      known.replaceChildren(
        ...ids.map((id) => h("label", { class: "chip" }, h("input", { type: "checkbox", value: id, checked: chosen.has(id), onchange }), h("span", {}, id))),
      );
    },
    /** The customer as a till would send one: what is not known is not there. */
    value() {
      const made = {};
      // What is no number must reach the module, which says so.
      if (age.value !== "" || age.validity.badInput) made.customer_age = age.validity.badInput ? "" : Number(age.value);
      if (asked === "yes") made.licenses = [...checked(known), ...texts(others.value)];
      return made;
    },
  };
}

const checked = (group) => [...group.querySelectorAll("input:checked")].map(({ value }) => value);

const texts = (value) => value.split(",").map((text) => text.trim()).filter((text) => text !== "");
