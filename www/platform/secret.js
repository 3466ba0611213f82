/**
 * Shows a secret once: the host does not tell it again. Closing it by accident takes more than a key press.
 */

import { copy } from "../shared/copy.js";
import { button, field, h, openDialog } from "../shared/dom.js";

/** Shows a secret. `parts` are `[label, value]`, the secret last; each can be copied. */
export function showSecret({ title, detail, parts }) {
  const shown = ([label, value], at) => {
    const input = h("input", { value, readonly: true, class: "secret", spellcheck: "false", autocomplete: "off", onfocus: () => input.select() });
    const isSecret = at === parts.length - 1;
    const oncopy = async () => (await copy(value, label)) && isSecret && done.focus();
    const copyButton = button(`Copy the ${label.toLowerCase()}`, { image: "copy", autofocus: isSecret, onclick: oncopy });
    const element = field(label, input);
    element.append(copyButton);
    return element;
  };
  const done = button("Done", { class: "primary", onclick: () => dialog.close("") });
  const dialog = h(
    "dialog",
    { class: "small", "data-once": true, "aria-labelledby": "secret-title", "aria-describedby": "secret-detail", oncancel: (event) => event.preventDefault() },
    h("h2", { id: "secret-title", dir: "auto" }, title),
    h("p", { id: "secret-detail" }, detail),
    h("div", { class: "stack" }, parts.map(shown), h("div", { class: "actions" }, done)),
  );
  return openDialog(dialog);
}
