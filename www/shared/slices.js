/**
 * Long work in slices, between which the page responds to typing and clicks.
 */

/** A slice: well below the 50 ms that people notice. */
const SLICE_MS = 12;

/** Runs a generator to its end and returns its result; undefined once `isWanted` is false. */
export async function inSlices(steps, isWanted = () => true) {
  let until = performance.now() + SLICE_MS;
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
    if (performance.now() < until) continue;
    await new Promise((resolve) => setTimeout(resolve));
    if (!isWanted()) return steps.return().value;
    until = performance.now() + SLICE_MS;
  }
}
