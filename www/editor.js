/**
 * The dialog for editing. Saving replaces only the version that the form was opened with. If someone else has saved in
 * the meantime, both versions are shown and the user chooses.
 */

import { button, h, icon, notify, openDialog } from "./dom.js";
import { errorText } from "./messages.js";

/**
 * Opens the dialog and returns whether something was saved.
 *
 * `title` is its heading, `fields` the form (`{ element, value, showFaults }`). `save` writes a value over a version,
 * `latest` reads `{ body, etag }`, or undefined when it does not exist. `etag` is the version that is edited, undefined
 * for something new. `describe` describes a version in a sentence.
 */
export async function edit({ title, fields, save, latest, etag, describe, wide }) {
  const message = h("div", { class: "message", role: "alert" });
  const submit = button("Save", { type: "submit", class: "primary" });
  let version = etag;

  const actions = h("div", { class: "actions" }, button("Cancel", { class: "plain", onclick: () => dialog.close("") }), submit);

  const write = async () => {
    submit.disabled = true;
    actions.hidden = false;
    message.replaceChildren();
    try {
      await save(fields.value(), version);
      dialog.close("saved");
      notify("Saved. The change is in force.");
    } catch (error) {
      if (error.code === "outdated") await showConflict();
      else if (!(error.code === "invalid" && fields.showFaults(error.faults))) showError(errorText(error));
    } finally {
      submit.disabled = false;
    }
  };

  const showError = (sentence) => message.replaceChildren(h("p", {}, icon("alert"), sentence));

  const showConflict = async () => {
    const theirs = await latest().catch((error) => showError(errorText(error)));
    version = theirs?.etag;
    const mine = fields.value();
    const side = (name, text) => h("div", { class: "side" }, h("h3", {}, name), h("p", {}, text));
    const keep = button(theirs ? "Keep theirs" : "Leave it deleted", { class: "plain", onclick: () => dialog.close("") });
    const replace = button("Save mine instead", { class: "danger", onclick: write });
    message.replaceChildren(
      h(
        "section",
        { class: "conflict", "aria-label": "Two versions" },
        h("h2", {}, icon("alert"), theirs ? "Someone else changed this while you were editing" : "Someone else deleted this while you were editing"),
        h("div", { class: "sides" }, side("Theirs, in force now", theirs ? describe(theirs.body) : "Deleted"), side("Yours, not saved", describe(mine))),
        h("div", { class: "actions" }, keep, replace),
      ),
    );
    // The only choice left is between the two versions.
    actions.hidden = true;
    message.scrollIntoView({ block: "nearest" });
    keep.focus();
  };

  const dialog = h(
    "dialog",
    { class: wide ? "wide" : undefined, "aria-labelledby": "editor-title" },
    h(
      "form",
      {
        class: "stack",
        novalidate: true,
        onsubmit: (event) => {
          event.preventDefault();
          write();
        },
      },
      h("h2", { id: "editor-title" }, title),
      fields.element,
      message,
      actions,
    ),
  );
  return (await openDialog(dialog)) === "saved";
}
