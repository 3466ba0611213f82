/**
 * Server-sent events over fetch: an `EventSource` cannot send the token. Answers the data of each event, and gives up
 * when nothing comes, not even the comment that says that the host is there.
 */

/** The host says that it is there every 15 seconds. */
const SILENCE_MS = 40_000;

/** The data of the events of a response, as they come. */
export async function* events(response, silenceMs = SILENCE_MS) {
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  let data = [];
  try {
    for (;;) {
      const { done, value } = await within(silenceMs, reader.read());
      if (done) return;
      rest += decoder.decode(value, { stream: true });
      // A line ends with CR, LF or both; a CR at the end may be half of both.
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

async function within(ms, promise) {
  let timer;
  const silence = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error("the host has not been heard for too long")), ms);
  });
  try {
    return await Promise.race([promise, silence]);
  } finally {
    clearTimeout(timer);
  }
}
