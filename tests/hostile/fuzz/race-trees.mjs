// Writers on two hosts move, remove and price the same few business units: the tree stays consistent, and all shops are told.

import { randomUUID } from "node:crypto";

import { ask } from "../wire.mjs";
import { settled, topicFault, usedRates } from "./trees.mjs";

const WRITERS = 6;
const WRITES = 6;
const GROUPS = ["g0", "g1", "g2", "g3"];
const SHOPS = ["s0", "s1", "s2"];

const unit = (id, type, parentId) => ({ method: "PUT", path: `/api/v1/business-units/${id}`, body: { type, parentId } });

/** A random command of a writer. */
function command(random) {
  const above = random.pick(["company", ...GROUPS]);
  const group = random.pick(GROUPS);
  switch (random.below(5)) {
    case 0:
      return unit(random.pick(SHOPS), "STORE", above);
    case 1:
      return { method: "DELETE", path: `/api/v1/business-units/${random.pick([...GROUPS, ...SHOPS])}` };
    case 2:
      return { method: "PUT", path: `/api/v1/business-units/${random.pick([above, ...SHOPS])}/exchange-rates/SALES/SEK/EUR`, body: { rateValue: 1 + random.below(1_000) } };
    case 3:
      return { method: "DELETE", path: `/api/v1/business-units/${above}/exchange-rates/SALES/SEK/EUR` };
    default:
      return unit(group, "GROUP", above);
  }
}

/** The fault of a list of units as a tree. */
function treeFault(units) {
  const byId = new Map(units.map((one) => [one.id, one]));
  for (const { id, parentId } of units) {
    if (parentId !== undefined && !byId.has(parentId)) return `${id} stands below ${parentId}, which is not there`;
    if (byId.get(parentId)?.type === "STORE") return `${id} stands below the shop ${parentId}`;
    const above = new Set([id]);
    for (let next = parentId; next !== undefined; next = byId.get(next)?.parentId) {
      if (above.has(next)) return `${id} stands below itself`;
      above.add(next);
    }
  }
  return undefined;
}

/** Changes a tree on both hosts; returns the fault. `agreed(path)` is the list of both in the end, or throws. */
export async function raceTrees(hosts, token, random, agreed) {
  for (const request of [unit("company", "COMPANY"), ...GROUPS.map((id) => unit(id, "GROUP", "company")), ...SHOPS.map((id, at) => unit(id, "STORE", GROUPS[at]))]) {
    const answer = await ask(hosts[0], { ...request, token });
    if (answer.status !== 201) return `${answer.what} is ${answer.status}`;
  }
  const correlations = [];
  const wrong = [];
  const write = async (writer) => {
    for (let count = 0; count < WRITES; count += 1) {
      const correlation = randomUUID();
      const answer = await ask(hosts[writer % 2], { ...command(random), token, headers: { "correlation-id": correlation } });
      if (answer.status < 300) correlations.push(correlation);
      else if (![404, 409, 429, 503].includes(answer.status)) wrong.push(`${answer.what} is ${answer.status || answer.why}`);
    }
  };
  await Promise.all(Array.from({ length: WRITERS }, (_, writer) => write(writer)));
  if (wrong.length > 0) return wrong[0];
  const fault = await settled(hosts[1], token, correlations, false);
  if (fault) return fault;
  const units = await agreed("/api/v1/business-units");
  const ofTree = treeFault(units);
  if (ofTree) return ofTree;
  for (const { id } of units) {
    const [one, other] = await Promise.all(hosts.map((host) => usedRates(host, token, id, false)));
    if (JSON.stringify(one) !== JSON.stringify(other)) return `the hosts do not agree on what ${id} uses`;
  }
  const shops = units.filter(({ type }) => type === "STORE").map(({ id }) => id);
  return topicFault(hosts[1], token, shops, new Set(), false);
}
