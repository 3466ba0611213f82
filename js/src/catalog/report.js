/**
 * Decisions that were made here, until they are in the host's log: each item and rule one, numbered, so that what is
 * handed in again after a lost answer is not there twice. They wait in memory, of which there is a bound: the oldest make
 * room, and the next one says how many did. Nothing of the customer is kept.
 */

import { sha256 } from "../../engine/engine.js";
import { TillgateError } from "../shared/error.js";
import { readJson } from "../shared/host.js";

const PATH = "/api/v1/decisions";

/** The most decisions of one request. */
const BATCH = 1_000;

/** How long decisions are collected, and the pauses after failures. */
const LINGER_MS = 1_000;
const LAST_PAUSE_MS = 60_000;

/** Statuses after which the same request would be refused again. */
const REFUSED = new Set([400, 413]);

const SEVERITY = ["ALLOW", "SOFT_DENY", "HARD_DENY"];

export class Report {
  #host;
  #till;
  #unit;
  #most;
  #onError;
  #waiting = [];
  /** What is being handed in: it may be in the log already. */
  #sent = [];
  /** Whether it was sent before, and may so be in the log. */
  #isRepeated = false;
  /** How many are missing that no decision says yet. */
  #missing = 0;
  #sequence = Date.now() * 1_000;
  #failures = 0;
  #timer;
  #handingIn;
  #isClosed = false;

  /** `onError` gets what goes wrong while nobody waits for it. */
  constructor({ till, businessUnitId, maxDecisions = 10_000 }, host, onError) {
    this.#host = host;
    this.#till = till;
    this.#unit = businessUnitId;
    this.#most = maxDecisions;
    this.#onError = onError;
  }

  /** Adds the answer to a question that the catalog with this digest has decided. */
  add(call, question, answer, catalog) {
    const projectId = call === "evaluateCondition" ? undefined : question[0].projectId;
    const items = call === "evaluateBasket" ? answer.items : [answer];
    const at = new Date().toISOString();
    for (const item of items) {
      for (const outcome of outcomesOf(item, projectId)) {
        this.#add({ sequence: (this.#sequence += 1), at, itemId: item.id, ...outcome, engine: sha256, catalog, businessUnitId: this.#unit });
      }
    }
    if (this.#waiting.length > 0) this.#timer ??= later(() => this.#tryLater(), LINGER_MS);
  }

  /** Hands in all that waits. Rejects when the host does not take it; it then goes on waiting. */
  async handIn() {
    // One after another: their numbers ascend.
    while (this.#handingIn !== undefined) await this.#handingIn.catch(() => {});
    this.#handingIn = this.#handInAll();
    try {
      await this.#handingIn;
    } finally {
      this.#handingIn = undefined;
    }
  }

  /** Hands in nothing more by itself. */
  close() {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  #add(decision) {
    this.#waiting.push(decision);
    if (this.#waiting.length + this.#sent.length > this.#most) this.#miss([this.#waiting.shift()]);
    this.#miss([]);
  }

  /** Has the next decision say that others before it are missing. */
  #miss(decisions) {
    for (const { droppedBefore = 0 } of decisions) this.#missing += droppedBefore + 1;
    const next = this.#waiting[0];
    if (next === undefined || this.#missing === 0) return;
    next.droppedBefore = (next.droppedBefore ?? 0) + this.#missing;
    this.#missing = 0;
  }

  async #tryLater() {
    this.#timer = undefined;
    try {
      await this.handIn();
    } catch (error) {
      this.#onError(error);
      if (this.#isClosed) return;
      const longest = Math.min(LAST_PAUSE_MS, LINGER_MS * 2 ** this.#failures);
      this.#timer ??= later(() => this.#tryLater(), Math.max(error.retryAfterMs ?? 0, longest * (0.5 + Math.random() / 2)));
    }
  }

  async #handInAll() {
    while (this.#sent.length + this.#waiting.length > 0) {
      if (this.#sent.length === 0) this.#sent = this.#waiting.splice(0, BATCH);
      await this.#handInSent();
    }
  }

  async #handInSent() {
    const body = JSON.stringify({ till: this.#till, decisions: this.#sent });
    let receipt;
    try {
      receipt = await readJson(await this.#host.request(PATH, { method: "POST", body }));
    } catch (error) {
      this.#failures += 1;
      this.#isRepeated = true;
      if (REFUSED.has(error.status)) this.#giveUp();
      throw error;
    }
    this.#failures = 0;
    // Numbers that this till had used already, before a clock was set back: the host knows greater ones, or knows them though
    // they were not sent before.
    const isOld = receipt.sequence > this.#sent.at(-1).sequence;
    if (receipt.repeated > 0 && (isOld || !this.#isRepeated)) return this.#renumber(receipt);
    this.#sent = [];
    this.#isRepeated = false;
  }

  /** Numbers go on after the last one that the host knows: those of the first that were sent are taken. */
  #renumber({ sequence, repeated }) {
    this.#sequence = sequence;
    this.#sent.length = repeated;
    this.#isRepeated = false;
    for (const decision of [...this.#sent, ...this.#waiting]) decision.sequence = this.#sequence += 1;
  }

  /** What the host refuses would be refused again: the next decision says that it is missing. */
  #giveUp() {
    this.#miss(this.#sent);
    this.#sent = [];
    this.#isRepeated = false;
  }
}

/** What is wrong with the option, if anything is. */
export function checkReport({ report }, faults) {
  if (report === undefined) return;
  const { till, businessUnitId = "-", maxDecisions = 1 } = report ?? {};
  faults.addUnknown("$.report", report ?? {}, ["till", "businessUnitId", "maxDecisions"]);
  if (typeof till !== "string" || !/^[A-Za-z0-9._-]{1,64}$/.test(till) || /^\.\.?$/.test(till)) {
    faults.add("$.report.till", "must be 1 to 64 of A-Z a-z 0-9 . _ - and not . or ..");
  }
  if (typeof businessUnitId !== "string" || businessUnitId === "") faults.add("$.report.businessUnitId", "must be a string that is not empty");
  if (!Number.isSafeInteger(maxDecisions) || maxDecisions < 1) faults.add("$.report.maxDecisions", "must be a number of decisions, 1 or more");
}

/** Asks for what was not asked for. */
export const noReport = () => new TillgateError({ code: "invalid", message: "this client hands in no decisions: give it the option `report`" });

/** What each rule says of an item. Explanations, which say what is known of the customer, are left out. */
function outcomesOf({ results, errors = [] }, projectId) {
  const ofConditions = results
    .filter(({ id }) => id !== undefined)
    .map(({ id, decision, reason }) => ({ conditionId: id, decision, reason: reason ?? undefined }));
  const unresolved = errors.map(({ conditionId }) => ({ conditionId, decision: "SOFT_DENY", reason: "condition.not_in_force" }));
  if (projectId === undefined || projectId === null) return [...ofConditions, ...unresolved];
  const allowed = { decision: "ALLOW", reason: null };
  const { decision, reason, restriction } = results
    .filter(({ id }) => id === undefined)
    .reduce((worst, other) => (SEVERITY.indexOf(other.decision) > SEVERITY.indexOf(worst.decision) ? other : worst), allowed);
  const ofProject = { projectId, decision, reason: reason ?? undefined, restriction: restriction ?? undefined };
  return [...ofConditions, ...unresolved, ofProject];
}

/** A timer that keeps no process alive. */
function later(action, ms) {
  const timer = setTimeout(action, ms);
  timer.unref?.();
  return timer;
}
