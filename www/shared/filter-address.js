/**
 * The text of a list's filter in the page's address, `#/conditions?filter=beer`, where going back, a reload and a bookmark
 * find it.
 */

/** The text that the query of an address filters by; undefined when it does not say. */
export const filterOf = (query) => new URLSearchParams(query).get("filter") ?? undefined;

/** The query of an address that filters by a text. */
export const filterQuery = (text = "") => (text.trim() === "" ? "" : `?filter=${encodeURIComponent(text.trim())}`);

/**
 * Keeps what a filter seeks in the address of its list, `href`, without new entries in the browser's history. `address` returns
 * it, and `take` gets the query of an address that is shown: one without a filter keeps what was typed.
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
