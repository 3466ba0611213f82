/**
 * The form of a new template.
 */

import { TillgateError } from "../../js/src/index.js";
import { field, h, notify } from "../shared/dom.js";
import { edit } from "../shared/editor.js";
import { ALL_TENANTS } from "./host.js";
import { roleFields } from "./role-fields.js";
import { claimNames, explain } from "./wording.js";

const NAME_FAULT = "Enter 1 to 64 letters, digits, . _ or -";
const CLAIM = /^[a-z][a-z0-9_]{0,31}$/;
const CLAIM_FAULT = "Enter one word per line, such as store_number: small letters, digits and _, at most 32 of them.";

/** Creates a template of a tenant, or for all tenants. */
export async function createTemplate(desk, owner) {
  try {
    const roles = await desk.host.roles();
    const fields = templateFields(roles);
    const isMade = await edit({
      title: owner === ALL_TENANTS ? "New template for all tenants" : "New template",
      fields,
      action: "Make it",
      saved: "The template was made. Clients can register with it now.",
      done: "made",
      async save(template) {
        if (!fields.areClaims()) throw new TillgateError({ code: "invalid", path: "$.claimsSchema", message: CLAIM_FAULT });
        await desk.host.createTemplate(owner, template);
      },
      latest: () => desk.host.template(owner, fields.value()).catch(ignoreNotFound),
      isSaved: (stored, template) => stored.name === template.name && claimNames(stored.claimsSchema).join() === claimNames(template.claimsSchema).join(),
      explain: (error) => (error.code === "template_exists" ? "There is a template for this software and version already." : explain(error)),
    });
    if (isMade) desk.reread();
  } catch (error) {
    notify(explain(error));
  }
}

function templateFields(roles) {
  const text = (properties) => h("input", { spellcheck: "false", autocomplete: "off", ...properties });
  const name = text({ maxlength: 100, dir: "auto" });
  const software = text({ maxlength: 64 });
  const version = text({ maxlength: 64, value: "1" });
  const claims = h("textarea", { rows: 3, spellcheck: "false" });
  const chosen = roleFields(roles, []);
  const fields = {
    name: field("Name", name, { hint: "What people call it, such as “Tills of our shops”." }),
    software: field("Software", software, { hint: "What the software calls itself when it registers, such as till." }),
    version: field("Version", version),
    claims: field("Claims that each client must send", claims, { hint: "One per line, such as store_number and device_name. They help you recognize a till before you let it in." }),
  };
  const places = [[/^\$\.name/, fields.name, "Enter a name of at most 100 characters."], [/^\$\.softwareId/, fields.software, NAME_FAULT], [/^\$\.softwareVersion/, fields.version, NAME_FAULT], [/^\$\.claimsSchema/, fields.claims, CLAIM_FAULT]];
  const names = () => claims.value.split("\n").map((line) => line.trim()).filter(Boolean);
  return {
    element: h("div", { class: "stack" }, fields.name, h("div", { class: "pair" }, fields.software, fields.version), fields.claims, chosen.element),
    value: () => ({ name: name.value.trim(), softwareId: software.value.trim(), softwareVersion: version.value.trim(), claimsSchema: schemaOf(names()), roles: chosen.value() }),
    showFaults(faults) {
      for (const [path, place, sentence] of places) place.showFault(faults.some((fault) => path.test(fault.path)) && sentence);
      fields.name.parentElement.querySelector("[aria-invalid]")?.focus();
      return faults.every((fault) => places.some(([path]) => path.test(fault.path)));
    },
    /** True if each name can be a claim. */
    areClaims: () => names().every((claim) => CLAIM.test(claim)),
  };
}

/** The schema that requires all these claims and forbids others; without any, it allows everything. */
const schemaOf = (names) => (names.length === 0 ? { type: "object" } : { type: "object", properties: Object.fromEntries(names.map((name) => [name, {}])), required: names, additionalProperties: false });

const ignoreNotFound = (error) => {
  if (error.status !== 404) throw error;
};
