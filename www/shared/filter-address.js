/**
 * The text of a list's filter in the page's address, `#/conditions?filter=beer`, for the back button, reloads and bookmarks.
 */

/** The filter in the query of an address; undefined without one. */
export const filterOf = (query) => new URLSearchParams(query).get("filter") ?? undefined;

/** The query of an address for a filter. */
export const filterQuery = (text = "") => (text.trim() === "" ? "" : `?filter=${encodeURIComponent(text.trim())}`);

/**
 * Keeps the filter of a list in its address, `href`, without new entries in the browser's history. `address` returns it, and
 * `take` gets the query of the current address: one without a filter keeps the input.
 */
export function filterInAddress(input, href) {
  const address = () => href + filterQuery(input.value);
  const note = () => location.hash.split("?")[0] === href && history.replaceState(history.state, "", address());
  input.addEventListener("change", note);
  return {
    address,
    take(query) {
      input.value = filterOf(query) ?? input.value;
      note();
    },
  };
}
