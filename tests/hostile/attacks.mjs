// All attacks and all checks, in the order in which they run.

import * as background from "./background.mjs";
import * as bodies from "./bodies.mjs";
import * as connections from "./connections.mjs";
import * as decisions from "./decisions.mjs";
import * as readers from "./readers.mjs";
import * as registrations from "./registrations.mjs";
import * as tenants from "./tenants.mjs";
import * as tokens from "./tokens.mjs";

const GROUPS = [registrations, decisions, readers, bodies, tenants, connections, tokens, background];

/**
 * An attack: `{ name, seconds, openFiles, config(), prepare(shop), run(shop, until) }`. `config` returns what the host is
 * configured with; `prepare` returns what `run` finds in the shop beside `{ host, admin, tally }`.
 */
export const attacks = GROUPS.flatMap((group) => group.attacks);

/** A check of what is answered, whatever time it takes: `{ name, openFiles, config(), waits, run(shop) }`; it throws. */
export const checks = GROUPS.flatMap((group) => group.checks ?? []);

export const attackOf = (name) => attacks.find((attack) => attack.name === name);
