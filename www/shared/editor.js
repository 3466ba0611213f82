/**
 * The dialog for editing. Saving replaces only the version that the form was opened with. If another user saves meanwhile, the
 * form says so at once; it then shows both versions and the user chooses. The effect of a change is shown before it is saved.
 * Input is discarded only after asking, or is kept as a draft.
 */

import { conflict } from "./conflict.js";
import { button, confirmed, h, notify, openDialog } from "./dom.js";
import { icon } from "./icon.js";
import { foundText, lookingText, tookEffect, unknownTexts } from "./lost.js";
import { errorText } from "./messages.js";
import { reasonField } from "./reason.js";

/** The input in a form, as a text. */
export const typedIn = (fields) => JSON.stringify(fields.typed?.() ?? fields.value());

/**
 * Opens the dialog and returns true if something was saved.
 *
 * `title` is its heading, `fields` the form (`{ element, value, showFaults }`, and `typed` if its value does not hold all
 * input). `save` writes a value over a version; with `hasReason` its third argument is the reason, which is asked for below a
 * review. `latest` reads `{ body, etag }`, or undefined if it does not exist. `etag` is the edited version, undefined for
 * something new, and `base` its content. `describe` describes a version in a sentence, `explain` puts an error into words,
 * `saved` says that it is saved, and `action` is the text of the button, or a function that returns it once there is a review.
 *
 * If the answer to a save is lost, `isSaved(body, value)` tells if the body that `latest` then reads is the saved one, and
 * `done` is the word for it: saved. If this cannot be known, there is `advice(value)` instead, and `repeat`, the text of a
 * button that saves again, if that does no harm.
 *
 * `review` returns an element that shows the effect of saving a value; undefined if there is none to show; if the value cannot
 * be saved, a sentence or, if the form shows the fault, false. With `reviewed` it is shown at once, below the form, and again
 * whenever the form changes; with `reviewFirst` it is shown first, in place of the form. It gets the value, and the version
 * that another user has saved meanwhile, if any. `confirm` returns an extra question before saving, as `confirmed` takes it;
 * undefined if the button suffices. `compare` returns the element of the difference between two versions, for both sides of a
 * conflict; without it, `describe` describes each.
 *
 * `lastBy` gets what others saved, and reads who it was, as an element.
 *
 * `follow` calls a function whenever another user may have saved, and returns a function that ends this. `latest` then tells:
 * by the version or, if the form has `isOutdated`, which gets the result of `latest`, by that.
 *
 * `draft` keeps the input: `keep(value)` if the dialog is left without saving, `discard()` if it is not wanted. With `stays`
 * it is kept elsewhere too, and is not discarded here. `before` is the form's value without it.
 */
export const edit = (options) => new Editor(options).open();

class Editor {
  #given;
  #before;
  /** The version that saving replaces, and the one that another user has saved meanwhile: `{ body, etag }`. */
  #version;
  #theirs;
  /** True while it is unknown if the value was saved. */
  #isLost = false;
  #isReviewed = false;
  /** The number of reviews begun: only the last one is shown. */
  #reviews = 0;
  #isWriting = false;
  /** Says that another user has saved while the form is open. */
  #news = h("div", { class: "news", role: "status" });
  #message = h("div", { class: "message", role: "alert" });
  /** The effect of saving, and the field for the reason. */
  #reviewed = h("div");
  #reason;
  #reviewPane = h("div", { class: "review stack", tabindex: "-1", hidden: true }, this.#reviewed);
  #back = button("Back", { class: "plain", hidden: true, onclick: () => this.#showForm() });
  #submit;
  #actions;
  #dialog;

  constructor({ explain = errorText, saved = "Saved. The change is in force.", action = "Save", done = "saved", ...given }) {
    this.#given = { ...given, explain, saved, action, done };
    this.#before = given.before ?? typedIn(given.fields);
    this.#version = given.etag;
    if (given.hasReason) this.#reviewPane.append((this.#reason = reasonField()));
    this.#submit = button(given.review ? "Review" : action, { type: "submit", class: "primary" });
    this.#actions = h("div", { class: "actions" }, button("Cancel", { class: "plain", onclick: () => this.#leave() }), this.#back, this.#submit);
    this.#dialog = this.#build();
  }

  #build() {
    const { title, note, fields, wide, draft } = this.#given;
    const oncancel = (event) => {
      // A dialog inside this one handles its own cancel.
      if (event.target !== this.#dialog) return;
      event.preventDefault();
      this.#escape();
    };
    const onsubmit = (event) => {
      event.preventDefault();
      if (!this.#submit.disabled) this.#go();
    };
    const heading = h("h2", { id: "editor-title", dir: "auto" }, title);
    return h(
      "dialog",
      { class: wide ? "wide" : undefined, "data-keeps": draft !== undefined, "aria-labelledby": "editor-title", oncancel },
      h("form", { class: "stack", novalidate: true, onsubmit }, heading, note, this.#news, fields.element, this.#reviewPane, this.#message, this.#actions),
    );
  }

  async open() {
    const { fields, draft, note, reviewed, reviewFirst, follow } = this.#given;
    // Otherwise the button that discards a draft would get the focus.
    if (note) this.#firstControl()?.setAttribute("autofocus", "");
    if (reviewed) {
      fields.element.addEventListener("change", () => ((this.#isReviewed = false), this.#go()));
      this.#go();
    } else if (reviewFirst) this.#go();
    const guard = (event) => this.#isTyped() && event.preventDefault();
    addEventListener("beforeunload", guard);
    const unfollow = follow?.(() => this.#look());
    try {
      const result = await openDialog(this.#dialog);
      if (result === "saved" || result === "discarded" || !this.#isTyped()) draft?.discard();
      else draft?.keep(fields.value());
      return result === "saved";
    } finally {
      unfollow?.();
      removeEventListener("beforeunload", guard);
    }
  }

  /** Says that another user has saved, unless saving or a comparison is under way. */
  async #look() {
    const { latest, isOutdated = (theirs) => theirs?.etag !== this.#version } = this.#given;
    const isBusy = () => this.#isWriting || this.#actions.hidden;
    if (isBusy()) return;
    try {
      const theirs = await latest();
      const by = isOutdated(theirs) && (await this.#by(theirs));
      if (isBusy()) return;
      if (by) this.#showNews(theirs, by);
      else this.#news.replaceChildren();
    } catch {
      // Saving reports the error.
    }
  }

  /** The user who saved the stored version. */
  async #by(theirs) {
    return (await this.#given.lastBy?.(theirs?.body).catch(() => undefined)) ?? "Another user";
  }

  #showNews(theirs, by) {
    const sentence = h("p", {}, by, ` has just ${theirs ? "saved" : "deleted"} this. What you entered is still here.`);
    if (this.#news.textContent.startsWith(sentence.textContent)) return;
    const onclick = () => this.#isWriting || this.#showConflict();
    this.#news.replaceChildren(icon("alert"), sentence, button("See the difference", { onclick }));
  }

  #firstControl() {
    const controls = this.#given.fields.element.querySelectorAll("input, select, textarea");
    return [...controls].find((control) => !control.closest("[hidden]"));
  }

  #isTyped() {
    return typedIn(this.#given.fields) !== this.#before;
  }

  /** While saving, the form cannot be left; once the answer is lost, it can. */
  get #isHeld() {
    return this.#isWriting && !this.#isLost;
  }

  async #leave() {
    if (this.#isHeld) return;
    if (this.#given.draft?.stays) return this.#dialog.close("kept");
    const detail = this.#isLost ? `It is not known whether it was ${this.#given.done}.` : "It has not been saved.";
    const question = ["Discard what you entered?", detail, "Discard"];
    if (!this.#isTyped() || (await confirmed(...question))) this.#dialog.close("discarded");
  }

  /** Keeps a draft on Escape, which may be pressed by mistake. */
  #escape() {
    if (this.#isHeld) return;
    if (!this.#given.draft || !this.#isTyped()) return this.#leave();
    this.#dialog.close("kept");
    notify("What you entered is kept as a draft.");
  }

  #showForm() {
    const { fields, review, action } = this.#given;
    this.#isReviewed = false;
    this.#reviews += 1;
    fields.element.hidden = fields.element.inert = false;
    this.#actions.hidden = false;
    this.#message.replaceChildren();
    this.#back.hidden = this.#reviewPane.hidden = true;
    this.#submit.lastChild.data = review ? "Review" : action;
    this.#submit.className = "primary";
    this.#firstControl()?.focus();
  }

  #showReview(element) {
    const { fields, reviewed, action, confirm } = this.#given;
    this.#isReviewed = true;
    this.#reviewed.replaceChildren(element);
    this.#reviewPane.hidden = false;
    this.#submit.lastChild.data = typeof action === "function" ? action() : action;
    this.#submit.className = confirm?.() ? "danger" : "primary";
    if (reviewed) return;
    fields.element.hidden = true;
    this.#back.hidden = false;
    this.#reviewPane.focus();
  }

  /** The action of the button: a review first, then saving. */
  async #go() {
    const { fields, review, confirm } = this.#given;
    this.#actions.hidden = fields.element.inert = false;
    const isToReview = review && !this.#isReviewed;
    const question = isToReview ? undefined : confirm?.();
    if (question && !(await confirmed(...question))) return;
    await this.#busy(() => (isToReview ? this.#review() : this.#write()));
  }

  /** Does something with the button disabled. */
  async #busy(run) {
    this.#submit.disabled = true;
    await run();
    this.#submit.disabled = false;
  }

  /** Shows the effect of saving; saves at once if there is none to show. */
  async #review() {
    const turn = (this.#reviews += 1);
    this.#message.replaceChildren();
    // Not every change is announced.
    if (this.#given.follow) this.#look();
    try {
      const shown = await this.#given.review(this.#given.fields.value(), this.#theirs?.body);
      if (turn !== this.#reviews || shown === false) return undefined;
      if (shown === undefined) return this.#write();
      if (typeof shown === "string") return this.#showError(shown);
      this.#showReview(shown);
    } catch (error) {
      if (turn === this.#reviews) this.#fail(error);
    }
  }

  async #write() {
    const { fields, save, saved } = this.#given;
    const value = fields.value();
    this.#message.replaceChildren();
    this.#isWriting = true;
    try {
      await save(value, this.#version, this.#reason?.read());
      this.#dialog.close("saved");
      if (saved) notify(saved);
    } catch (error) {
      if (error.code === "lost") await this.#lookAgain(value);
      else if (error.status === 412) await this.#showConflict();
      else if (error.deviations || error.isToReview) await this.#reviewAgain();
      else this.#fail(error);
    } finally {
      this.#isWriting = false;
    }
  }

  /** Shows the effect of saving again: the host refused the reviewed version. */
  async #reviewAgain() {
    this.#isReviewed = this.#actions.hidden = this.#given.fields.element.inert = false;
    await this.#review();
  }

  /** The answer was lost: finds out if the value was saved. */
  async #lookAgain(value) {
    const { fields, latest, isSaved, done } = this.#given;
    this.#isLost = fields.element.inert = true;
    if (!isSaved) return this.#showUnknown(value);
    let found;
    const isThere = () => found !== undefined && (this.#version === undefined || found.etag !== this.#version) && isSaved(found.body, value);
    this.#showError(lookingText(`it was ${done}`));
    try {
      if (await tookEffect(async () => ((found = await latest()), isThere()))) {
        this.#dialog.close("saved");
        return notify(foundText(`It was ${done}.`));
      }
    } catch {
      return this.#showUnknown(value);
    }
    this.#isLost = this.#actions.hidden = fields.element.inert = false;
    if (this.#version !== undefined && found?.etag !== this.#version) return this.#showConflict();
    this.#showError(`${foundText(`It was not ${done}.`)} You can save it again.`);
  }

  /** Says that it is unknown if the value was saved, and offers a way on. */
  #showUnknown(value) {
    const { fields, isSaved, done, advice, repeat } = this.#given;
    const [title, detail] = unknownTexts(`it was ${done}`, advice?.(value));
    const close = button("Close", { class: "plain", onclick: () => this.#dialog.close("kept") });
    const run = isSaved ? () => this.#lookAgain(value) : () => this.#write();
    const again = (isSaved || repeat) && button(isSaved ? "Look again" : repeat, { onclick: () => this.#busy(run) });
    this.#message.replaceChildren(
      h("section", { class: "conflict", "aria-label": "Not known" }, h("h2", {}, icon("alert"), title), h("p", {}, detail), h("div", { class: "actions" }, close, again)),
    );
    // Saving something else would hide the outcome of this.
    this.#actions.hidden = fields.element.inert = true;
    this.#message.scrollIntoView({ block: "nearest" });
    (again || close).focus();
  }

  #fail(error) {
    const { fields, explain } = this.#given;
    if (fields.element.hidden) this.#showForm();
    this.#actions.hidden = fields.element.inert = false;
    if (!(error.status === 400 && fields.showFaults(error.faults))) this.#showError(explain(error));
  }

  #showError(sentence) {
    this.#message.replaceChildren(h("p", {}, icon("alert"), sentence));
    this.#message.scrollIntoView({ block: "nearest" });
  }

  /** Saves in place of another version, after the usual question. */
  async #replace() {
    const question = this.#given.confirm?.();
    if (!question || (await confirmed(...question))) await this.#write();
  }

  async #showConflict() {
    const { fields, latest, base, review, compare, describe } = this.#given;
    let by;
    try {
      this.#theirs = await latest();
      by = await this.#by(this.#theirs);
    } catch (error) {
      return this.#fail(error);
    }
    const theirs = this.#theirs;
    this.#version = theirs?.etag;
    this.#isReviewed = false;
    // A review under way is obsolete.
    this.#reviews += 1;
    this.#news.replaceChildren();
    this.#reviewPane.hidden = true;
    this.#reviewed.replaceChildren();
    const keep = button(theirs ? "Keep theirs" : "Leave it deleted", { class: "plain", onclick: () => this.#dialog.close("discarded") });
    const change = compare && button("Change mine", { class: "plain", onclick: () => this.#showForm() });
    const replaceText = review && !compare ? "Review mine again" : "Save mine instead";
    const replace = button(replaceText, { class: "danger", onclick: () => (compare ? this.#replace() : this.#go()) });
    this.#message.replaceChildren(conflict({ base, theirs: theirs?.body, mine: fields.value(), compare, describe, by }, [keep, change, replace]));
    // The only choice left is between the two versions: “yours” is what would be saved.
    this.#actions.hidden = true;
    fields.element.inert = true;
    fields.element.hidden = compare !== undefined;
    this.#message.scrollIntoView({ block: "nearest" });
    keep.focus();
  }
}
