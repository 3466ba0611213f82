// Makes an input smaller while it still fails.

/** The most tries with smaller inputs, so that an input that fails slowly comes to an end. */
const MAX_TRIES = 300;

/**
 * The shortest part of a list that `fails`, found by leaving out runs of it, long ones first. `fails` may be asynchronous.
 */
export async function smallest(list, fails, tries = { left: MAX_TRIES }) {
  let kept = list;
  for (let length = Math.ceil(kept.length / 2); length >= 1; length = length === 1 ? 0 : Math.ceil(length / 2)) {
    for (let at = 0; at < kept.length && tries.left > 0; ) {
      const shorter = kept.toSpliced(at, length);
      tries.left -= 1;
      if (await fails(shorter)) kept = shorter;
      else at += length;
    }
  }
  return kept;
}

/** The same for a text. */
export async function smallestText(text, fails, tries) {
  const characters = await smallest([...text], (shorter) => fails(shorter.join("")), tries);
  return characters.join("");
}
