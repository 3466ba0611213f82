/**
 * The history of a condition or a project: a timeline of who changed it, when, and how, the newest first. An earlier version
 * can be chosen, to restore it.
 */

import { changeList } from "../shared/difference.js";
import { button, h, openDialog } from "../shared/dom.js";
import { downloadCsv } from "../shared/download.js";
import { icon } from "../shared/icon.js";
import { isolated, withoutIsolates } from "../shared/locale.js";
import { counted, errorText } from "../shared/messages.js";
import { People } from "../shared/people.js";
import { whoOf } from "../shared/reason.js";
import { exactText } from "../shared/time.js";
import { historyCsv } from "./history-csv.js";
import { conditionChanges, projectChanges } from "./rule-changes.js";
import { conditionText, projectName, restrictionText } from "./wording.js";

/** The most changes read at once, and the most differences shown of one. */
const AT_ONCE = 20;
const MAX_SHOWN = 12;

/** The changes between two versions, the text of a version, and its name. */
const KINDS = {
  condition: { nameOf: ({ id }) => id, changes: conditionChanges, text: (condition) => `${conditionText(condition)}${condition.enabled ? "" : ", but it is switched off"}` },
  project: { nameOf: (project) => isolated(projectName(project)), changes: projectChanges, text: projectText },
};

const VERBS = { CREATED: "created it", REPLACED: "changed it", DELETED: "deleted it" };

function projectText({ name, restrictions }) {
  const rules = restrictions.slice(0, 3).map(restrictionText).join("; ");
  const more = restrictions.length > 3 ? `; and ${counted(restrictions.length - 3, "rule")} more` : "";
  return `${name ? `${isolated(name)}: ` : ""}${rules || "everything may be bought"}${more}`;
}

/**
 * Opens the timeline and returns the version that the user chooses to restore, `{ document, at }`, or undefined. `path` is the
 * rule's path on the host, `kind` a condition or a project, and `mayRestore` allows a choice. An abort of `signal` closes it.
 */
export const openHistory = (session, subject, signal) => new RuleHistory(session, subject).open(signal);

class RuleHistory {
  #session;
  #path;
  #kind;
  #mayRestore;
  #noun;
  /** The start of the next page, the version in force, and the item drawn last. */
  #next;
  #now;
  #last;
  #chosen;
  #people = new People();
  /** All changes read so far. */
  #items = [];
  #save = button("Download as CSV", { class: "plain", hidden: true, onclick: () => this.#download() });
  #moments = h("ol", { class: "moments" });
  #status = h("p", { class: "hint", role: "status" }, "Reading the history…");
  #more = button("Show earlier changes", { hidden: true, onclick: () => this.#load() });
  #title = h("h2", { id: "history-title", dir: "auto" });
  #dialog;

  constructor(session, { kind, name, path, mayRestore }) {
    this.#session = session;
    this.#path = path;
    this.#noun = kind;
    this.#kind = KINDS[kind];
    this.#mayRestore = mayRestore;
    this.#title.textContent = `History of ${name}`;
    const close = button("Close", { onclick: () => this.#dialog.close("") });
    this.#dialog = h(
      "dialog",
      { class: "wide", "aria-labelledby": "history-title" },
      h("div", { class: "stack" }, this.#title, this.#status, this.#moments, this.#more, h("div", { class: "actions" }, this.#save, close)),
    );
  }

  async open(signal) {
    signal?.addEventListener("abort", () => this.#dialog.close("left"));
    this.#load();
    const result = await openDialog(this.#dialog);
    return { chosen: result === "chosen" ? this.#chosen : undefined, isKept: result === "kept" || result === "left" };
  }

  async #load() {
    this.#more.disabled = true;
    try {
      const cursor = this.#next === undefined ? "" : `&cursor=${encodeURIComponent(this.#next)}`;
      const response = await this.#session.request(`${this.#path}/history?limit=${AT_ONCE}${cursor}`);
      this.#draw(await response.json());
    } catch (error) {
      this.#status.textContent = error.status === 404 ? `There is no ${this.#noun} with this id, and no history for it.` : errorText(error);
      this.#more.hidden = error.status === 404;
      this.#more.textContent = "Try again";
    }
    this.#more.disabled = false;
  }

  #draw({ items, next }) {
    const isFirst = this.#last === undefined;
    if (isFirst) this.#now = items[0]?.after ?? undefined;
    // A deleted rule has its name only here.
    const newest = isFirst && items.map(({ before, after }) => after ?? before).find(Boolean);
    if (newest) this.#title.textContent = `History of ${this.#kind.nameOf(newest)}`;
    const drawn = items.map((item, at) => this.#moment(item, isFirst && at === 0));
    this.#last = items.at(-1) ?? this.#last;
    this.#items.push(...items);
    this.#save.hidden = this.#items.length === 0;
    this.#next = next;
    if (next === undefined && this.#last?.before && this.#last.action !== "CREATED") drawn.push(this.#beginning(this.#last));
    this.#status.textContent = isFirst ? summary(items, this.#mayRestore) : "";
    this.#more.textContent = "Show earlier changes";
    this.#more.hidden = next === undefined;
    this.#moments.append(...drawn);
    // The button that had the focus is gone.
    if (!isFirst && this.#more.hidden) drawn[0]?.focus();
  }

  #download() {
    downloadCsv(withoutIsolates(`${this.#title.textContent}.csv`), [historyCsv(this.#items, this.#kind)]);
  }

  #moment(item, isNewest) {
    const { at, by, action, after, note, failingTests } = item;
    const failing = failingTests > 0 && h("p", { class: "warning" }, icon("alert"), `Saved although ${counted(failingTests, "test")} failed.`);
    return h(
      "li",
      { class: "moment", tabindex: "-1" },
      h("div", { class: "moment-head" }, h("h3", {}, whoOf(by), ` ${VERBS[action]}`), h("time", { datetime: at }, exactText(at)), this.#people.mark(by)),
      note && h("p", { class: "reason", dir: "auto" }, note),
      this.#whatChanged(item),
      failing,
      after && this.#offer(after, at, isNewest),
    );
  }

  /** The content of a change, unknown if a version is not kept. */
  #whatChanged({ action, before, after, documentsKept }) {
    const { changes, text } = this.#kind;
    const said = (sentence) => h("p", { class: "moment-text" }, sentence);
    if (documentsKept === false) {
      const missing = before ? "The later version" : after ? "The earlier version" : "This version";
      const hint = h("p", { class: "hint" }, `${missing} is not kept: there was no room for it.`);
      return h("div", { class: "stack tight" }, before && said(`It was: ${text(before)}.`), after && said(`It became: ${text(after)}.`), hint);
    }
    if (action === "CREATED") return said(`${text(after)}.`);
    if (action === "DELETED") return said(`It was: ${text(before)}.`);
    const found = changes(before, after);
    if (found.length === 0) return h("p", { class: "hint" }, "It was saved without a change.");
    const more = found.length > MAX_SHOWN && h("p", { class: "hint" }, `and ${counted(found.length - MAX_SHOWN, "change")} more`);
    return h("div", { class: "stack tight" }, changeList(found.slice(0, MAX_SHOWN)), more);
  }

  /** The version before the first recorded change. */
  #beginning({ before, at }) {
    const text = h("p", { class: "moment-text" }, `${this.#kind.text(before)}.`);
    return h("li", { class: "moment", tabindex: "-1" }, h("div", { class: "moment-head" }, h("h3", {}, "Before that")), text, this.#offer(before, at, false));
  }

  /** Restores a version, unless it is the one in force. */
  #offer(document, at, isNewest) {
    const tag = (text) => h("p", {}, h("span", { class: "tag" }, icon("check"), text));
    if (isNewest) return tag("As it is now");
    if (JSON.stringify(document) === JSON.stringify(this.#now)) return tag("The same as now");
    if (!this.#mayRestore(document)) return undefined;
    const onclick = () => {
      this.#chosen = { document, at };
      this.#dialog.close("chosen");
    };
    return button("Restore this", { image: "undo", "aria-label": withoutIsolates(`Restore this: ${this.#kind.text(document)}, ${exactText(at)}`), onclick });
  }
}

/** What there is to see. */
function summary([newest], mayRestore) {
  if (newest === undefined) return "It has not changed since its history began.";
  if (newest.after) return "The newest change comes first.";
  return newest.before && !mayRestore(newest.before) ? "It is deleted." : "It is deleted. Restoring a version creates it again.";
}
