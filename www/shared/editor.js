/**
 * The dialog for editing. Saving replaces only the version that the form was opened with. If another user saves in the
 * meantime, the form says so at once; both versions are then shown and the user chooses. What a change does is shown before
 * it is saved. What was typed is discarded only after asking, or is kept as a draft.
 */

import { conflict } from "./conflict.js";
import { button, confirmed, h, notify, openDialog } from "./dom.js";
import { icon } from "./icon.js";
import { foundText, lookingText, tookEffect, unknownTexts } from "./lost.js";
import { errorText } from "./messages.js";
import { reasonField } from "./reason.js";

/** What is typed in a form, as a text. */
export const typedIn = (fields) => JSON.stringify(fields.typed?.() ?? fields.value());

/**
 * Opens the dialog and returns whether something was saved.
 *
 * `title` is its heading, `fields` the form (`{ element, value, showFaults }`, and `typed` where its value does not hold
 * all that was entered). `save` writes a value over a version, and with `hasReason` gets third why, which is asked for below a
 * review. `latest` reads `{ body, etag }`, or undefined when it does not exist. `etag` is the version that is edited, undefined
 * for something new, and `base` what it holds. `describe` describes a version in a sentence, `explain` puts an error into words,
 * `saved` says that it is saved, and `action` is the text of the button, or a function that says it once a review is there.
 *
 * When the answer to a save is lost, `isSaved(body, value)` tells whether what `latest` reads then is what was saved, and
 * `done` is what it was then: saved. Where it cannot be told, there is `advice(value)` instead, and `repeat`, the text of a
 * button that saves again, where that does no harm.
 *
 * `review` returns an element that shows what saving a value would do; undefined when there is nothing to show; a sentence
 * or, where the form says it, false when it cannot be saved. With `reviewed` it is shown at once, below the form, and again
 * whenever the form changes; with `reviewFirst` it is what is shown first, in place of the form. It gets the value, and the
 * version that another user has saved in the meantime, if any.
 * `confirm` returns what is asked once more before what was reviewed is saved, as `confirmed` takes it; undefined where the
 * button that saves it will do.
 * `compare` returns the element of the difference between two versions, for both sides of a conflict; without it, `describe`
 * describes each.
 *
 * `lastBy` reads who has saved last, as an element. It gets what they have saved.
 *
 * `follow` calls a function whenever another user may have saved, and returns what ends that. Whether one has, `latest` tells:
 * by its version, or where the form has `isOutdated`, which gets what `latest` has read, by that.
 *
 * `draft` keeps what was typed: `keep(value)` when the dialog is left without saving, `discard()` when it is not wanted.
 * With `stays` it is kept elsewhere too, and is not discarded here. `before` is the value that the form has without it.
 */
export const edit = (options) => new Editor(options).open();

class Editor {
  #given;
  #before;
  /** The version that saving replaces, and what another user has saved in the meantime: `{ body, etag }`. */
  #version;
  #theirs;
  /** Whether it is not known if it was saved. */
  #isLost = false;
  #isReviewed = false;
  /** How many reviews were begun: only the last one is shown. */
  #reviews = 0;
  #isWriting = false;
  /** That another user has saved while the form is open. */
  #news = h("div", { class: "news", role: "status" });
  #message = h("div", { class: "message", role: "alert" });
  /** What saving would do, and the field for why it is saved. */
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
      // A dialog inside this one is cancelled by itself.
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
    // Otherwise what discards a draft would have the focus.
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

  /** Says that another user has saved. What is being saved, or is compared already, needs no such news. */
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
      // Saving says what is wrong.
    }
  }

  /** Who has saved what is stored now. */
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

  /** While it is saved, there is nothing to leave; once the answer is lost, there is. */
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

  /** A draft is kept on Escape, which is pressed by mistake. */
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

  /** What the button does: it reviews first, and then saves. */
  async #go() {
    const { fields, review, confirm } = this.#given;
    this.#actions.hidden = fields.element.inert = false;
    const isToReview = review && !this.#isReviewed;
    const question = isToReview ? undefined : confirm?.();
    if (question && !(await confirmed(...question))) return;
    await this.#busy(() => (isToReview ? this.#review() : this.#write()));
  }

  /** Does something during which the button does nothing. */
  async #busy(run) {
    this.#submit.disabled = true;
    await run();
    this.#submit.disabled = false;
  }

  /** Shows what saving would do; saves at once when there is nothing to show. */
  async #review() {
    const turn = (this.#reviews += 1);
    this.#message.replaceChildren();
    // Not every change is heard of.
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

  /** Shows what saving would do by now: the host has refused what was reviewed. */
  async #reviewAgain() {
    this.#isReviewed = this.#actions.hidden = this.#given.fields.element.inert = false;
    await this.#review();
  }

  /** The answer was lost: shows whether the value was saved. */
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

  /** Says that it is not known whether the value was saved, and offers what can be done about it. */
  #showUnknown(value) {
    const { fields, isSaved, done, advice, repeat } = this.#given;
    const [title, detail] = unknownTexts(`it was ${done}`, advice?.(value));
    const close = button("Close", { class: "plain", onclick: () => this.#dialog.close("kept") });
    const run = isSaved ? () => this.#lookAgain(value) : () => this.#write();
    const again = (isSaved || repeat) && button(isSaved ? "Look again" : repeat, { onclick: () => this.#busy(run) });
    this.#message.replaceChildren(
      h("section", { class: "conflict", "aria-label": "Not known" }, h("h2", {}, icon("alert"), title), h("p", {}, detail), h("div", { class: "actions" }, close, again)),
    );
    // Saving something else would hide what became of this.
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

  /** Saves in place of another version, after asking where saving asks. */
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
    // A review that is still under way is of no interest any more.
    this.#reviews += 1;
    this.#news.replaceChildren();
    this.#reviewPane.hidden = true;
    this.#reviewed.replaceChildren();
    const keep = button(theirs ? "Keep theirs" : "Leave it deleted", { class: "plain", onclick: () => this.#dialog.close("discarded") });
    const change = compare && button("Change mine", { class: "plain", onclick: () => this.#showForm() });
    const replaceText = review && !compare ? "Review mine again" : "Save mine instead";
    const replace = button(replaceText, { class: "danger", onclick: () => (compare ? this.#replace() : this.#go()) });
    this.#message.replaceChildren(conflict({ base, theirs: theirs?.body, mine: fields.value(), compare, describe, by }, [keep, change, replace]));
    // The only choice left is between the two versions: what is shown as yours is what would be saved.
    this.#actions.hidden = true;
    fields.element.inert = true;
    fields.element.hidden = compare !== undefined;
    this.#message.scrollIntoView({ block: "nearest" });
    keep.focus();
  }
}
