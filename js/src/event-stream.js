/**
 * Server-sent events over fetch, because an `EventSource` cannot send a token. A stream that sends nothing for too
 * long, not even a heartbeat, is an error.
 */

/** How long a stream may be silent. The host sends a heartbeat every 15 seconds. */
const SILENCE_MS = 40_000;

/** The data of each event of a response, as it arrives. */
export async function* events(response, silenceMs = SILENCE_MS) {
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  let data = [];
  try {
    for (;;) {
      const { done, value } = await withTimeout(silenceMs, reader.read());
      if (done) return;
      rest += decoder.decode(value, { stream: true });
      // A line ends with CR, LF or both; a CR at the end may be the first half of both.
      const lines = rest.split(/\r\n|\n|\r(?!$)/);
      rest = lines.pop();
      for (const line of lines) {
        if (line.startsWith("data:")) data.push(line.slice(5).replace(/^ /, ""));
        if (line !== "" || data.length === 0) continue;
        yield data.join("\n");
        data = [];
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

async function withTimeout(ms, promise) {
  let timer;
  const timeout = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error("the host has sent nothing for too long")), ms);
  });
  try {
    return await Promise.race([promise, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
