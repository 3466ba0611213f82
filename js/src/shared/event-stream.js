/**
 * Server-sent events over fetch, because an `EventSource` cannot send a token. A stream that sends nothing for too
 * long, not even a heartbeat, is an error.
 */

import { SILENCE_MS, withTimeout } from "./deadline.js";
import { TillgateError } from "./error.js";

/** A comment with an id. */
const CURSOR = /^: cursor (.+)$/;

/**
 * The events of a response, as they arrive: `{ id, event, data }`. `id` is the last one of the stream, even if this event has
 * none, and `event` is "message" unless it is named. A comment, such as a heartbeat, and an event with only an id have no
 * `data`: there was nothing more to send. A host of this project may send an id in a comment, because some readers take an
 * event with only an id for a message.
 */
export async function* events(response, { silenceMs = SILENCE_MS } = {}) {
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  let fields = {};
  let id;
  try {
    for (;;) {
      const { done, value } = await withTimeout(read(reader), silenceMs);
      if (done) return;
      rest += decoder.decode(value, { stream: true });
      // A line ends with CR, LF or both; a CR at the end may be the first half of CR LF.
      const lines = rest.split(/\r\n|\n|\r(?!$)/);
      rest = lines.pop();
      for (const line of lines) {
        if (line.startsWith(":")) {
          id = CURSOR.exec(line)?.[1] ?? id;
          if (fields.isEmpty ?? true) yield { id, event: "message", data: undefined };
          continue;
        }
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

/** Reads the next chunk. Runtimes word the end of a connection differently. */
async function read(reader) {
  try {
    return await reader.read();
  } catch (cause) {
    throw new TillgateError({ code: "unavailable", message: "the connection to the host has ended", cause });
  }
}

function addField(fields, line) {
  const [, name, value = ""] = /^([^:]*)(?:: ?(.*))?$/s.exec(line);
  fields.isEmpty = false;
  if (name === "data") (fields.data ??= []).push(value);
  else if (name === "event" && value !== "") fields.event = value;
  else if (name === "id" && !value.includes("\0")) fields.id = value;
}
