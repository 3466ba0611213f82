/**
 * The business units of a tenant as a tree: the units above and below one, and the source of its markups. Knows no rates and
 * no elements.
 */

import { compareNames } from "../shared/locale.js";
import { pairKeyOf } from "./wording.js";

const byName = (one, other) => compareNames(one.name ?? one.id, other.name ?? other.id, one.id, other.id);

export class Units {
  #byId;
  #children = new Map();
  #shops = new Map();

  /** The answer of `GET /api/v1/business-units`. */
  constructor(list) {
    this.#byId = new Map(list.map((unit) => [unit.id, unit]));
    for (const unit of [...list].sort(byName)) {
      const parent = this.#byId.has(unit.parentId) ? unit.parentId : undefined;
      if (!this.#children.has(parent)) this.#children.set(parent, []);
      this.#children.get(parent).push(unit);
    }
    for (const shop of list.filter(({ type }) => type === "STORE")) {
      for (const { id } of this.path(shop.id)) this.#shops.set(id, (this.#shops.get(id) ?? 0) + 1);
    }
  }

  get size() {
    return this.#byId.size;
  }

  get(id) {
    return this.#byId.get(id);
  }

  all() {
    return [...this.#byId.values()];
  }

  /** The units directly below a unit; without an id, the top ones. */
  children(id) {
    return this.#children.get(id) ?? [];
  }

  /** The unit itself, its parent, and so on up to the company. */
  path(id) {
    const path = [];
    for (let unit = this.get(id); unit !== undefined && path.length < 64; unit = this.get(unit.parentId)) path.push(unit);
    return path;
  }

  /** The number of shops at or below a unit. */
  shops(id) {
    return this.#shops.get(id) ?? 0;
  }

  isAtOrBelow(id, above) {
    return this.path(id).some((unit) => unit.id === above);
  }

  /** The number of levels from a unit up to another: 0 for the same, undefined if it is not above. */
  levelsUp(id, above) {
    const levels = this.path(id).findIndex((unit) => unit.id === above);
    return levels < 0 ? undefined : levels;
  }

  /** The name of a unit, or its id without one. */
  name(id) {
    return this.get(id)?.name ?? id;
  }

  /** The units whose name or id contains every word of a text. */
  search(text) {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    const matches = ({ id, name = "" }) => words.every((word) => `${id} ${name}`.toLowerCase().includes(word));
    return this.all().filter(matches).sort(byName);
  }

  /**
   * The markup that a unit uses for a rate: `{ percentage, at, isOwnPair }`. The nearest level with a markup for the rate
   * decides; there, an entry for the pair wins over the general one. Undefined if no level has one.
   */
  markup(id, rate) {
    for (const { id: at, markupPercentage, markups = [] } of this.path(id)) {
      const entry = markups.find((other) => pairKeyOf(other) === pairKeyOf(rate));
      const percentage = entry?.markupPercentage ?? markupPercentage;
      if (percentage !== undefined) return { percentage, at, isOwnPair: entry !== undefined };
    }
    return undefined;
  }
}
