/**
 * The preview: one item by a condition or on a project, or a basket, decided in the page after each keystroke with the
 * same module as the host's. What it shows is in the address, and is kept while other views are shown.
 */

import { basketMode } from "./basket.js";
import { choice, h } from "./dom.js";
import { previewAddress, previewState } from "./preview-address.js";
import { conditionMode } from "./preview-condition.js";
import { projectMode } from "./preview-project.js";
import { guide } from "./templates.js";

const MODES = { condition: conditionMode, project: projectMode, basket: basketMode };

/** The view; `[kind, id]` and `query` are what it starts with. Without them, it shows what it showed last. */
export function preview(session, [kind, id] = [], query) {
  const { memory } = session;
  const last = memory.get("preview") ?? { mode: "condition", states: {} };
  const panes = h("div", { class: "panes" });
  let mode;
  let chosen = kind in MODES ? kind : last.mode;
  let isGuided = session.conditions().length === 0 && session.projects().length === 0;

  /** Keeps what a mode shows, and names it in the address without a new entry in the browser's history. */
  const remember = (name) => (shown, state) => {
    const { draft, ...rest } = state;
    last.mode = name;
    last.states[name] = { id: shown, ...rest };
    memory.set("preview", last);
    history.replaceState(history.state, "", previewAddress(name, shown, { ...rest, draft }));
  };

  const show = (name, { id, ...given } = last.states[name] ?? {}) => {
    mode?.close();
    chosen = name;
    const state = Object.keys(given).length > 0 ? given : undefined;
    mode = MODES[name](session, { id, state, remember: remember(name) });
    panes.replaceChildren(...mode.panes);
    mode.refresh();
  };

  /** Shows what the address names, or else what was shown last. */
  const begin = () => {
    const kept = last.states[chosen] ?? {};
    show(chosen, { ...(previewState(query) ?? kept), id: id ?? kept.id });
    modes.hidden = isGuided = false;
  };

  const refresh = () => {
    if (!isGuided) mode.refresh();
    else if (session.conditions().length > 0 || session.projects().length > 0) begin();
  };

  const options = [["condition", "A condition"], ["project", "A project"], ["basket", "A basket"]];
  const modes = choice("Decide by", options, chosen, (name) => show(name));
  const element = h("div", {}, h("div", { class: "heading" }, h("h1", { tabindex: "-1" }, "Preview"), modes), panes);
  modes.hidden = isGuided;
  if (isGuided) panes.replaceChildren(guide(session, begin));
  else begin();
  return { title: "Preview", element, refresh, close: () => mode?.close() };
}
