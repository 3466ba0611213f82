/**
 * The button in Preview that keeps the decision as a test. Its dialog is loaded on first use.
 */

import { button, notify } from "../shared/dom.js";

/** The button; `show` gets what it keeps, `{ condition | project, request, answer }`, or nothing if that cannot be kept. */
export function keepButton(session) {
  let given;
  const keep = async () => {
    // The content when the button is pressed, whatever arrives while the dialog is loaded.
    const kept = given;
    const loaded = await import("./keep-test.js").catch(() => undefined);
    if (loaded) return loaded.keepTest(session, kept);
    notify("The host cannot be reached, so this cannot be loaded. Try again in a moment.");
  };
  const element = button("Keep this as a test", { image: "plus", class: "keep-test", hidden: true, onclick: keep });
  return {
    element,
    show(next) {
      given = next;
      element.hidden = next === undefined;
    },
  };
}
