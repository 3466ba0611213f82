/**
 * The fields of the customer: age and licenses, each of which may be unknown.
 */

import { button, choice, field, h } from "../shared/dom.js";
import { AGE_FAULT } from "../shared/faults.js";
import { idChips } from "./id-chips.js";

/** The fields; `onchange` is called after each keystroke, and `given` is the first content, as `state` returns it. */
export function customerFields(onchange, given = {}) {
  const age = h("input", { type: "number", inputmode: "numeric", min: 0, max: 150, step: 1, placeholder: "not asked", value: given.age ?? "", id: "customer-age" });
  const clear = button("Not asked", { class: "plain", onclick: () => set("") });
  const ageField = field("Customer’s age", age);
  ageField.insertBefore(h("div", { class: "joined" }, age, clear), ageField.children[1]);
  age.addEventListener("input", onchange);

  let asked = given.licenses === undefined ? "no" : "yes";
  let isOffered = false;
  const known = idChips({ label: "Licenses the customer has", add: "Add a license", given: given.licenses, onchange });
  const others = h("input", { placeholder: "others, separated by commas", spellcheck: "false", "aria-label": "Other licenses", dir: "auto" });
  others.addEventListener("input", onchange);
  const have = h("div", { class: "stack tight", hidden: asked === "no" }, known.element, others);
  const licensesChoice = choice("Licenses", [["no", "Not asked"], ["yes", "Has these"]], asked, (value) => {
    ask(value);
    onchange();
  });
  const licenses = h("div", { class: "stack tight" }, licensesChoice, have);

  const ask = (value) => {
    asked = value;
    have.hidden = value === "no";
  };

  const set = (value) => {
    age.value = value;
    onchange();
  };

  const held = () => [...known.value(), ...split(others.value)];

  return {
    element: h("div", { class: "stack" }, ageField, licenses),
    setAge: set,
    /** Gives the customer one more license. */
    addLicense(id) {
      ask("yes");
      licensesChoice.choose("yes");
      if (known.choose(id)) return;
      others.value = [...split(others.value), id].join(", ");
      onchange();
    },
    /** The age; undefined if unknown or invalid. */
    age: () => (age.value === "" || !age.checkValidity() ? undefined : Number(age.value)),
    /** Shows only the needed fields. */
    show(needs) {
      ageField.hidden = !needs.age;
      licenses.hidden = !needs.licenses;
    },
    /** Offers these licenses. Others, chosen before the first offer, are in the field for others. */
    offer(ids) {
      known.offer(ids);
      if (!isOffered && others.value === "") others.value = known.unknown().join(", ");
      isOffered ||= ids.length > 0;
    },
    /** The customer as a till would send it, without unknown members. */
    value() {
      const customer = {};
      // An invalid number must reach the module, which reports it.
      if (age.value !== "" || age.validity.badInput) customer.customer_age = age.validity.badInput ? "" : Number(age.value);
      if (asked === "yes") customer.licenses = held();
      return customer;
    },
    state: () => ({ age: age.value, licenses: asked === "yes" ? held() : undefined }),
    showFaults: (faults = []) => ageField.showFault(faults.some(({ path }) => path.endsWith(".customer_age")) && AGE_FAULT),
  };
}

const split = (value) => value.split(",").map((text) => text.trim()).filter((text) => text !== "");
