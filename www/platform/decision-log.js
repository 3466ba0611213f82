/**
 * The choice of decisions that a tenant records: none, refusals only, or all.
 */

import { button, choice, h, notify } from "../shared/dom.js";
import { settled } from "../shared/lost.js";
import { storedBy } from "../shared/reason.js";
import { explain } from "./wording.js";

const CHOICES = [
  ["none", "None"],
  ["denials", "Only refusals"],
  ["all", "All"],
];

const EFFECTS = {
  none: "No decision is recorded. Earlier records stay where they are.",
  denials: "Each decision that refuses an item is recorded, with the item, the rule and the reason.",
  all: "Each decision is recorded, with the item, the rule and the reason.",
};

const NEVER = "Ages, birth dates and licenses are never recorded.";

/** The choice: the element, with `open` for another tenant and `read`. */
export function decisionLog(desk) {
  let stored;
  let chosen;
  const effect = h("p", {});
  const choices = choice("Recorded decisions", CHOICES, undefined, (value) => ((chosen = value), show()));
  const save = button("Save", { class: "primary", onclick: () => record() });
  const element = h("section", { class: "card stack decision-log", "aria-label": "Decision log", hidden: true }, h("h2", {}, "Decision log"), choices, effect, h("p", { class: "hint" }, NEVER), save);

  function show() {
    choices.choose(chosen);
    effect.textContent = EFFECTS[chosen];
    const mayWrite = desk.may("iam.decision-log.write");
    for (const input of choices.querySelectorAll("input")) input.disabled = !mayWrite;
    save.hidden = !mayWrite || chosen === stored.body.decisionLog;
  }

  async function record() {
    const [tenant, wanted] = [desk.tenant, chosen];
    const [yes, no] = [`Saved for ${tenant}. It is in force from now on.`, `It was not saved for ${tenant}.`];
    const look = async () => (await desk.host.decisionLog(tenant)).body.decisionLog === wanted;
    save.disabled = true;
    try {
      const { isLost } = await settled(() => desk.host.recordDecisions(tenant, wanted, stored.etag), { whether: `it was saved for ${tenant}`, yes, no, look });
      if (!isLost) notify(yes);
    } catch (error) {
      notify(error.status === 412 ? [await chosenBy(tenant), ` has just chosen something else for ${tenant}. Choose again.`] : explain(error));
    }
    save.disabled = false;
    // Another tenant, with its own choice, may be shown by now.
    if (tenant === desk.tenant) chosen = undefined;
    desk.reread();
  }

  const chosenBy = async (tenant) => {
    const by = await desk.host.decisionLog(tenant).then(({ body }) => storedBy(body), () => undefined);
    return by ?? "Another user";
  };

  return {
    element,
    open() {
      element.hidden = true;
      chosen = undefined;
    },
    async read() {
      const tenant = desk.tenant;
      const read = await desk.host.decisionLog(tenant);
      if (tenant !== desk.tenant) return;
      const isTyped = chosen !== undefined && chosen !== stored?.body.decisionLog;
      stored = isTyped ? stored : read;
      if (!isTyped) chosen = stored.body.decisionLog;
      element.hidden = false;
      show();
    },
  };
}
