/**
 * The draft of a form: unsaved input, kept until the form is opened again.
 */

import { button, h } from "./dom.js";
import { typedIn } from "./editor.js";

/**
 * Opens a form with the draft kept under a key, if any. `formOf` makes the form with a draft, or without one; `open` passes
 * its argument to `edit`. A form with input that must not be kept returns the rest as `kept`, and names in `missing` what to
 * enter again.
 */
export async function editWithDraft(memory, key, formOf, open) {
  const kept = memory.get(key);
  const fields = formOf(kept);
  let isOver = false;
  const startOver = () => {
    isOver = true;
    note.closest("dialog").close("discarded");
  };
  const again = button("Start over", { class: "link", onclick: startOver });
  const note = kept && h("p", { class: "draft-note" }, "This is your unsaved draft. ", fields.missing, again);
  const draft = { keep: () => memory.set(key, fields.kept?.() ?? fields.value()), discard: () => memory.delete(key) };
  const isSaved = await open({ fields, note, draft, before: kept && typedIn(formOf()) });
  return isOver ? editWithDraft(memory, key, formOf, open) : isSaved;
}
