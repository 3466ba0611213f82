/**
 * Reports the decisions made here until they are in the host's log, one for each item and rule. They are numbered, so that
 * uploading them again after a lost answer records none twice. They wait in bounded memory: the oldest make room, and the
 * next one says how many were dropped. Nothing about the customer is kept.
 */

import { sha256 } from "../../engine/engine.js";
import { TillgateError } from "../shared/error.js";
import { readJson } from "../shared/host.js";

const PATH = "/api/v1/decisions";

/** The most decisions in one request. */
const BATCH = 1_000;

/** How long decisions are collected, and the pauses after failures. */
const LINGER_MS = 1_000;
const LAST_PAUSE_MS = 60_000;

/** Statuses after which the host would refuse the same request again. */
const REFUSED = new Set([400, 413]);

const SEVERITY = ["ALLOW", "SOFT_DENY", "HARD_DENY"];

export class Report {
  #host;
  #till;
  #unit;
  #most;
  #onError;
  #waiting = [];
  /** The decisions that are being uploaded; they may be in the log already. */
  #sent = [];
  /** True if they were sent before, so that they may be in the log. */
  #isRepeated = false;
  /** How many dropped decisions no other decision mentions yet. */
  #missing = 0;
  #sequence = Date.now() * 1_000;
  #failures = 0;
  #timer;
  #uploading;
  #isClosed = false;

  /** `onError` receives errors that occur while nobody waits. */
  constructor({ till, businessUnitId, maxDecisions = 10_000 }, host, onError) {
    this.#host = host;
    this.#till = till;
    this.#unit = businessUnitId;
    this.#most = maxDecisions;
    this.#onError = onError;
  }

  /** Adds the answer to a question; `catalog` is the digest of the catalog that decided. */
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

  /** Uploads all that waits. Rejects if the host does not take it; the decisions then go on waiting. */
  async upload() {
    // One request after another, because the numbers ascend.
    while (this.#uploading !== undefined) await this.#uploading.catch(() => {});
    this.#uploading = this.#uploadAll();
    try {
      await this.#uploading;
    } finally {
      this.#uploading = undefined;
    }
  }

  /** Stops uploading by itself. */
  close() {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  #add(decision) {
    this.#waiting.push(decision);
    if (this.#waiting.length + this.#sent.length > this.#most) this.#miss([this.#waiting.shift()]);
    this.#miss([]);
  }

  /** Makes the next decision say that earlier ones are missing. */
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
      await this.upload();
    } catch (error) {
      this.#onError(error);
      if (this.#isClosed) return;
      const longest = Math.min(LAST_PAUSE_MS, LINGER_MS * 2 ** this.#failures);
      this.#timer ??= later(() => this.#tryLater(), Math.max(error.retryAfterMs ?? 0, longest * (0.5 + Math.random() / 2)));
    }
  }

  async #uploadAll() {
    while (this.#sent.length + this.#waiting.length > 0) {
      if (this.#sent.length === 0) this.#sent = this.#waiting.splice(0, BATCH);
      await this.#uploadSent();
    }
  }

  async #uploadSent() {
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
    // This till used these numbers before a clock was set back: the host knows greater ones, or knows these although they were
    // not sent before.
    const isOld = receipt.sequence > this.#sent.at(-1).sequence;
    if (receipt.repeated > 0 && (isOld || !this.#isRepeated)) return this.#renumber(receipt);
    this.#sent = [];
    this.#isRepeated = false;
  }

  /** Continues the numbers after the last one that the host knows: it had already taken the numbers of the first `repeated`. */
  #renumber({ sequence, repeated }) {
    this.#sequence = sequence;
    this.#sent.length = repeated;
    this.#isRepeated = false;
    for (const decision of [...this.#sent, ...this.#waiting]) decision.sequence = this.#sequence += 1;
  }

  /** Drops what the host refuses, which it would refuse again: the next decision says that it is missing. */
  #giveUp() {
    this.#miss(this.#sent);
    this.#sent = [];
    this.#isRepeated = false;
  }
}

/** Adds what is wrong with the option, if anything. */
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

/** The error of a caller that uploads decisions without the option `report`. */
export const noReport = () => new TillgateError({ code: "invalid", message: "this client uploads no decisions: give it the option `report`" });

/** Returns what each rule says about an item, without explanations, which contain data of the customer. */
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

/** Starts a timer that keeps no process alive. */
function later(action, ms) {
  const timer = setTimeout(action, ms);
  timer.unref?.();
  return timer;
}
