// Every route, with requests that are accepted and are then changed: `requests.json` has the routes, `mutations.mjs` what is
// done to them, `answers.mjs` what must be true of each answer.

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

/** How often it is looked at whether the host lives, decides, and has logged an error. */
const LOOK_EVERY = 50;

/** How many requests one host gets: then its quotas are used up. */
const OF_ONE_HOST = 20_000;

const SETTINGS = { "tillgate.toml": '[log]\nformat = "json"\n\n[decisions]\nlog = "decisions.jsonl"\n\n[webhooks]\nallow_private = ["127.0.0.0/8"]\n' };

/** All accepted requests, as `mutations.mjs` changes them. */
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

/** A request as text, which can be kept in a file: names stand in it as `{{name}}`. */
function asText({ route, as, method, path, query, headers, body }) {
  const parameters = query.map(([name, value]) => `${name}=${value}`).join("&");
  return { route, as, method, path: `/${path.join("/")}${parameters && `?${parameters}`}`, headers, body: typeof body === "string" || body === undefined ? body : write(body) };
}

/** A host, what is on it, and what was sent to it. */
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

  /** The request as it is sent now: with who sends it, and the names of what there is. */
  ready(text) {
    const { headers, ...connection } = this.#world.sender(text.as);
    const body = text.body === undefined ? undefined : this.#world.named(text.body);
    return { method: text.method, path: this.#world.named(text.path), headers: { ...headers, ...text.headers }, body, ...connection };
  }

  /** Sends a request that is kept as text; returns the answer, and what is wrong with it. */
  async send(text) {
    const request = this.ready(text);
    let answer = await ask(this.#host, request);
    // A connection that nobody has used for a while may be closed at the same moment.
    if (answer.status === 0) answer = await ask(this.#host, { ...request, agent: false });
    this.#isRemoved ||= answer.status < 300 && /^DELETE|revoke$/.test(text.route);
    return { answer, fault: faultOf(answer, request) };
  }

  /** What is wrong with the host; restores what requests have removed. */
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

/** Leaves out of a request what its failure does not need. */
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

/** Which of some requests the host fails after, sent again one by one; all of them when it is none alone. */
async function blamed(trial, texts) {
  for (const text of texts) {
    await trial.send(text);
    if (await trial.look()) return [text];
  }
  return texts;
}

/** Sends what a list has, and looks at the host now and then; reports what fails. What is known is in a file already. */
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

/** The accepted requests must be accepted: otherwise nobody gets past the first check of a route. */
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

/** A copy that can be changed. */
const copied = (request) => ({
  ...request,
  path: [...request.path],
  query: request.query.map((pair) => [...pair]),
  headers: { ...request.headers },
  body: structured(request.body),
});

/** Sends hostile requests until it is time; those that have failed once, and the accepted ones, first. */
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
