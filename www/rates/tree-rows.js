/**
 * The rows of the tree of business units: which units, in which order, and how deep. Knows no elements.
 */

/** The most units listed below one or found by a search, until the user asks for more. */
export const PAGE = 200;

export class TreeRows {
  #units;
  #opened = new Set();
  #limits = new Map();

  /** Sets the units; opens the path to the chosen one if it is a new choice. */
  show(units, chosen, isOther) {
    this.#units = units;
    if (isOther) for (const { id } of units.path(chosen).slice(1)) this.#opened.add(id);
    if (this.#opened.size === 0) for (const { id } of units.children()) this.#opened.add(id);
  }

  /**
   * The rows in order: `{ id, unit, level, size, position, isOpen }`, or with `isMore`, the number not listed, and their
   * `parent`. With a text, only the units that it finds and those above them.
   */
  all(text) {
    if (text === "") return this.#below(undefined, 1, (id) => this.#opened.has(id));
    const found = this.#units.search(text).slice(0, PAGE);
    const seen = new Set(found.flatMap(({ id }) => this.#units.path(id).map((unit) => unit.id)));
    return this.#below(undefined, 1, (id) => this.#units.children(id).some((child) => seen.has(child.id)), seen);
  }

  open(id, isOpen) {
    if (isOpen) this.#opened.add(id);
    else this.#opened.delete(id);
  }

  /** Lists more units below one. */
  listMore(parent) {
    this.#limits.set(parent, this.#limit(parent) + PAGE);
  }

  #limit(parent) {
    return this.#limits.get(parent) ?? PAGE;
  }

  #below(parent, level, isOpened, seen) {
    const all = this.#units.children(parent).filter(({ id }) => seen === undefined || seen.has(id));
    const limit = this.#limit(parent);
    const listed = all.slice(0, limit).flatMap((unit, at) => {
      const isOpen = isOpened(unit.id);
      const row = { id: unit.id, unit, level, size: all.length, position: at + 1, isOpen };
      return [row, ...(isOpen ? this.#below(unit.id, level + 1, isOpened, seen) : [])];
    });
    if (all.length > limit) listed.push({ id: `\n${parent}`, parent, level, size: all.length, position: limit + 1, isMore: all.length - limit });
    return listed;
  }
}
