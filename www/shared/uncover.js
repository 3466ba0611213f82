/**
 * Keeps the focus in view (WCAG 2.4.11): the header and the decision stay in place while the page is scrolled, and may cover
 * it.
 */

const GAP = 12;

/** Scrolls the page if the focus would be covered. */
export function keepFocusUncovered() {
  addEventListener("focusin", ({ target }) => {
    uncover(target);
    // The browser may scroll once more by itself.
    requestAnimationFrame(() => target === document.activeElement && uncover(target));
  });
}

function uncover(target) {
  if (target.closest("header, dialog, .decision")) return;
  const box = target.getBoundingClientRect();
  const covers = (other) => other.top < box.bottom && other.bottom > box.top && other.left < box.right && other.right > box.left;
  const covering = [...document.querySelectorAll("body > header, .outputs > .decision")]
    .filter((element) => getComputedStyle(element).position === "sticky")
    .map((element) => element.getBoundingClientRect())
    .filter(covers);
  if (covering.length > 0) scrollBy(0, box.top - Math.max(...covering.map(({ bottom }) => bottom)) - GAP);
}
