// Writers on two hosts change the same few things, with and without entity tags; others create until a quota is used up, or
// remove everything twice.

import { ask, json } from "../wire.mjs";
import { QUOTA } from "./kinds.mjs";
import { isLinearizable } from "./linearizable.mjs";

const WRITERS = 6;
const WRITES = 4;
const THINGS = 3;
const CREATORS = 12;

/** The number of the state before the first operation. */
const BEFORE = -1;

/** Repeats a request while the answer is "try again"; returns the answer, and if it ever was that. */
async function insist(host, request) {
  let answer = await ask(host, request);
  const wasBusy = answer.status === 503;
  while (answer.status === 503) answer = await ask(host, request);
  return { answer, wasBusy };
}

/** One thing, its writers and times, and its entity tags. */
class Register {
  operations = [];
  marks = new Map();
  latest;

  constructor(id) {
    this.id = id;
  }

  tagged(number, etag) {
    this.latest = { number, etag };
  }

  history() {
    return this.operations.map(({ do: what, host, begin, end, status, expects }, at) => `${at}: ${what} on ${host}, ${begin.toFixed(1)} to ${end.toFixed(1)} ms, expects ${expects}: ${status}`).join("\n    ");
  }
}

export class Writes {
  #hosts;
  #kind;
  #token;
  #random;
  #mark = 0;

  constructor(hosts, kind, token, random) {
    [this.#hosts, this.#kind, this.#token, this.#random] = [hosts, kind, token, random];
  }

  #nextMark() {
    this.#mark += 1;
    return this.#mark;
  }

  /** Creates a thing; returns the answer, and its id. */
  async #create(host, number) {
    const kind = this.#kind;
    const mark = this.#nextMark();
    const id = kind.creates ? kind.id(number) : undefined;
    const request = kind.creates ? { method: "PUT", path: kind.path(id) } : { method: "POST", path: kind.list };
    const { answer } = await insist(host, { ...request, body: kind.body(mark), token: this.#token });
    return { answer, mark, id: id ?? (answer.status === 201 ? json(answer).id : undefined) };
  }

  /** Changes the same things on both hosts; returns `check(found)`, which returns the fault of the marks found by id. */
  async change() {
    const registers = [];
    for (let number = 0; number < THINGS; number += 1) {
      const made = this.#kind.creates ? { id: this.#kind.id(number) } : await this.#create(this.#hosts[0], number);
      const register = new Register(made.id);
      if (made.answer) register.tagged(BEFORE, made.answer.headers.etag);
      if (made.answer) register.marks.set(made.mark, BEFORE);
      registers.push(register);
    }
    const write = async (writer) => {
      for (let count = 0; count < WRITES; count += 1) await this.#write(writer % 2, this.#random.pick(registers));
    };
    await Promise.all(Array.from({ length: WRITERS }, (_, writer) => write(writer)));
    const first = this.#kind.creates ? null : BEFORE;
    return (found) => {
      for (const register of registers) {
        const last = found.has(register.id) ? register.marks.get(found.get(register.id)) : null;
        if (last !== undefined && isLinearizable(register.operations, first, last, this.#kind.creates)) continue;
        return `no order of these requests for ${register.id} leads to what is there, written by ${last}:\n    ${register.history()}`;
      }
      return undefined;
    };
  }

  async #write(host, register) {
    const random = this.#random;
    const operation = { do: random.chance(0.7) ? "put" : "delete", host, status: 0 };
    const headers = {};
    if (random.chance(0.4) && register.latest) {
      headers["if-match"] = register.latest.etag;
      operation.expects = register.latest.number;
    } else if (operation.do === "put" && this.#kind.creates && random.chance(0.25)) {
      headers["if-none-match"] = "*";
      operation.expects = null;
    }
    const number = register.operations.push(operation) - 1;
    const mark = this.#nextMark();
    register.marks.set(mark, number);
    operation.begin = performance.now();
    operation.end = Infinity;
    const method = operation.do === "put" ? "PUT" : "DELETE";
    const answer = await ask(this.#hosts[host], { method, path: this.#kind.path(register.id), body: method === "PUT" ? this.#kind.body(mark) : undefined, headers, token: this.#token });
    Object.assign(operation, { end: performance.now(), status: answer.status });
    if (method === "PUT" && answer.status < 300) register.tagged(number, answer.headers.etag);
  }

  /** Creates more than allowed, on both hosts at once; returns the fault. `count` is the number of existing things. */
  async fill(count) {
    const made = await Promise.all(Array.from({ length: CREATORS }, (_, at) => this.#create(this.#hosts[at % 2], THINGS + at)));
    const statuses = made.map(({ answer }) => answer.status);
    const created = statuses.filter((status) => status === 201).length;
    if (statuses.some((status) => status !== 201 && status !== 409)) return `creators are answered with ${statuses}`;
    return created === QUOTA - count ? undefined : `${created} were created where there was room for ${QUOTA - count}: ${statuses}`;
  }

  /** Removes all of these on both hosts at once; returns the fault. */
  async remove(ids) {
    const twice = async (id) => {
      const request = { method: "DELETE", path: this.#kind.path(id), token: this.#token };
      const both = await Promise.all(this.#hosts.map((host) => insist(host, request)));
      const statuses = both.map(({ answer }) => answer.status).sort().join();
      // A request answered with "try again" may have removed it nevertheless.
      const isRight = statuses === "204,404" || (both.some(({ wasBusy }) => wasBusy) && statuses === "404,404");
      return isRight ? undefined : `${id} was removed twice at once, with ${statuses}`;
    };
    return (await Promise.all(ids.map(twice))).find(Boolean);
  }
}
