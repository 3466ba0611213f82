/**
 * The dialog for editing. Saving replaces only the version that the form was opened with. If someone else has saved in
 * the meantime, both versions are shown and the user chooses. Where a change has effects elsewhere, they are shown before
 * it is saved. What was typed is discarded only after asking.
 */

import { button, confirmed, h, icon, notify, openDialog } from "./dom.js";
import { errorText } from "./messages.js";

/**
 * Opens the dialog and returns whether something was saved.
 *
 * `title` is its heading, `fields` the form (`{ element, value, showFaults }`, and `typed` where its value does not hold
 * all that was entered). `save` writes a value over a version, `latest` reads `{ body, etag }`, or undefined when it does
 * not exist. `etag` is the version that is edited, undefined for something new. `describe` describes a version in a
 * sentence, `explain` puts an error into words, `saved` says that it is saved, and `action` is the text of the button.
 *
 * `review` returns an element that shows what saving a value would do, or undefined when there is nothing to show. With
 * `reviewed` it is shown at once, below the form, and again whenever the form changes.
 */
export async function edit({ title, fields, save, latest, etag, describe, wide, review, reviewed = false, ...words }) {
  const { explain = errorText, saved = "Saved. The change is in force.", action = "Save" } = words;
  const message = h("div", { class: "message", role: "alert" });
  const reviewPane = h("div", { class: "review", tabindex: "-1", hidden: true });
  const back = button("Back", { class: "plain", hidden: true, onclick: () => showForm() });
  const submit = button(action, { type: "submit", class: "primary" });
  const actions = h("div", { class: "actions" }, button("Cancel", { class: "plain", onclick: () => leave() }), back, submit);
  const typed = () => JSON.stringify(fields.typed?.() ?? fields.value());
  const before = typed();
  let version = etag;
  let isReviewed = false;
  let reviews = 0;

  const isTyped = () => typed() !== before;

  const leave = async () => {
    const question = ["Discard what you entered?", "It has not been saved.", "Discard"];
    if (!isTyped() || (await confirmed(...question))) dialog.close("");
  };

  const showForm = () => {
    isReviewed = false;
    reviews += 1;
    fields.element.hidden = false;
    back.hidden = reviewPane.hidden = true;
    submit.lastChild.data = review ? "Review" : action;
    fields.element.querySelector("input, select, textarea")?.focus();
  };

  const showReview = (element) => {
    isReviewed = true;
    reviewPane.replaceChildren(element);
    reviewPane.hidden = false;
    submit.lastChild.data = action;
    if (reviewed) return;
    fields.element.hidden = true;
    back.hidden = false;
    reviewPane.focus();
  };

  /** Shows what saving would do; saves at once when there is nothing to show. */
  const check = async () => {
    const turn = (reviews += 1);
    message.replaceChildren();
    try {
      const element = await review(fields.value());
      if (turn !== reviews) return undefined;
      if (element === undefined) return write();
      showReview(element);
    } catch (error) {
      if (turn === reviews) fail(error);
    }
  };

  const write = async () => {
    message.replaceChildren();
    try {
      await save(fields.value(), version);
      dialog.close("saved");
      if (saved) notify(saved);
    } catch (error) {
      if (error.code === "outdated") await showConflict();
      else fail(error);
    }
  };

  const fail = (error) => {
    if (isReviewed && !reviewed) showForm();
    if (!(error.code === "invalid" && fields.showFaults(error.faults))) showError(explain(error));
  };

  const go = async () => {
    submit.disabled = true;
    actions.hidden = false;
    await (review && !isReviewed ? check() : write());
    submit.disabled = false;
  };

  const showError = (sentence) => {
    message.replaceChildren(h("p", {}, icon("alert"), sentence));
    message.scrollIntoView({ block: "nearest" });
  };

  const showConflict = async () => {
    const theirs = await latest().catch((error) => showError(explain(error)));
    version = theirs?.etag;
    isReviewed = false;
    reviewPane.hidden = true;
    const mine = fields.value();
    const side = (name, text) => h("div", { class: "side" }, h("h3", {}, name), h("p", {}, text));
    const keep = button(theirs ? "Keep theirs" : "Leave it deleted", { class: "plain", onclick: () => dialog.close("") });
    const replace = button(review ? "Review mine again" : "Save mine instead", { class: "danger", onclick: go });
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
    {
      class: wide ? "wide" : undefined,
      "aria-labelledby": "editor-title",
      oncancel: (event) => {
        // A dialog inside this one is cancelled by itself.
        if (event.target !== dialog) return;
        event.preventDefault();
        leave();
      },
    },
    h(
      "form",
      {
        class: "stack",
        novalidate: true,
        onsubmit: (event) => {
          event.preventDefault();
          if (!submit.disabled) go();
        },
      },
      h("h2", { id: "editor-title" }, title),
      fields.element,
      reviewPane,
      message,
      actions,
    ),
  );
  if (review) submit.lastChild.data = "Review";
  if (reviewed) {
    fields.element.addEventListener("change", () => ((isReviewed = false), go()));
    go();
  }
  const guard = (event) => isTyped() && event.preventDefault();
  addEventListener("beforeunload", guard);
  try {
    return (await openDialog(dialog)) === "saved";
  } finally {
    removeEventListener("beforeunload", guard);
  }
}
