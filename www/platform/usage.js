/**
 * A tenant's usage of its quotas, and the choice of decisions to record.
 */

import { h } from "../shared/dom.js";
import { figure } from "../shared/locale.js";
import { decisionLog } from "./decision-log.js";

/** From this share on, a quota is nearly used up. */
const NEARLY = 0.8;

const MIB = 1024 * 1024;

/** The counted things, in words; a host may count more. */
const COUNTED = {
  conditions: "Conditions",
  projects: "Projects",
  configurationBytes: "Size of conditions and projects",
  historyBytes: "Size of their history",
  tills: "Tills that upload decisions",
  businessUnits: "Companies, groups and shops",
  businessUnitBytes: "Size of companies, groups and shops",
  exchangeRates: "Rates that are set",
  ratePasses: "Changes of rates under way",
  webhooks: "Webhooks",
  eventConsumers: "Receivers that ask for events",
  eventsPerSecond: "Events in the last second",
  waitingDeliveries: "Waiting deliveries",
  deliveriesPerTarget: "Deliveries under way to one receiver",
  eventStreams: "Pages and programs that follow changes",
  clients: "Clients",
  templates: "Templates",
  templateBytes: "Size of templates",
};

export function tenantUsage(desk) {
  const list = h("ul", { class: "usage" });
  const message = h("p", { class: "message" });
  const log = decisionLog(desk);
  const about = "A change that needs more than the quota is refused. The platform’s operator can raise it.";
  const usage = h("section", { class: "card stack", "aria-label": "Usage" }, h("div", {}, h("h2", {}, "Usage"), h("p", { class: "hint" }, about)), list, message);
  return {
    element: h("div", { class: "stack lists" }, usage, log.element),
    open() {
      list.replaceChildren();
      log.open();
    },
    async read() {
      const tenant = desk.tenant;
      const [all] = await Promise.all([desk.host.usage(tenant), log.read()]);
      if (tenant !== desk.tenant) return;
      message.textContent = "";
      const known = Object.keys(COUNTED).filter((name) => all[name] !== undefined);
      list.replaceChildren(...known.map((name) => usageRow(name, all[name])));
    },
    fail(sentence) {
      list.replaceChildren();
      message.textContent = sentence;
    },
  };
}

function usageRow(name, { used, quota }) {
  const text = name.endsWith("Bytes") ? sizeText : figure;
  const share = quota === 0 ? 0 : used / quota;
  const numbers = `${text(used)} of ${text(quota)}`;
  const state = share >= 1 ? "used up" : share >= NEARLY ? "nearly used up" : undefined;
  const meter = h("meter", { min: 0, max: quota, value: used, "aria-label": COUNTED[name], "data-full": share >= NEARLY });
  return h("li", {}, h("span", {}, COUNTED[name]), h("span", { class: "numbers" }, numbers, state && h("b", {}, ` · ${state}`)), meter);
}

/** A size: `1.5 MB`, to a tenth. */
function sizeText(bytes) {
  const size = bytes / MIB;
  return `${size > 0 && size < 0.1 ? "under 0.1" : figure(size, { maximumFractionDigits: 1 })} MB`;
}
