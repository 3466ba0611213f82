// Commands for a tree of business units, chosen at random near the bounds, and their requests.

import { Members, Raw, write } from "./json-text.mjs";

const TYPES = ["SALES", "PURCHASE", "INTERCOMPANY"];
const FEW = ["EUR", "SEK", "JPY", "KWD"];
const MANY =
  "AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF CLP CNY COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU".split(
    " ",
  );

const COMPANIES = ["c0", "c1"];
const GROUPS = Array.from({ length: 36 }, (_, at) => `g${at}`);
const SHOPS = ["s0", "s1", "s2", "s3", "s4"];

/** Accepted rates, including those at the bounds; the opposite of one above 2,000,000 vanishes. */
const VALUES = "11.05 0.9 1 1.1 0.333333 0.000001 0.000002 1999999.999999 2000000 2000000.000001 3000000 999999999.999999 999999999999999 123456789012.345 1.10 0.1 178.49".split(" ");
const NO_VALUES = "0 0.0000001 1.1234567 -1 1000000000000000 1234567890.123456".split(" ");
const MARKUPS = "0 0.0001 2.5 50 33.3333 99.9999".split(" ");
const NO_MARKUPS = "100 -0.0001 0.00001 99.99999".split(" ");

/** All pairs of many currencies, in one direction each. */
const PAIRS = TYPES.flatMap((type) => MANY.flatMap((from, at) => MANY.slice(at + 1).map((to) => [type, from, to])));

const idOf = (random) => random.pick(random.pick([COMPANIES, GROUPS, GROUPS, SHOPS]));
const typeOf = (id) => ({ c: "COMPANY", g: "GROUP", s: "STORE" })[id[0]];
const valueOf = (random) => (random.chance(0.05) ? random.pick(NO_VALUES) : random.pick(VALUES));
const markupOf = (random) => (random.chance(0.03) ? random.pick(NO_MARKUPS) : random.pick(MARKUPS));

function keyOf(random) {
  const from = random.pick(FEW);
  const others = random.chance(0.02) ? [from] : FEW.filter((code) => code !== from);
  return [random.pick(TYPES.slice(0, 2)), from, random.pick(others)];
}

/** Keys that differ, `count` at most. */
const keysOf = (random, count) => [...new Map(Array.from({ length: count }, () => keyOf(random)).map((key) => [key.join(), key])).values()];

function unit(random, id = idOf(random)) {
  const type = random.chance(0.02) ? random.pick(["COMPANY", "GROUP", "STORE"]) : typeOf(id);
  const command = { do: "unit", id, type };
  if (type !== "COMPANY") command.parentId = random.chance(0.02) ? random.pick(SHOPS) : random.pick(random.pick([COMPANIES, GROUPS]));
  if (random.chance(0.3)) command.markup = markupOf(random);
  if (random.chance(0.3)) command.markups = keysOf(random, 1 + random.below(3)).map((key) => [...key, markupOf(random)]);
  return command;
}

const makers = {
  unit: (random) => unit(random),
  remove: (random) => ({ do: "remove", id: idOf(random) }),
  rate: (random) => ({ do: "rate", id: idOf(random), key: keyOf(random), value: valueOf(random) }),
  noRate: (random) => ({ do: "noRate", id: idOf(random), key: keyOf(random) }),
  rates: (random) => {
    const keys = keysOf(random, 1 + random.below(6));
    const set = random.below(keys.length + 1);
    return { do: "rates", id: idOf(random), set: keys.slice(0, set).map((key) => [...key, valueOf(random)]), unset: keys.slice(set) };
  },
  again: (random) => (random.chance(0.5) ? { do: "again" } : { do: "again", id: idOf(random) }),
};

/** A chain of units, each below the one before: about as deep as a tree may be. */
function chain(random) {
  const groups = GROUPS.slice(0, 29 + random.below(4));
  const below = [...groups, random.pick(SHOPS)].map((id, at) => ({ ...unit(random, id), type: typeOf(id), parentId: groups[at - 1] ?? "c0" }));
  return [{ do: "unit", id: "c0", type: "COMPANY" }, ...below];
}

/** About as many rates as a unit may set and a shop may use. */
function crowd(random) {
  const commands = ["c0", "g0", "s0"].map((id, at, all) => ({ do: "unit", id, type: typeOf(id), ...(at > 0 && { parentId: all[at - 1] }) }));
  for (const [id, first] of [["c0", 0], ["g0", 5_000 + random.below(1_000)]]) {
    const count = id === "c0" ? 6_000 : 4_000 + random.below(3) * 500;
    for (let at = first; at < first + count; at += 1_000) {
      commands.push({ do: "rates", id, set: PAIRS.slice(at, Math.min(at + 1_000, first + count)).map((key) => [...key, "2"]), unset: [] });
    }
  }
  return commands.filter(({ set }) => set?.length !== 0);
}

/** The commands of one try. */
export function commandsOf(random) {
  const isCrowd = random.chance(0.04);
  const begin = isCrowd ? crowd(random) : random.chance(0.3) ? chain(random) : [];
  const more = Array.from({ length: isCrowd ? 10 : 20 + random.below(60) }, () => makers[random.weighted({ unit: 8, remove: 2, rate: 8, noRate: 3, rates: 4, again: 1 })](random));
  return [...begin, ...more];
}

const key = ([exchangeRateType, currencyIdFrom, currencyIdTo]) => Object.entries({ exchangeRateType, currencyIdFrom, currencyIdTo });
const rate = ([type, from, to, value]) => Members.from([...key([type, from, to]), ["rateValue", new Raw(value)]]);

function settings({ type, parentId, markup, markups }) {
  const members = Members.from([["type", type]]);
  if (parentId !== undefined) members.push(["parentId", parentId]);
  if (markup !== undefined) members.push(["markupPercentage", new Raw(markup)]);
  if (markups) members.push(["markups", markups.map(([...all]) => Members.from([...key(all), ["markupPercentage", new Raw(all[3])]]))]);
  return members;
}

/** The request of a command for a tenant, as `ask` takes it. */
export function requestOf(command, tenantId) {
  const path = `/api/v1/business-units/${command.id}`;
  const rates = `${path}/exchange-rates`;
  switch (command.do) {
    case "unit":
      return { method: "PUT", path, body: write(settings(command)) };
    case "remove":
      return { method: "DELETE", path };
    case "rate":
      return { method: "PUT", path: `${rates}/${command.key.join("/")}`, body: `{"rateValue":${command.value}}` };
    case "noRate":
      return { method: "DELETE", path: `${rates}/${command.key.join("/")}` };
    case "rates":
      return { method: "POST", path: rates, body: write(Members.from([["set", command.set.map(rate)], ["delete", command.unset.map((one) => Members.from(key(one)))]])) };
    default:
      return { method: "POST", path: "/api/v1/initial-state", body: JSON.stringify({ tenantId, businessUnitId: command.id }) };
  }
}
