// Tests every route with accepted requests that are then changed: `requests.json` has the routes, `mutations.mjs` the changes,
// `answers.mjs` the rules for each answer.

import { readFileSync } from "node:fs";

import { startHost } from "../host.mjs";
import { ask } from "../wire.mjs";
import { faultOf } from "./answers.mjs";
import { curl } from "./curl.mjs";
import { structured, toTree, write } from "./json-text.mjs";
import { mutate } from "./mutations.mjs";
import { keptSeeds } from "./seeds.mjs";
import { smallest, smallestText } from "./smaller.mjs";
import { World } from "./world.mjs";

const REQUESTS = JSON.parse(readFileSync(new URL("requests.json", import.meta.url), "utf8"));

/** The requests between two checks that the host lives, decides, and has logged no error. */
const LOOK_EVERY = 50;

/** The requests to one host: then its quotas are used up. */
const OF_ONE_HOST = 20_000;

const SETTINGS = { "tillgate.toml": '[log]\nformat = "json"\n\n[decisions]\nlog = "decisions.jsonl"\n\n[webhooks]\nallow_private = ["127.0.0.0/8"]\n' };

/** All accepted requests, in the form that `mutations.mjs` changes. */
const ACCEPTED = Object.entries(REQUESTS).flatMap(([route, requests]) => requests.map((request) => requestOf(route, request)));

function requestOf(route, { as = "tenant", path = {}, query = {}, body, form, text, type, status }) {
  const [method, template] = route.split(" ");
  const headers = {};
  if (type) headers["content-type"] = type;
  if (form) headers["content-type"] = "application/x-www-form-urlencoded";
  return {
    route,
    as,
    method,
    path: template.slice(1).split("/").map((segment) => path[segment.slice(1, -1)] ?? segment),
    query: Object.entries(query),
    headers,
    body: form ? new URLSearchParams(form).toString() : (text ?? (body === undefined ? undefined : toTree(body))),
    status,
  };
}

/** A request as text for a file: names are written as `{{name}}`. */
function asText({ route, as, method, path, query, headers, body }) {
  const parameters = query.map(([name, value]) => `${name}=${value}`).join("&");
  return { route, as, method, path: `/${path.join("/")}${parameters && `?${parameters}`}`, headers, body: typeof body === "string" || body === undefined ? body : write(body) };
}

/** A host, its content, and the requests sent to it. */
class Trial {
  #host;
  #world;
  #logged = 0;
  #isRemoved = false;

  static async begin(program) {
    const trial = new Trial();
    trial.#host = await startHost(program, { files: SETTINGS });
    trial.#world = await World.begin(trial.#host);
    return trial;
  }

  /** The request to send now: with its sender, and the names of existing things. */
  ready(text) {
    const { headers, ...connection } = this.#world.sender(text.as);
    const body = text.body === undefined ? undefined : this.#world.named(text.body);
    return { method: text.method, path: this.#world.named(text.path), headers: { ...headers, ...text.headers }, body, ...connection };
  }

  /** Sends a request kept as text; returns the answer and its fault. */
  async send(text) {
    const request = this.ready(text);
    let answer = await ask(this.#host, request);
    // An idle connection may be closed at the same moment.
    if (answer.status === 0) answer = await ask(this.#host, { ...request, agent: false });
    this.#isRemoved ||= answer.status < 300 && /^DELETE|revoke$/.test(text.route);
    return { answer, fault: faultOf(answer, request) };
  }

  /** The fault of the host; restores what requests have removed. */
  async look() {
    const log = this.#host.log(this.#logged);
    this.#logged += Buffer.byteLength(log);
    const bad = log.split("\n").find((line) => /panicked at/.test(line) || /"level":"ERROR"/.test(line));
    if (bad) return `the log has: ${bad.slice(0, 500)}`;
    const fault = await this.#world.fault();
    if (this.#isRemoved && !fault) await this.#world.restore();
    this.#isRemoved = false;
    return fault;
  }

  curl(text) {
    return curl(this.#host.port, this.ready(text), text.as);
  }

  async end() {
    const code = await this.#host.end();
    return code === 0 ? undefined : `the host ended with ${code}`;
  }
}

/** Removes all parts of a request that its failure does not need. */
async function smaller(trial, text, fault) {
  const failsLike = async (other) => (await trial.send(other)).fault === fault;
  if (!(await failsLike(text))) return text;
  let small = text;
  const headers = await smallest(Object.entries(small.headers), (entries) => failsLike({ ...small, headers: Object.fromEntries(entries) }));
  small = { ...small, headers: Object.fromEntries(headers) };
  const path = await smallestText(small.path, async (path) => path.startsWith("/") && (await failsLike({ ...small, path })), { left: 100 });
  small = { ...small, path };
  if (small.body) small = { ...small, body: await smallestText(small.body, (body) => failsLike({ ...small, body })) };
  return small;
}

/** Finds the requests after which the host fails, sent again one by one; all of them if no single one is to blame. */
async function blamed(trial, texts) {
  for (const text of texts) {
    await trial.send(text);
    if (await trial.look()) return [text];
  }
  return texts;
}

/** Sends the requests of a list, and checks the host regularly; reports failures. Known ones are in a file already. */
async function sendAll(trial, report, texts, areKnown = false) {
  let sent = [];
  const failed = (why, requests, isKnown) => {
    const reproduction = requests.map((text) => trial.curl(text)).join("\n    ");
    report.failed({ why, reproduction, input: isKnown ? undefined : { requests } });
  };
  const look = async () => {
    const fault = await trial.look();
    if (fault && report.isNew(fault)) failed(fault, await blamed(trial, sent), areKnown);
    sent = [];
  };
  for (const { text, check } of texts) {
    const { answer, fault } = await trial.send(text);
    sent.push(text);
    report.done();
    const wrong = fault ?? check?.(answer);
    if (wrong && report.isNew(`${text.route}: ${wrong}`)) {
      const small = fault && !areKnown ? await smaller(trial, text, fault) : text;
      failed(`${text.route}: ${wrong}`, [small], areKnown);
    }
    if (sent.length === LOOK_EVERY) await look();
  }
  await look();
}

/** The accepted requests must be accepted: otherwise no test gets past the first check of a route. */
const isAccepted = (status) => (answer) => {
  const isExpected = status ? [status].flat().includes(answer.status) : answer.status < 300;
  return isExpected ? undefined : `an accepted request is ${answer.status} ${answer.body.toString().slice(0, 500)}`;
};

function* mutated(random, report) {
  for (let count = 0; count < OF_ONE_HOST && report.goesOn(); count += 1) {
    const request = copied(random.pick(ACCEPTED));
    mutate(request, random);
    yield { text: asText(request) };
  }
}

/** A copy that may be changed. */
const copied = (request) => ({
  ...request,
  path: [...request.path],
  query: request.query.map((pair) => [...pair]),
  headers: { ...request.headers },
  body: structured(request.body),
});

/** Sends hostile requests until the time is over, starting with earlier failures and the accepted ones. */
export async function run({ program, random, report }) {
  const first = [
    ...ACCEPTED.map((request) => ({ text: asText(request), check: isAccepted(request.status) })),
    ...keptSeeds("bodies").flatMap(({ input }) => input.requests.map((text) => ({ text }))),
  ];
  do {
    const trial = await Trial.begin(program);
    await sendAll(trial, report, first, true);
    await sendAll(trial, report, mutated(random, report));
    const fault = await trial.end();
    if (fault) report.failed({ why: fault });
  } while (report.goesOn());
}
