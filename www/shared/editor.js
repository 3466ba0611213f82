/**
 * The dialog for editing. Saving replaces only the version that the form was opened with. If someone else has saved in
 * the meantime, both versions are shown and the user chooses. What a change does is shown before it is saved. What was
 * typed is discarded only after asking, or is kept as a draft.
 */

import { button, confirmed, h, notify, openDialog } from "./dom.js";
import { icon } from "./icon.js";
import { errorText } from "./messages.js";

/** What is typed in a form, as a text. */
export const typedIn = (fields) => JSON.stringify(fields.typed?.() ?? fields.value());

/**
 * Opens the dialog and returns whether something was saved.
 *
 * `title` is its heading, `fields` the form (`{ element, value, showFaults }`, and `typed` where its value does not hold
 * all that was entered). `save` writes a value over a version, `latest` reads `{ body, etag }`, or undefined when it does
 * not exist. `etag` is the version that is edited, undefined for something new. `describe` describes a version in a
 * sentence, `explain` puts an error into words, `saved` says that it is saved, and `action` is the text of the button.
 *
 * `review` returns an element that shows what saving a value would do; undefined when there is nothing to show; a sentence
 * or, where the form says it, false when it cannot be saved. With
 * `reviewed` it is shown at once, below the form, and again whenever the form changes. It gets the value, and the version
 * that someone else has saved in the meantime, if any. `compare` returns the element of the difference between two
 * versions, for both sides of a collision; without it, `describe` describes each.
 *
 * `draft` keeps what was typed: `keep(value)` when the dialog is left without saving, `discard()` when it is not wanted.
 * With `stays` it is kept elsewhere too, and is not discarded here. `before` is the value that the form has without it.
 */
export async function edit({ title, fields, save, latest, etag, describe, compare, base, draft, before, wide, review, reviewed = false, ...words }) {
  const { explain = errorText, saved = "Saved. The change is in force.", action = "Save", note } = words;
  const message = h("div", { class: "message", role: "alert" });
  const reviewPane = h("div", { class: "review", tabindex: "-1", hidden: true });
  const back = button("Back", { class: "plain", hidden: true, onclick: () => showForm() });
  const submit = button(action, { type: "submit", class: "primary" });
  const actions = h("div", { class: "actions" }, button("Cancel", { class: "plain", onclick: () => leave() }), back, submit);
  before ??= typedIn(fields);
  let version = etag;
  let theirs;
  let isReviewed = false;
  let reviews = 0;

  const firstControl = () => [...fields.element.querySelectorAll("input, select, textarea")].find((control) => !control.closest("[hidden]"));

  const isTyped = () => typedIn(fields) !== before;

  const leave = async () => {
    if (draft?.stays) return dialog.close("kept");
    const question = ["Discard what you entered?", "It has not been saved.", "Discard"];
    if (!isTyped() || (await confirmed(...question))) dialog.close("discarded");
  };

  /** A draft is kept on Escape, which is pressed by mistake. */
  const escape = () => {
    if (!draft || !isTyped()) return leave();
    dialog.close("kept");
    notify("What you entered is kept as a draft.");
  };

  const showForm = () => {
    isReviewed = false;
    reviews += 1;
    fields.element.hidden = fields.element.inert = false;
    actions.hidden = false;
    message.replaceChildren();
    back.hidden = reviewPane.hidden = true;
    submit.lastChild.data = review ? "Review" : action;
    firstControl()?.focus();
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
      const shown = await review(fields.value(), theirs?.body);
      if (turn !== reviews || shown === false) return undefined;
      if (shown === undefined) return write();
      if (typeof shown === "string") return showError(shown);
      showReview(shown);
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
    if (fields.element.hidden) showForm();
    fields.element.inert = false;
    if (!(error.code === "invalid" && fields.showFaults(error.faults))) showError(explain(error));
  };

  const go = async () => {
    submit.disabled = true;
    actions.hidden = fields.element.inert = false;
    await (review && !isReviewed ? check() : write());
    submit.disabled = false;
  };

  const showError = (sentence) => {
    message.replaceChildren(h("p", {}, icon("alert"), sentence));
    message.scrollIntoView({ block: "nearest" });
  };

  const showConflict = async () => {
    try {
      theirs = await latest();
    } catch (error) {
      return fail(error);
    }
    version = theirs?.etag;
    isReviewed = false;
    reviewPane.hidden = true;
    reviewPane.replaceChildren();
    const mine = fields.value();
    const side = (name, content) => h("div", { class: "side" }, h("h3", {}, name), content);
    const text = (value) => h("p", { dir: "auto" }, describe(value));
    const sides = compare
      ? [
          side("What they changed", theirs ? compare(base, theirs.body) : h("p", {}, "Deleted.")),
          side("What saving yours would change now", compare(theirs?.body, mine)),
        ]
      : [side("Theirs, in force now", theirs ? text(theirs.body) : h("p", {}, "Deleted")), side("Yours, not saved", text(mine))];
    const keep = button(theirs ? "Keep theirs" : "Leave it deleted", { class: "plain", onclick: () => dialog.close("discarded") });
    const change = button("Change mine", { class: "plain", onclick: () => showForm() });
    const replace = button(review && !compare ? "Review mine again" : "Save mine instead", { class: "danger", onclick: compare ? write : go });
    message.replaceChildren(
      h(
        "section",
        { class: "conflict", "aria-label": "Two versions" },
        h("h2", {}, icon("alert"), theirs ? "Someone else changed this while you were editing" : "Someone else deleted this while you were editing"),
        h("div", { class: "sides" }, sides),
        h("div", { class: "actions" }, keep, compare && change, replace),
      ),
    );
    // The only choice left is between the two versions: what is shown as yours is what would be saved.
    actions.hidden = true;
    fields.element.inert = true;
    fields.element.hidden = compare !== undefined;
    message.scrollIntoView({ block: "nearest" });
    keep.focus();
  };

  const dialog = h(
    "dialog",
    {
      class: wide ? "wide" : undefined,
      "data-keeps": draft !== undefined,
      "aria-labelledby": "editor-title",
      oncancel: (event) => {
        // A dialog inside this one is cancelled by itself.
        if (event.target !== dialog) return;
        event.preventDefault();
        escape();
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
      h("h2", { id: "editor-title", dir: "auto" }, title),
      note,
      fields.element,
      reviewPane,
      message,
      actions,
    ),
  );
  if (review) submit.lastChild.data = "Review";
  // Otherwise what discards a draft would have the focus.
  if (note) firstControl()?.setAttribute("autofocus", "");
  if (reviewed) {
    fields.element.addEventListener("change", () => ((isReviewed = false), go()));
    go();
  }
  const guard = (event) => isTyped() && event.preventDefault();
  addEventListener("beforeunload", guard);
  try {
    const result = await openDialog(dialog);
    if (result === "saved" || result === "discarded" || !isTyped()) draft?.discard();
    else draft?.keep(fields.value());
    return result === "saved";
  } finally {
    removeEventListener("beforeunload", guard);
  }
}
