// All attacks and all checks, in the order in which they run.

import { setTimeout as sleep } from "node:timers/promises";

import * as bodies from "./bodies.mjs";
import * as connections from "./connections.mjs";
import * as decisions from "./decisions.mjs";
import * as fuzz from "./fuzz/fuzz.mjs";
import * as rates from "./rates.mjs";
import * as readers from "./readers.mjs";
import * as registrations from "./registrations.mjs";
import * as rooms from "./rooms.mjs";
import * as streams from "./streams.mjs";
import * as tenants from "./tenants.mjs";
import * as tokens from "./tokens.mjs";
import * as webhooks from "./webhooks.mjs";

const GROUPS = [registrations, decisions, readers, bodies, tenants, connections, tokens, streams, rates, rooms, webhooks];

/** The measurement without an attack, which shows how far this machine's figures can be trusted. */
const NOTHING = { name: "nothing", run: (_, until) => sleep(until - performance.now()) };

/**
 * An attack: `{ name, seconds, openFiles, isOfTenant, files(), prepare(shop), run(shop, until) }`. An attack by the good
 * tenant itself may delay that tenant a little. `files` returns the contents of the host's folder, such as its configuration;
 * `prepare` returns what `run` finds in the shop beside `{ host, admin, tally }`.
 */
export const attacks = [NOTHING, ...GROUPS.flatMap((group) => group.attacks)];

/** A check of answers, whatever time they take: `{ name, openFiles, files(), waits, run(shop) }`; it throws. */
export const checks = [...GROUPS, fuzz].flatMap((group) => group.checks ?? []);

export const attackOf = (name) => attacks.find((attack) => attack.name === name);
