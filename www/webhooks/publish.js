/**
 * The form that publishes an event to the tenant's webhooks.
 */

import { TillgateError } from "../../js/src/index.js";
import { randomId } from "../shared/caller.js";
import { field, h, notify } from "../shared/dom.js";
import { editWithDraft } from "../shared/draft.js";
import { edit } from "../shared/editor.js";
import { figure } from "../shared/locale.js";
import { OWN_EVENTS, eventTypeText, explain } from "./wording.js";

const TYPE_HINT = "Names in lower case with dots between them, and a version at the end. Webhooks subscribe to it by this name.";
const OWN = "Only the service itself sends events of this type.";
const TOPIC = "This is the topic of rate changes, not an event: subscribe to the topic instead.";
const FORM = "Use names in lower case with dots between them, and a version at the end, such as orders.events.v1.";
const TAKEN = "Another event was published with this id.";
const ADVICE = "You can send it again: it keeps its id, so no receiver gets it twice.";

export async function publishEvent(desk) {
  let answer;
  let sent = {};
  /** An event with its own id, which it keeps if it is sent again. */
  const identified = (json) => {
    if (json !== sent.json) sent = { json, id: randomId() };
    return `{"id":"${sent.id}",${json.slice(1)}`;
  };
  const open = (form) =>
    edit({
      ...form,
      title: "Send an event",
      action: "Send",
      saved: "",
      async save() {
        answer = await desk.host.publish(identified(form.fields.event()));
      },
      done: "sent",
      advice: () => ADVICE,
      repeat: "Send again",
      explain: (error) => (error.code === "event_type_reserved" ? OWN : explain(error, TAKEN)),
    });
  const isSent = await editWithDraft(desk.memory, "event:", (draft) => eventFields(desk, draft), open);
  desk.reread();
  if (!isSent) return;
  if (answer.deliveries === 0) notify("No webhook has subscribed to this event, so it is not sent.");
  else notify(answer.deliveries === 1 ? "One webhook gets it." : `${figure(answer.deliveries)} webhooks get it.`);
}

function eventFields(desk, draft = { type: "", data: '{\n  "orderId": "1001"\n}' }) {
  const type = h("input", { spellcheck: "false", autocomplete: "off", maxlength: 256, list: "published-types", value: draft.type });
  const data = h("textarea", { rows: 8, spellcheck: "false", class: "pasted", value: draft.data });
  // Only the service itself publishes its events.
  const others = desk.eventTypes().filter((each) => !OWN_EVENTS.has(each));
  const types = h("datalist", { id: "published-types" }, others.map((each) => h("option", { value: each, label: eventTypeText(each) })));
  const fields = { type: field("Event type", type, { hint: TYPE_HINT }), data: field("Data", data, { hint: "JSON." }) };

  return {
    element: h("div", { class: "stack" }, fields.type, types, fields.data),
    value: () => ({ type: type.value.trim(), data: data.value }),
    /** The event as JSON, with its data exactly as typed, or an error that names its field. */
    event() {
      try {
        JSON.parse(data.value);
        return `{"type":${JSON.stringify(type.value.trim())},"data":${data.value}}`;
      } catch (cause) {
        throw new TillgateError({ code: "invalid", path: "$.data", message: `The data is not JSON: ${cause.message}.`, cause });
      }
    },
    showFaults(all) {
      const of = (name) => all.find(({ path }) => path === `$.${name}` || path.startsWith(`$.${name}.`) || path.startsWith(`$.${name}[`));
      const [typeFault, dataFault] = [of("type"), of("data")];
      fields.type.showFault(typeFault && (typeFault.message.includes("topic") ? TOPIC : FORM));
      fields.data.showFault(dataFault && (dataFault.message.startsWith("The data") ? dataFault.message : `The data ${dataFault.message}.`));
      fields.type.parentElement.querySelector("[aria-invalid]")?.focus();
      return all.every((fault) => fault === typeFault || fault === dataFault);
    },
  };
}
