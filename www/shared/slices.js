/**
 * Long work in slices, between which the page stays free: what is typed appears, and what is clicked happens.
 */

/** A slice: well below the 50 ms from which on people notice. */
const SLICE_MS = 12;

/** Runs a generator to its end and returns what that returns; undefined once `isWanted` says that it is of no interest. */
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
