/**
 * Editing in a dialog: what is saved replaces the version that one saw. When someone else saved first, both versions are
 * shown, and one decides.
 */

import { ask, button, h, icon, tell } from "./dom.js";
import { trouble } from "./words.js";

/**
 * Opens the dialog and answers whether something was saved.
 *
 * `title` heads it, `fields` is the form (`{ element, value, complain }`), `save` writes a value over a version,
 * `latest` reads `{ body, etag }` or answers undefined when there is nothing; `etag` is the version one saw, undefined for
 * something new; `describe` puts a version into a sentence.
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
      tell("Saved. It is in force at once.");
    } catch (error) {
      if (error.code === "outdated") await conflict();
      else if (!(error.code === "invalid" && fields.complain(error.faults))) complain(trouble(error));
    } finally {
      submit.disabled = false;
    }
  };

  const complain = (sentence) => message.replaceChildren(h("p", {}, icon("alert"), sentence));

  const conflict = async () => {
    const theirs = await latest().catch((error) => complain(trouble(error)));
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
    // One decides between the two, and nothing else.
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
  return (await ask(dialog)) === "saved";
}
