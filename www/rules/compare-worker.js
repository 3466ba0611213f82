/**
 * A worker that compares two versions of a rule once, in an instance of the module of its own (`comparing.js`).
 */

import { compare, init } from "../../js/src/index.js";

const ready = init(new URL("../../js/engine/tillgate_bg.wasm", import.meta.url));

addEventListener("message", async ({ data }) => postMessage(await answer(JSON.parse(data))));

/** `{ found }`, or `{ error }` with what the module says is wrong; neither when it cannot be loaded. */
async function answer({ before, after }) {
  try {
    await ready;
  } catch {
    return {};
  }
  try {
    return { found: compare(before, after) };
  } catch ({ code, message, faults }) {
    return { error: { code, message, faults } };
  }
}
