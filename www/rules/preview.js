/**
 * The preview: one item by a condition or on a project, or a basket, decided in the page after each keystroke with the host's
 * module. Its state is in the address, and is kept while other views are shown.
 */

import { button, choice, debounce, h, notify } from "../shared/dom.js";
import { icon } from "../shared/icon.js";
import { draftKey } from "./condition-fields.js";
import { historyOfDeleted } from "./history-link.js";
import { previewAddress, previewState } from "./preview-address.js";
import { conditionMode } from "./preview-condition.js";

const ADDRESS_MS = 200;

/** The modes; those not shown first are loaded later. */
const MODES = {
  condition: async () => conditionMode,
  project: async () => (await import("./preview-project.js")).projectMode,
  basket: async () => (await import("./basket.js")).basketMode,
};

/** Finds the rule of a mode, if it can be missing. */
const FIND = {
  condition: (session, id) => session.condition(id),
  project: (session, id) => session.project(id),
};

/** The view; `[kind, id]` and `query` are its first state. Without them, it shows the last one. */
export function preview(session, [kind, id] = [], query) {
  const { memory } = session;
  const last = memory.get("preview") ?? { mode: "condition", states: {} };
  const panes = h("div", { class: "panes" });
  let mode;
  /** The id of the rule that the mode shows, or would show. */
  let shownId;
  let chosen = Object.hasOwn(MODES, kind) ? kind : last.mode;
  let isGuided = session.conditions().length === 0 && session.projects().length === 0;

  let address;
  let isOpen = true;
  let hash = location.hash;

  /** Browsers limit changes of the address. A link just followed has its own. */
  const showAddress = debounce(ADDRESS_MS, () => {
    if (!isOpen || location.hash !== hash) return;
    history.replaceState(history.state, "", address);
    hash = location.hash;
  });

  /** Keeps the state of a mode, and puts it into the address without a new entry in the browser's history. */
  const remember = (name) => (shown, state) => {
    shownId = shown;
    const { draft, projectDraft, ...rest } = state;
    last.mode = name;
    last.states[name] = { id: shown, ...rest };
    memory.set("preview", last);
    address = previewAddress(name, shown, state);
    showAddress();
  };

  const show = async (name, { id, ...given } = last.states[name] ?? {}) => {
    chosen = name;
    shownId = undefined;
    const open = await MODES[name]().catch(() => undefined);
    if (chosen !== name || !isOpen) return;
    if (!open) return notify("The host cannot be reached, so this cannot be loaded. Try again in a moment.");
    mode?.close();
    const state = Object.keys(given).length > 0 ? given : undefined;
    shownId = id;
    if (isMissing() && !becomesNew(given.draft)) return showMissing();
    mode = open(session, { id: shownId, state, remember: remember(name) });
    panes.replaceChildren(...panesOf(mode));
    mode.refresh();
  };

  /** The draft of a missing condition, from the address or memory, becomes that of a new one, if there is no other. */
  const becomesNew = (given) => {
    const draft = given ? { ...given, tests: undefined } : memory.get(draftKey(shownId));
    if (chosen !== "condition" || draft === undefined || memory.get(draftKey())) return false;
    memory.set(draftKey(), { ...draft, id: shownId });
    memory.delete(draftKey(shownId));
    shownId = undefined;
    return true;
  };

  const isMissing = (id = shownId) => id !== undefined && chosen in FIND && !FIND[chosen](session, id);

  /** Says that the rule is missing, instead of showing another rule's decision. */
  const showMissing = () => {
    mode = undefined;
    const name = chosen;
    const title = h("h2", { dir: "auto" }, `There is no ${name} “${shownId}”`);
    const why = h("p", {}, "It was deleted, or the address is wrong. Nothing is decided here.");
    const another = button(`Show another ${name}`, { onclick: () => show(name, {}) });
    panes.replaceChildren(h("section", { class: "empty-state", role: "status" }, icon("alert"), title, why, historyOfDeleted(`${name}s`, [shownId]), another));
  };

  /** Shows the rule in the address, or else the last one, if it still exists. */
  const begin = () => {
    const kept = last.states[chosen] ?? {};
    const keptId = isMissing(kept.id) ? undefined : kept.id;
    const given = previewState(query);
    // Without a project, it is a draft of none.
    if (id === undefined) delete given?.projectDraft;
    show(chosen, { ...(given ?? kept), id: id ?? keptId });
    modes.hidden = isGuided = false;
  };

  const showGuide = async () => {
    const { guide } = await import("./templates.js");
    if (isGuided) panes.replaceChildren(guide(session, begin));
  };

  const refresh = () => {
    const keepsDraft = mode && chosen === "condition" && memory.get(draftKey(shownId)) && !memory.get(draftKey());
    if (!isGuided && shownId !== undefined && !keepsDraft && isMissing() === Boolean(mode)) show(chosen, { ...last.states[chosen], id: shownId });
    else if (!isGuided) mode?.refresh();
    else if (session.conditions().length > 0 || session.projects().length > 0) begin();
  };

  const close = () => {
    isOpen = false;
    mode?.close();
  };

  const options = [["condition", "A condition"], ["project", "A project"], ["basket", "A basket"]];
  const modes = choice("Decide by", options, chosen, (name) => show(name));
  const element = h("div", {}, h("div", { class: "heading" }, h("h1", { tabindex: "-1" }, "Preview"), modes), panes);
  modes.hidden = isGuided;
  if (isGuided) showGuide();
  else begin();
  return { title: "Preview", element, refresh, close };
}

/** The inputs of a mode on one side, the decision on the other. */
const panesOf = ({ inputs, outputs, label = "Inputs" }) => [
  h("section", { class: "card inputs", "aria-label": label }, inputs),
  h("div", { class: "outputs" }, outputs),
];
