/**
 * The tenants, for operators: selecting one, and creating one.
 */

import { TillgateError } from "../../js/src/index.js";
import { button, field, h } from "../shared/dom.js";
import { edit } from "../shared/editor.js";
import { timeText } from "../shared/time.js";
import { hrefOf } from "./address.js";
import { entries } from "./entries.js";
import { Pages } from "./pages.js";
import { explain } from "./wording.js";

const keyOf = ({ tenantId }) => tenantId;

const LABELS = {
  title: "Tenants",
  noun: "tenant",
  about: "A tenant is a company with its own rules, rates and clients.",
  empty: "No tenant yet",
  none: "Make one. Its tills and people can register then.",
};

const ID_FAULT = "Enter 1 to 64 letters, digits, . _ or -";
const TAKEN = "A tenant with this id exists already.";

export function tenantList(desk) {
  const create = button("New tenant", { image: "plus", class: "primary", onclick: () => makeTenant(desk) });
  const list = entries({ labels: LABELS, keyOf, rowOf: tenantRow, textOf: ({ tenantId, name = "" }) => `${name} ${tenantId}`, actions: [create] });
  // The view has just read them, for the choice of a tenant.
  return { ...list, open: () => list.open(new Pages(async () => ({ items: desk.tenants }), keyOf)) };
}

function tenantRow({ tenantId, name, createdAt }) {
  const link = (tab, text, image) => h("a", { class: "button plain", href: hrefOf(tab, tenantId), "aria-label": `${text}: ${name ?? tenantId}` }, text);
  return h(
    "li",
    { class: "entry" },
    h(
      "div",
      { class: "entry-text" },
      h("h3", { dir: "auto" }, name ?? tenantId),
      h("p", { class: "hint" }, name !== undefined && h("span", { class: "id" }, tenantId), `${name === undefined ? "" : " · "}Made ${timeText(createdAt)}`),
    ),
    h("div", { class: "row-actions" }, link("waiting", "Waiting"), link("clients", "Clients"), link("usage", "Usage")),
  );
}

async function makeTenant(desk) {
  const id = h("input", { maxlength: 64, spellcheck: "false", autocomplete: "off" });
  const name = h("input", { maxlength: 100, autocomplete: "off", dir: "auto" });
  const fields = { id: field("Id", id, { hint: "Letters, digits, . _ and -, such as acme. It cannot be changed later." }), name: field("Name", name, { hint: "What people call it. Optional." }) };
  const isMade = await edit({
    title: "New tenant",
    action: "Make it",
    saved: "The tenant was made.",
    done: "made",
    fields: {
      element: h("div", { class: "stack" }, fields.id, fields.name),
      value: () => ({ id: id.value.trim(), ...(name.value.trim() !== "" && { name: name.value.trim() }) }),
      showFaults(faults) {
        const isId = faults.some(({ path }) => path === "$.tenantId");
        fields.id.showFault(isId && ID_FAULT);
        if (isId) id.focus();
        return isId;
      },
    },
    async save(tenant) {
      if (tenant.id === "") throw new TillgateError({ code: "invalid", path: "$.tenantId", message: ID_FAULT });
      await desk.host.makeTenant(tenant).catch((error) => {
        throw error.code === "already_exists" ? new TillgateError({ code: "taken", message: TAKEN }) : error;
      });
    },
    latest: () => desk.host.tenant(id.value.trim()).catch(ignoreNotFound),
    isSaved: (stored, tenant) => stored.name === tenant.name,
    explain,
  });
  if (isMade) desk.reread();
}

const ignoreNotFound = (error) => {
  if (error.status !== 404) throw error;
};
