/**
 * Finds the part of a long column of rows to draw. Knows no elements.
 */

/**
 * The rows in the space from `from` to `until`, and at least `least` from the first of them on:
 * `{ begin, end, above, below }`, with the heights left out above and below. There is always one if there are rows.
 */
export function partOf(heights, { from, until, least }) {
  let begin = 0;
  let above = 0;
  while (begin < heights.length - 1 && above + heights[begin] < from) above += heights[begin++];
  let end = begin;
  let at = above;
  while (end < heights.length && (at < until || end === begin || end - begin < least)) at += heights[end++];
  // A part at the end of the column starts further up.
  while (begin > 0 && end - begin < least) above -= heights[--begin];
  const below = heights.slice(end).reduce((sum, height) => sum + height, 0);
  return { begin, end, above: Math.max(0, above), below };
}
