/**
 * The Platform view: the tenants; clients, templates and usage of the selected one; roles; and for operators, signing keys and
 * dead letters. Decides what is read when; the parts draw what they are given.
 */

import { h, keepFocus } from "../shared/dom.js";
import { compareNames } from "../shared/locale.js";
import { picker, pickerField } from "../shared/picker.js";
import { polling } from "../shared/polling.js";
import { hrefOf, placeOf } from "./address.js";
import { clientList, pendingList } from "./clients.js";
import { PlatformHost } from "./host.js";
import { jobList } from "./jobs.js";
import { keyRings } from "./keys.js";
import { roleList } from "./roles.js";
import { templateLists } from "./templates.js";
import { tenantList } from "./tenants.js";
import { tenantUsage } from "./usage.js";
import { explain } from "./wording.js";

/** The pause between two readings. */
const PAUSE_MS = 5000;

const OPERATOR = "iam.tenants.write";

/** The tabs in order: the title, what makes the part, the permissions that show it, and whether it is about a tenant. */
const TABS = {
  tenants: { title: "Tenants", make: tenantList, needs: [OPERATOR] },
  waiting: { title: "Waiting", make: pendingList, needs: ["iam.clients.read"], isOfTenant: true },
  clients: { title: "Clients", make: clientList, needs: ["iam.clients.read"], isOfTenant: true },
  templates: { title: "Templates", make: templateLists, needs: ["iam.templates.read", "iam.statements.read"], isOfTenant: true },
  roles: { title: "Roles", make: roleList, needs: ["iam.roles.write", "iam.clients.read", "iam.templates.read"] },
  usage: { title: "Usage", make: tenantUsage, needs: [], isOfTenant: true },
  keys: { title: "Signing keys", make: keyRings, needs: ["iam.keys.read"] },
  jobs: { title: "Failed jobs", make: jobList, needs: ["iam.jobs.read"] },
};

/** The view; `rest` is the part of the address that selects the content. */
export const platform = (session, rest) => new PlatformView(session, rest);

class PlatformView {
  #session;
  #desk;
  /** The opened tabs' parts, by the name of the tab, and the current one. */
  #parts = new Map();
  #tab;
  #tenant;
  #reading;
  #nav = h("nav", { class: "tabs", "aria-label": "About the platform" });
  #picker;
  #whose = h("div", { class: "whose" });
  #body = h("div", {});
  #stops;

  constructor(session, rest) {
    this.#session = session;
    const onstate = () => session.poll(this.#reading);
    this.#reading = polling(() => this.#read(), { pauseMs: PAUSE_MS, isVisible: () => session.isVisible, onstate });
    const view = this;
    this.#desk = {
      host: new PlatformHost(session),
      may: (permission) => session.may(permission),
      /** True if the user may look at every tenant. */
      get isOperator() {
        return session.may(OPERATOR);
      },
      /** The selected tenant. */
      get tenant() {
        return view.#tenant;
      },
      /** The tenants to choose from; undefined until they are read. */
      tenants: undefined,
      go: (href) => (location.hash = href),
      reread: () => this.#reading.now(),
    };
    this.#picker = picker({ read: () => tenantEntries(this.#desk.tenants), textOf: (id) => tenantText(this.#desk.tenants, id), onchange: (id) => this.#desk.go(hrefOf(this.#tab, id)) });
    this.element = h("div", { class: "platform" }, h("div", { class: "heading" }, h("h1", { tabindex: "-1" }, "Platform"), this.#whose), this.#nav, this.#body);
    this.#stops = [session.on("state", () => session.isVisible && this.#reading.wake()), session.on("permissions", () => this.#redraw())];
    session.poll(this.#reading);
    this.navigate(rest);
  }

  #tabs() {
    return Object.entries(TABS).filter(([, { needs }]) => needs.length === 0 || needs.some((permission) => this.#session.may(permission)));
  }

  navigate(address) {
    const { tab, tenant } = placeOf(address);
    const hadFocus = this.#body.contains(document.activeElement);
    const tabs = this.#tabs();
    const [name, { make, isOfTenant, title }] = tabs.find(([each]) => each === tab) ?? tabs[0];
    const isOther = this.#tab !== name || (isOfTenant && this.#body.dataset.tenant !== (tenant ?? this.#tenant));
    this.#tab = name;
    this.#tenant = tenant ?? this.#tenant ?? this.#session.tenant;
    if (!this.#parts.has(name)) this.#parts.set(name, make(this.#desk));
    this.#showFrame();
    if (isOther) {
      const part = this.#parts.get(name);
      this.#body.dataset.tenant = this.#tenant;
      part.open();
      this.#body.replaceChildren(part.element);
      if (hadFocus) this.element.querySelector("h1").focus();
    }
    document.title = `${title} · Platform · Tillgate`;
    this.#reading.now();
  }

  /** Shows the tabs and the selected tenant. */
  #showFrame() {
    const tabs = this.#tabs().map(([name, { title, isOfTenant }]) => {
      const href = hrefOf(name, isOfTenant ? this.#tenant : undefined);
      return h("a", { href, "aria-current": name === this.#tab && "page" }, title);
    });
    keepFocus(this.#nav, () => this.#nav.replaceChildren(...tabs));
    this.#whose.hidden = !TABS[this.#tab].isOfTenant;
    this.#picker.show(this.#tenant);
    if (this.#whose.childElementCount > 0 && this.#desk.isOperator) return;
    const own = h("p", { class: "hint" }, "Tenant ", h("b", { dir: "auto" }, this.#tenant));
    this.#whose.replaceChildren(this.#desk.isOperator ? pickerField("Tenant", this.#picker) : own);
  }

  #redraw() {
    this.#showFrame();
    this.#parts.get(this.#tab).draw?.();
  }

  /** Rules have changed; this view shows none. */
  refresh() {}

  close() {
    this.#reading.close();
    for (const part of this.#parts.values()) part.close?.();
    for (const stop of this.#stops) stop();
  }

  /** Reads what is shown. Throws if the host cannot be reached. */
  async #read() {
    const [part, tenant] = [this.#parts.get(this.#tab), this.#tenant];
    const isShown = () => part === this.#parts.get(this.#tab) && tenant === this.#tenant && !this.#reading.isClosed;
    try {
      if (this.#desk.isOperator) {
        this.#desk.tenants = (await this.#desk.host.tenants()).sort(byName);
        this.#picker.show(this.#tenant);
      }
      await part.read();
    } catch (error) {
      if (error.isTemporary) throw error;
      if (isShown() && error.code !== "unauthenticated") part.fail(explain(error));
    }
  }
}

const byName = (one, other) => compareNames(one.name ?? one.tenantId, other.name ?? other.tenantId, one.tenantId, other.tenantId);

const tenantEntries = (tenants = []) => tenants.map(({ tenantId }) => [tenantId, tenantText(tenants, tenantId)]);

/** A tenant's name with its id; the id alone if the name is unknown. */
function tenantText(tenants = [], id) {
  const { name } = tenants.find(({ tenantId }) => tenantId === id) ?? {};
  return name === undefined || name === id ? id : `${name} (${id})`;
}
