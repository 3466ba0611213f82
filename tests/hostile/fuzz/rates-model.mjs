// Business units and their rates as `rates.md` describes them: slow and simple, on whole numbers. Gives the host's expected
// answer to each command, and the rates of each unit afterwards.
//
// A command is `{ do, id, ... }`, from `commands.mjs`. Amounts are decimal strings.

const ONE = 1_000_000n;
const WHOLE = 1_000_000n;
const MAX_DEPTH = 32;
const MAX_SET = 10_000;
const MAX_USED = 20_000;

const keyOf = (key) => key.join(" ");
const opposite = (key) => {
  const [type, from, to] = key.split(" ");
  return `${type} ${to} ${from}`;
};
const pairOf = (key) => [key, opposite(key)].sort()[0];
const isPair = (key) => opposite(key) !== key;

/** The quotient, rounded half away from zero; neither is negative. */
const divide = (dividend, divisor) => (2n * dividend + divisor) / (2n * divisor);

/** A number of millionths, as text without zeros at its end. */
function decimal(millionths) {
  const digits = String(millionths).padStart(7, "0");
  return `${digits.slice(0, -6)}.${digits.slice(-6)}`.replace(/\.?0+$/, "");
}

/** A decimal with at most `decimals` decimals, in units of the last; undefined for anything else. */
function unitsOf(text, decimals) {
  const match = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text);
  const fraction = match?.[3]?.replace(/0+$/, "") ?? "";
  if (!match || fraction.length > decimals) return undefined;
  return BigInt(`${match[1]}${match[2]}${fraction.padEnd(decimals, "0")}`);
}

/** A rate in millionths; undefined if it is none. */
function rateOf(text) {
  const millionths = unitsOf(text, 6);
  if (millionths === undefined || millionths <= 0n) return undefined;
  const [whole, fraction = ""] = decimal(millionths).split(".");
  const digits = `${whole}${fraction}`.replace(/^0+/, "");
  return digits.length <= 15 ? millionths : undefined;
}

/** A markup in ten-thousandths of a percent; undefined if it is none. */
function markupOf(text) {
  const units = unitsOf(text, 4);
  return units !== undefined && units >= 0n && units < WHOLE ? units : undefined;
}

export class Model {
  #units = new Map();

  get ids() {
    return [...this.#units.keys()];
  }

  get shops() {
    return this.ids.filter((id) => this.#units.get(id).type === "STORE");
  }

  /** Executes a command; returns the status of the answer. */
  apply(command) {
    switch (command.do) {
      case "unit":
        return this.#put(command);
      case "remove":
        return this.#remove(command.id);
      case "rates":
        return this.#change(command.id, command.set, command.unset) ?? 200;
      case "rate": {
        const isThere = this.#units.get(command.id)?.rates.has(keyOf(command.key));
        return this.#change(command.id, [[...command.key, command.value]], []) ?? (isThere ? 200 : 201);
      }
      case "noRate": {
        if (!isPair(keyOf(command.key))) return 400;
        const isThere = this.#units.get(command.id)?.rates.has(keyOf(command.key));
        return isThere ? (this.#change(command.id, [], [command.key]) ?? 204) : 404;
      }
      default:
        return command.id === undefined || this.#units.has(command.id) ? 200 : 404;
    }
  }

  #put({ id, type, parentId, markup, markups = [] }) {
    const general = markup === undefined ? undefined : markupOf(markup);
    const pairs = new Map(markups.map(([kind, from, to, percentage]) => [pairOf(keyOf([kind, from, to])), markupOf(percentage)]));
    const areValid = (markup === undefined || general !== undefined) && pairs.size === markups.length && ![...pairs.values()].includes(undefined) && [...pairs.keys()].every(isPair);
    if (!areValid || (type === "COMPANY") !== (parentId === undefined)) return 400;
    const before = this.#units.get(id);
    if (before && before.type !== type) return 409;
    const isMoved = !before || before.parentId !== parentId;
    if (isMoved && parentId !== undefined && !this.#mayStand(id, parentId)) return 409;
    const after = { type, parentId, markup: general, markups: pairs, rates: before?.rates ?? new Map() };
    return this.#replace(id, after) ? (before ? 200 : 201) : 409;
  }

  #mayStand(id, parentId) {
    const parent = this.#units.get(parentId);
    if (!parent || parent.type === "STORE") return false;
    const path = this.#levels(parentId);
    return !path.includes(id) && path.length + this.#height(id) <= MAX_DEPTH;
  }

  /** The number of levels of a unit and those below it. */
  #height(id) {
    return 1 + Math.max(0, ...this.ids.filter((other) => this.#units.get(other).parentId === id).map((other) => this.#height(other)));
  }

  #remove(id) {
    if (!this.#units.has(id)) return 404;
    if (this.ids.some((other) => this.#units.get(other).parentId === id)) return 409;
    this.#units.delete(id);
    return 204;
  }

  /** Sets and removes rates together; returns the status if that is refused. */
  #change(id, set, unset) {
    const values = set.map(([type, from, to, value]) => [keyOf([type, from, to]), rateOf(value)]);
    const keys = [...values.map(([key]) => key), ...unset.map(keyOf)];
    const isValid = values.every(([, value]) => value !== undefined) && new Set(keys).size === keys.length && keys.length > 0;
    if (!isValid || !keys.every(isPair)) return 400;
    const unit = this.#units.get(id);
    if (!unit) return 404;
    const rates = new Map([...unit.rates, ...values]);
    for (const key of unset) rates.delete(keyOf(key));
    if (rates.size > MAX_SET) return 400;
    const vanishes = ([key, value]) => divide(ONE * ONE, value) === 0n && !rates.has(opposite(key));
    if ([...rates].some(vanishes)) return 400;
    return this.#replace(id, { ...unit, rates }) ? undefined : 409;
  }

  /** Replaces a unit, unless a unit would then use too many rates. */
  #replace(id, after) {
    const before = this.#units.get(id);
    const old = before ? this.#pairs(id) : undefined;
    this.#units.set(id, after);
    const grows = !old || [...this.#pairs(id)].some((pair) => !old.has(pair));
    const isTooLarge = (unit) => 2 * this.#pairs(unit).size > MAX_USED;
    if (!grows || !this.ids.filter((other) => this.#levels(other).includes(id)).some(isTooLarge)) return true;
    if (before) this.#units.set(id, before);
    else this.#units.delete(id);
    return false;
  }

  #pairs(id) {
    return new Set(this.#levels(id).flatMap((level) => [...this.#units.get(level).rates.keys()].map(pairOf)));
  }

  /** A unit and those above it, the nearest first. */
  #levels(id) {
    const levels = [];
    for (let next = id; next !== undefined; next = this.#units.get(next)?.parentId) levels.push(next);
    return levels;
  }

  /** The rates that a unit uses: `key` to `value withMarkup setAt`. */
  used(id) {
    const levels = this.#levels(id);
    const used = new Map();
    const decided = new Set();
    for (const level of levels) {
      const { rates } = this.#units.get(level);
      const pairs = new Set([...rates.keys()].map(pairOf).filter((pair) => !decided.has(pair)));
      for (const pair of pairs) {
        decided.add(pair);
        const keep = WHOLE - this.#markup(levels, pair);
        for (const key of [pair, opposite(pair)]) used.set(key, `${this.#values(rates, key, keep).map(decimal).join(" ")} ${level}`);
      }
    }
    return used;
  }

  /** The value and the value with markup, each rounded once. The opposite of r millionths is 10^12 / r millionths. */
  #values(rates, key, keep) {
    const set = rates.get(key);
    if (set !== undefined) return [set, divide(set * keep, WHOLE)];
    const other = rates.get(opposite(key));
    return [divide(ONE * ONE, other), divide(ONE * ONE * keep, other * WHOLE)];
  }

  /** The nearest level with a markup for a pair: the pair's own entry there, else the general one. */
  #markup(levels, pair) {
    for (const level of levels) {
      const { markup, markups } = this.#units.get(level);
      const found = markups.get(pair) ?? markup;
      if (found !== undefined) return found;
    }
    return 0n;
  }
}
