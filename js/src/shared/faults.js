/** Collects what is wrong with options. */

import { TillgateError } from "./error.js";

export const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
export const isText = (value) => typeof value === "string" && value !== "";

/** Everything that is wrong, reported at once. */
export class Faults {
  #faults = [];

  add(path, message) {
    this.#faults.push({ path, message });
  }

  /** Adds each member of the options at a path whose name is not one of `names`. */
  addUnknown(path, options, names) {
    for (const name of Object.keys(options)) {
      if (!names.includes(name)) this.add(`${path}.${name}`, "is not an option");
    }
  }

  throwIfAny() {
    const [first] = this.#faults;
    if (first !== undefined) throw new TillgateError({ code: "invalid", ...first, faults: this.#faults });
  }
}
