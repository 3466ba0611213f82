/**
 * The fields of the customer: age and licenses, each of which may not have been asked yet.
 */

import { button, choice, field, h } from "./dom.js";

/** The fields; `onchange` is called after each keystroke. */
export function customerFields(onchange) {
  const age = h("input", { type: "number", inputmode: "numeric", min: 0, max: 150, step: 1, placeholder: "not asked", value: "17" });
  const clear = button("Not asked", { class: "plain", onclick: () => set("") });
  const ageField = field("Customer’s age", h("div", { class: "joined" }, age, clear));
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
    /** The age; undefined when it was not asked or is invalid. */
    age: () => (age.value === "" || !age.checkValidity() ? undefined : Number(age.value)),
    /** Shows only the fields that are needed. */
    show(needs) {
      ageField.hidden = !needs.age;
      licenses.hidden = !needs.licenses;
    },
    /** Offers these licenses. */
    offer(ids) {
      if (ids.join() === [...known.querySelectorAll("input")].map(({ value }) => value).join()) return;
      const chosen = new Set(checked(known));
      known.replaceChildren(
        ...ids.map((id) => h("label", { class: "chip" }, h("input", { type: "checkbox", value: id, checked: chosen.has(id), onchange }), h("span", {}, id))),
      );
    },
    /** The customer as a till would send it: what is not known is absent. */
    value() {
      const customer = {};
      // An invalid number must reach the module, which reports it.
      if (age.value !== "" || age.validity.badInput) customer.customer_age = age.validity.badInput ? "" : Number(age.value);
      if (asked === "yes") customer.licenses = [...checked(known), ...split(others.value)];
      return customer;
    },
  };
}

const checked = (group) => [...group.querySelectorAll("input:checked")].map(({ value }) => value);

const split = (value) => value.split(",").map((text) => text.trim()).filter((text) => text !== "");
