/**
 * A worker that makes one call of the module about a rule, in its own instance (`apart.js`).
 */

import { init } from "../../js/src/index.js";
import { callHere } from "./apart.js";

const ready = init(new URL("../../js/engine/tillgate_bg.wasm", import.meta.url));

// A startup error is thrown in its own task, so that the page learns of it.
ready.catch((error) => setTimeout(() => { throw error; }));

addEventListener("message", async ({ data }) => {
  const { name, given } = JSON.parse(data);
  await ready;
  postMessage(answered(() => callHere(name, given)));
});

/** `{ answer }`, or `{ error }` with the module's error. */
function answered(call) {
  try {
    return { answer: call() };
  } catch ({ code, message, path, faults }) {
    return { error: { code, message, path, faults } };
  }
}
