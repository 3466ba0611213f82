/**
 * Server-sent events over fetch, because an `EventSource` cannot send a token. A stream that sends nothing for too
 * long, not even a heartbeat, is an error.
 */

import { SILENCE_MS, withTimeout } from "./deadline.js";

/**
 * The events of a response, as they arrive: `{ id, event, data }`. `id` is the last one of the stream, also if this
 * event has none, and `event` is "message" unless it is named. A heartbeat, and an event that only has an id, has no
 * `data`: there was nothing more to send.
 */
export async function* events(response, { silenceMs = SILENCE_MS } = {}) {
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  let fields = {};
  let id;
  try {
    for (;;) {
      const { done, value } = await withTimeout(reader.read(), silenceMs);
      if (done) return;
      rest += decoder.decode(value, { stream: true });
      // A line ends with CR, LF or both; a CR at the end may be the first half of both.
      const lines = rest.split(/\r\n|\n|\r(?!$)/);
      rest = lines.pop();
      for (const line of lines) {
        if (line !== "") {
          addField(fields, line);
          continue;
        }
        const { event = "message", data, isEmpty = true } = fields;
        id = fields.id ?? id;
        fields = {};
        if (!isEmpty) yield { id, event, data: data?.join("\n") };
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

/** Adds a line of an event to its fields. A comment begins with a colon, so its field has no name. */
function addField(fields, line) {
  const [, name, value = ""] = /^([^:]*)(?:: ?(.*))?$/s.exec(line);
  fields.isEmpty = false;
  if (name === "data") (fields.data ??= []).push(value);
  else if (name === "event" && value !== "") fields.event = value;
  else if (name === "id" && !value.includes("\0")) fields.id = value;
}
